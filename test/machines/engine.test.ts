import { describe, expect, it } from "vitest";
import { createActor } from "xstate";
import { createEngine, type Step } from "../../src/machines/engine.ts";
import { inTurn } from "../../src/machines/in-turn.ts";
import { planFor, schedulerMachine } from "../../src/machines/scheduler.ts";
import { createStepper } from "../../src/machines/stepper.ts";
import type { EngineEvent } from "../../src/reducers/engine/events.ts";
import { DEFAULT_SETTINGS } from "../../src/reducers/settings.ts";

const AT = "2026-01-15T14:30:00.000Z";
const opened: EngineEvent = {
  v: 1,
  seq: 1,
  at: AT,
  type: "session.opened",
  reason: "startup",
  sessionId: "s",
  settings: { ...DEFAULT_SETTINGS, observeAfterTokens: 10 },
  branch: [{ id: "e1", kind: "user", tokens: 20, source: true }],
};
const turn: EngineEvent = { v: 1, seq: 2, at: AT, type: "turn.ended" };
/** What no reader of events lets in. */
const damaged = { v: 1, seq: 3, at: AT, type: "branch.extended" } as EngineEvent;

function engineWithLog() {
  const engine = createEngine();
  const log: string[] = [];
  engine.steps$.subscribe({
    next: ({ event }: Step) => log.push(event.type),
    error: (error: unknown) => log.push(error instanceof TypeError ? "error" : "?"),
    complete: () => log.push("complete"),
  });
  return { engine, log };
}

describe("an engine", () => {
  it("ends in an error when a reducer throws, and takes no more", () => {
    const { engine, log } = engineWithLog();
    for (const event of [opened, damaged]) engine.dispatch(event);
    const { state } = engine;
    engine.dispatch({ v: 1, seq: 4, at: AT, type: "agent.started" });
    expect(log).toEqual(["session.opened", "error"]);
    expect(engine.state).toBe(state);
  });

  it("completes when it is stopped, and takes no more", () => {
    const { engine, log } = engineWithLog();
    engine.dispatch(opened);
    const { state } = engine;
    engine.stop();
    engine.dispatch({ v: 1, seq: 2, at: AT, type: "agent.started" });
    expect(log).toEqual(["session.opened", "complete"]);
    expect(engine.state).toBe(state);
    for (const machine of Object.values(engine.keyframe().machines)) {
      expect(machine).toMatchObject({ status: "stopped" });
    }
  });

  it("goes on from a keyframe with every machine and all books where they stood", () => {
    const { engine } = engineWithLog();
    for (const event of [opened, turn]) engine.dispatch(event);
    engine.dispatch({ v: 1, seq: 3, at: AT, type: "agent.started" });
    const keyframe = engine.keyframe();
    expect(keyframe.machines).toMatchObject({
      scheduler: { value: "open" },
      observer: { value: "running" },
      reflectDrop: { value: "idle" },
      compaction: { value: "idle" },
    });
    const next = createEngine({ keyframe });
    expect(next.lanes).toEqual(engine.lanes);
    expect(next.keyframe().machines).toEqual(keyframe.machines);
    next.dispatch(opened);
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
    engine.dispatch({ ...opened, branch: [] });
    for (const [, events] of seen) events.length = 0;
    // Moves nothing: nobody would hear of it if nobody watched.
    engine.dispatch({ v: 1, seq: 2, at: AT, type: "agent.settled", aborted: false });
    for (const [, events] of seen) expect(events.length).toBeGreaterThan(0);
    engine.stop();
  });

  it("shows every message to who watches, from then until he is done, with the event that caused it", () => {
    const { engine } = engineWithLog();
    const seen: [string, number | undefined][] = [];
    engine.dispatch(opened);
    const end = engine.watch(({ type }, cause) => seen.push([type, cause?.seq]));
    expect(seen).toEqual(Array.from({ length: 4 }, () => ["@xstate.actor", undefined]));
    // Moves nothing, yet is seen.
    engine.dispatch({ v: 1, seq: 2, at: AT, type: "agent.settled", aborted: false });
    const after = seen.length;
    expect(seen.slice(4).map(([, seq]) => seq)).toEqual(Array.from({ length: after - 4 }, () => 2));
    expect(seen.slice(4).map(([type]) => type)).toContain("@xstate.event");
    end();
    expect(engine.lanes.observer).toBe("due");
    engine.dispatch({ ...turn, seq: 3 });
    expect(engine.lanes.observer).toBe("running");
    expect(seen).toHaveLength(after);
  });
});

describe("a stepper", () => {
  it("says which event could not be taken, and why", () => {
    const { step } = createStepper();
    step(opened);
    const attempt = () => step(damaged);
    expect(attempt).toThrow(/^event 3 \(branch\.extended\) could not be replayed: .*iterable/);
    expect(attempt).toThrow(expect.objectContaining({ cause: expect.any(TypeError) }));
  });
});

describe("the scheduler's plan", () => {
  const snapshotOf = (isOpen: boolean) => {
    const actor = createActor(schedulerMachine).start();
    if (isOpen) actor.send({ type: "opened" });
    return actor.getSnapshot();
  };

  it("is worked out once for each event, and tells whether the scheduler itself moves", () => {
    const open = snapshotOf(true);
    expect(planFor(open, { type: "moved" })).toBe(planFor(open, { type: "moved" }));
    expect(planFor(open, { type: "moved" }).staysPut).toBe(true);
    expect(planFor(open, { type: "closed" }).staysPut).toBe(false);
    expect(planFor(snapshotOf(false), { type: "moved" })).toEqual({ wakes: [], staysPut: true });
  });

  it("wakes the lane that was asked, or whose run it was, first", () => {
    const open = snapshotOf(true);
    for (const lane of ["observer", "reflectDrop", "compaction"] as const) {
      const first = (type: "demanded" | "runFinished") => planFor(open, { type, lane }).wakes[0];
      expect(first("demanded")).toEqual({ type: "wake", lane, as: "demand" });
      expect(first("runFinished")).toEqual({ type: "wake", lane, as: "result" });
    }
  });
});

describe("working in turn", () => {
  it("takes what comes in meanwhile afterwards, in order, also after a failure", () => {
    const done: number[] = [];
    const take = inTurn((value: number) => {
      if (value === 1) for (const next of [2, 3]) take(next);
      done.push(value);
      if (value === 3) throw new Error("three");
    });
    expect(() => take(1)).toThrow("three");
    take(4);
    expect(done).toEqual([1, 2, 3, 4]);
  });
});
