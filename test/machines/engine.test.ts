import { Subject } from "rxjs";
import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { createEngine, stepsOf } from "../../src/machines/engine.ts";
import { type LaneMessage, schedulerMachine } from "../../src/machines/scheduler.ts";
import type { EngineEvent, Unstamped } from "../../src/reducers/engine/events.ts";
import { fact, finished, opened as open, stamped } from "../support/sessions/builders.ts";

const opened = stamped(open([fact.user("e1", 20)], { observeAfterTokens: 10 }));
const turn = stamped({ type: "turn.ended" }, 2);
/** What no reader of events lets in. */
const damaged = stamped({ type: "branch.extended" } as Unstamped, 3);

describe("an engine", () => {
  it("goes on from a keyframe with every machine and all books where they stood", () => {
    const engine = createEngine();
    for (const event of [opened, turn]) engine.step(event);
    engine.step(stamped({ type: "agent.started" }, 3));
    const keyframe = engine.keyframe();
    expect(keyframe.machines).toMatchObject({
      scheduler: { value: "open" },
      observer: { value: "running" },
      reflectDrop: { value: "idle" },
      compaction: { value: "idle" },
    });
    const next = createEngine({ keyframe });
    expect(next.snapshot.states).toEqual(engine.snapshot.states);
    expect(next.keyframe().machines).toEqual(keyframe.machines);
    next.step(opened);
    expect(next.keyframe()).toEqual(keyframe);
  });

  it("tells who inspects it of each actor by its name, and of every event to it", () => {
    const seen = new Map<string, string[]>();
    const engine = createEngine({
      inspect: ({ type, actorRef }) => {
        if (type === "@xstate.actor" && "id" in actorRef) seen.set(String(actorRef.id), []);
        if (type === "@xstate.event" && "id" in actorRef) seen.get(String(actorRef.id))?.push("event");
      },
    });
    expect([...seen.keys()].sort()).toEqual(["compaction", "observer", "reflectDrop", "scheduler"]);
    engine.step(stamped(open()));
    for (const [, events] of seen) events.length = 0;
    engine.step(stamped({ type: "branch.extended", entries: [fact.user("e2", 1)] }, 2));
    for (const [, events] of seen) expect(events.length).toBeGreaterThan(0);
    engine.stop();
  });

  it("shows every message to who watches, from then until he is done, with the event that caused it", () => {
    const engine = createEngine();
    const seen: [string, number | undefined][] = [];
    engine.step(opened);
    const end = engine.watch(({ type }, cause) => seen.push([type, cause?.seq]));
    expect(seen).toEqual(Array.from({ length: 4 }, () => ["@xstate.actor", undefined]));
    // Moves nothing, yet is seen.
    engine.step(stamped({ type: "agent.settled", aborted: false }, 2));
    const after = seen.length;
    expect(seen.slice(4).map(([, seq]) => seq)).toEqual(Array.from({ length: after - 4 }, () => 2));
    expect(seen.slice(4).map(([type]) => type)).toContain("@xstate.event");
    end();
    expect(engine.snapshot.states.observer).toBe("due");
    engine.step({ ...turn, seq: 3 });
    expect(engine.snapshot.states.observer).toBe("running");
    expect(seen).toHaveLength(after);
  });
});

describe("an engine that an event breaks", () => {
  it("says which event could not be taken, and why", () => {
    const { step } = createEngine();
    step(opened);
    const attempt = () => step(damaged);
    expect(attempt).toThrow(/^event 3 \(branch\.extended\) could not be taken: .*iterable/);
    expect(attempt).toThrow(expect.objectContaining({ cause: expect.any(TypeError) }));
  });
});

describe("the scheduler", () => {
  const messages = (...events: EngineEvent[]) => {
    const actor = createActor(schedulerMachine).start();
    let heard: readonly LaneMessage[] = [];
    actor.on("deliver", (delivery) => {
      heard = delivery.messages;
    });
    for (const event of events) {
      heard = [];
      actor.send(event);
    }
    return heard;
  };

  it("tells nobody anything while no session is open", () => {
    expect(messages(turn)).toEqual([]);
    expect(messages(opened, stamped({ type: "session.closed", reason: "quit" }), turn)).toEqual([]);
  });

  it("tells the lane that was asked, or whose run it was, first", () => {
    for (const lane of ["observer", "reflectDrop", "compaction"] as const) {
      expect(messages(opened, stamped({ type: "run.demanded", lane }))).toEqual([[lane, "run.demanded"]]);
    }
    const ended = stamped(finished("reflector-1", "dropper", "empty", null));
    expect(messages(opened, ended)[0]).toEqual(["reflectDrop", "run.finished"]);
  });

  it("tells the observer of a turn before the others, who look at what it does", () => {
    expect(messages(opened, turn).map(([lane]) => lane)).toEqual([
      ...["observer", "observer", "reflectDrop", "reflectDrop", "compaction"],
    ]);
  });
});

describe("an engine as an operator", () => {
  it("takes what comes in during a step after it, and ends in an error when an event breaks it", () => {
    const events$ = new Subject<EngineEvent>();
    const log: string[] = [];
    events$.pipe(stepsOf(createEngine())).subscribe({
      next: ({ event }) => {
        if (event.seq === 1) for (const next of [turn, damaged, turn]) events$.next(next);
        log.push(event.type);
      },
      error: () => log.push("error"),
    });
    events$.next(opened);
    expect(log).toEqual(["session.opened", "turn.ended", "error"]);
  });
});
