import { describe, expect, it } from "vitest";
import type { Step } from "../../../src/machines/engine.ts";
import { createRecordedTimeline } from "../../../src/machines/what-if/simulated-recording.ts";
import type { Request } from "../../../src/machines/what-if/simulation.ts";
import { type Schedule, schedule } from "../../support/engine/schedule.ts";
import { fact, finished, MEMORY } from "../../support/sessions/builders.ts";

const settings = {
  observeAfterTokens: 1000,
  reflectAfterTokens: 1_000_000,
  compactAfterTokens: 5000,
  observationsPoolTargetTokens: 50,
};

/** Each event by its type and entries, with the run or compaction that it is a result of. */
function told({ steps }: Schedule, from = 0): string[] {
  const timeline = createRecordedTimeline();
  return steps
    .flatMap(({ event }) => timeline.take(event))
    .slice(from)
    .map(({ event, resultOf }) => {
      const words =
        event.type === "branch.extended" ? event.entries.map(({ kind }) => kind).join("+") : event.type;
      return resultOf === undefined ? words : `${words} of ${resultOf}`;
    });
}

const compaction = fact.compaction("c", "e1");

describe("the results in a recording", () => {
  it("are each run's end, with the entry that it appended while it was in flight", () => {
    const s = schedule({ ...settings, reflectAfterTokens: 1000 });
    s.turn(1000);
    s.finish("recorded");
    s.turn();
    s.finish("recorded");
    s.finish("recorded");
    expect(told(s, 1)).toEqual([
      ...["user", "turn.ended", "ledger of observer-1", "run.finished of observer-1"],
      ...["turn.ended", "ledger of reflectDrop-1", "run.finished of reflectDrop-1"],
      ...["ledger of reflectDrop-2", "run.finished of reflectDrop-2"],
    ]);
  });

  it("are no ledger entries that no run in flight can have written", () => {
    const s = schedule({ ...settings, reflectAfterTokens: 1000 });
    s.say(100);
    const three = (n: number) => [
      fact.observed(`o${n}`, s.tip),
      fact.reflected(`r${n}`, s.tip),
      fact.dropped(`d${n}`, s.tip),
    ];
    s.tell({ type: "branch.extended", entries: three(1) });
    s.turn(2000);
    s.tell({ type: "branch.extended", entries: three(2) });
    expect(told(s, 2)).toEqual([
      "ledger+ledger+ledger",
      "user",
      "turn.ended",
      "ledger of observer-1",
      "ledger+ledger",
    ]);
    s.finish("recorded");
    s.turn(1500);
    s.finish("recorded");
    s.turn();
    expect(s.inFlight.map(({ worker }) => worker)).toEqual(["reflector"]);
    s.tell({ type: "branch.extended", entries: [...three(3), fact.user("x", 1)] });
    expect(told(s).slice(-3)).toEqual(["ledger", "ledger of reflectDrop-1", "ledger+user"]);
  });

  it("are compactions that the lane had asked for, to their end or failure", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1_000_000 });
    s.tell({ type: "branch.extended", entries: [...MEMORY] });
    s.turn(5000);
    s.settle();
    expect(s.engine.snapshot.states.compaction).toBe("requested");
    s.tell({ type: "compaction.started", reason: "threshold" });
    s.tell({ type: "branch.extended", entries: [fact.user("x", 1), compaction] });
    s.tell({ type: "compaction.finished", folded: true });
    expect(told(s, 5)).toEqual([
      "compaction.started of compaction-1",
      "user",
      "compaction of compaction-1",
      "compaction.finished of compaction-1",
    ]);
    s.say(6000);
    s.settle();
    s.tell({ type: "compaction.failed", failure: { kind: "refused", message: "" } });
    s.tell({ type: "compaction.started", reason: "manual" });
    s.tell({ type: "branch.extended", entries: [{ ...compaction, id: "c2" }] });
    s.tell({ type: "compaction.finished", folded: true });
    // After the failure, that the user compacts is nobody's result.
    expect(told(s).slice(-4)).toEqual([
      "compaction.failed of compaction-2",
      "compaction.started",
      "compaction",
      "compaction.finished",
    ]);
  });

  it("are no compactions of an engine before", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1_000_000 });
    s.tell({ type: "branch.extended", entries: [...MEMORY] });
    s.turn(5000);
    s.settle();
    s.tell({ type: "compaction.started", reason: "threshold" });
    const timeline = createRecordedTimeline();
    for (const { event } of s.steps) timeline.take(event);
    timeline.open();
    expect(timeline.step).toBeUndefined();
    const [opened] = s.steps;
    if (!opened) throw new Error("no opening");
    timeline.take(opened.event);
    const { v, seq, at } = opened.event;
    const items = timeline.take({ v, seq, at, type: "compaction.finished", folded: true });
    expect(items.map(({ resultOf }) => resultOf)).toEqual([undefined]);
  });
});

describe("the recorded answer to a request", () => {
  /** A timeline that stands where the schedule does, and the step of a schedule under way beside it. */
  function at(s: Schedule): { answer: (request: Request, step?: Step) => unknown; step: Step } {
    const timeline = createRecordedTimeline();
    for (const { event } of s.steps) timeline.take(event);
    const step = s.steps.at(-1);
    if (!step) throw new Error("nothing has happened");
    return { step, answer: (request, other = step) => timeline.answer(request, other) };
  }
  const MODELLED = { type: "modelled" };

  it("is what was recorded for the same run over the same memory", () => {
    const s = schedule(settings);
    s.turn(1000);
    const [request] = s.inFlight;
    if (!request) throw new Error("nothing runs");
    const { answer, step } = at(s);
    expect(answer({ ...request, runId: "observer-9" })).toEqual({ type: "recorded", resultOf: "observer-1" });
    for (const other of [{ worker: "reflector" as const }, { failures: 1 }, { emptyUpToId: "e1" }])
      expect(answer({ ...request, ...other })).toEqual(MODELLED);
    expect(answer({ type: "requestCompaction", runId: "compaction-1" })).toEqual(MODELLED);
    const { state } = step;
    const elsewhere = (patch: Partial<Step["state"]>) =>
      answer(request, { ...step, state: { ...state, ...patch } });
    expect(elsewhere({})).toEqual({ type: "recorded", resultOf: "observer-1" });
    expect(elsewhere({ settings: { ...state.settings, observerChunkMaxTokens: 7 } })).toEqual(MODELLED);
    const remembering = schedule(settings);
    remembering.turn(1000);
    remembering.finish("recorded");
    expect(elsewhere({ session: remembering.engine.state.session })).toEqual(MODELLED);
    const compacted = schedule(settings);
    compacted.say(1000);
    compacted.compact("e1");
    expect(elsewhere({ session: compacted.engine.state.session })).toEqual(MODELLED);
  });

  it("is none at an event at which the recorded schedule asked for nothing", () => {
    const s = schedule(settings);
    s.turn(1000);
    const [request] = s.inFlight;
    if (!request) throw new Error("nothing runs");
    s.say(1);
    expect(at(s).answer(request)).toEqual(MODELLED);
    expect(createRecordedTimeline().answer(request, at(s).step)).toEqual(MODELLED);
    s.tell(finished("observer-1", "observer", "aborted", null));
    expect(at(s).answer(request)).toEqual(MODELLED);
  });

  it("to a compaction is the one that was asked for then", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1_000_000 });
    s.tell({ type: "branch.extended", entries: [...MEMORY] });
    s.turn(5000);
    s.settle();
    const request = { type: "requestCompaction", runId: "compaction-9" } as const;
    expect(at(s).answer(request)).toEqual({ type: "recorded", resultOf: "compaction-1" });
    const run = {
      type: "startRun",
      runId: "x",
      worker: "observer",
      failures: 0,
      emptyUpToId: null,
    } as const;
    expect(at(s).answer(run)).toEqual(MODELLED);
  });
});
