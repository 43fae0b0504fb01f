import { describe, expect, it } from "vitest";
import { AGENT_BUSY } from "../../../src/reducers/engine/events.ts";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import { fact, schedule } from "../../support/schedule.ts";

const settings = { observeAfterTokens: 1_000_000, reflectAfterTokens: 1_000_000, compactAfterTokens: 1000 };
const lane = (s: ReturnType<typeof schedule>) => s.engine.snapshot.states.compaction;
const requests = (s: ReturnType<typeof schedule>) =>
  s.steps.flatMap(({ commands }) => commands).filter(({ type }) => type === "requestCompaction").length;

describe("compaction lane", () => {
  it("asks Pi when it is due and the agent has settled, not before", () => {
    const s = schedule(settings);
    s.turn(1000);
    expect(lane(s)).toBe("due");
    expect(s.settle().commands).toEqual([{ type: "requestCompaction", runId: "compaction-1" }]);
    expect(lane(s)).toBe("requested");
  });

  it("never repeats on an unchanged tail, though the tail is above the threshold", () => {
    const s = schedule(settings);
    s.turn(5000);
    s.settle();
    s.compact("e1");
    expect(lane(s)).toBe("coolingDown");
    for (let i = 0; i < 9; i++) {
      s.turn(100);
      s.settle();
    }
    expect(requests(s)).toBe(1);
    s.turn(100);
    s.settle();
    expect(requests(s)).toBe(2);
  });

  it("counts the retained tail: due after what is missing to the threshold", () => {
    const s = schedule(settings);
    s.say(600);
    s.say(400);
    s.settle();
    s.compact("e2");
    s.turn(599);
    expect(lane(s)).toBe("coolingDown");
    s.turn(1);
    expect(lane(s)).toBe("due");
  });

  it("waits for new source tokens after a failure, more of them after each further one", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.settle();
    const failed = {
      type: "compaction.failed",
      failure: { kind: "refused", message: "Nothing to compact" },
    } as const;
    expect(s.tell(failed).commands).toMatchObject([{ type: "notify", level: "warning" }]);
    for (let i = 0; i < 5; i++) s.settle();
    expect(requests(s)).toBe(1);
    s.turn(1);
    s.settle();
    expect(requests(s)).toBe(2);
    expect(s.tell(failed).commands).toEqual([]);
    s.turn(62);
    s.settle();
    expect(requests(s)).toBe(2);
    s.turn(1);
    s.settle();
    expect(requests(s)).toBe(3);
  });

  it("forgets earlier failures with a success: the next one is warned of again, and any new token ends it", () => {
    const s = schedule(settings);
    const failure = { kind: "failed", message: "no answer" };
    s.turn(1000);
    s.settle();
    s.tell({ type: "compaction.failed", failure });
    s.turn(1);
    s.settle();
    s.compact("e2");
    s.turn(1000);
    s.settle();
    const { commands } = s.tell({ type: "compaction.failed", failure });
    expect(commands).toEqual([
      { type: "notify", level: "warning", lane: "compaction", about: "failed", runId: "compaction-3" },
    ]);
    s.turn(1);
    expect(s.settle().commands).toEqual([{ type: "requestCompaction", runId: "compaction-4" }]);
  });

  it("counts a failure of the user's own attempt, without a warning", () => {
    const s = schedule(settings);
    s.turn(1000);
    const failure = { kind: "failed", message: "Nothing to compact" };
    expect(s.tell({ type: "compaction.failed", failure }).commands).toEqual([]);
    s.settle();
    expect(requests(s)).toBe(0);
    s.turn(1);
    s.settle();
    expect(requests(s)).toBe(1);
  });

  it("waits for new source tokens also when the branch was left and is back", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.settle();
    s.tell({ type: "compaction.failed", failure: { kind: "refused", message: "Nothing to compact" } });
    s.tell({ type: "branch.replaced", branch: [] });
    expect(lane(s)).toBe("idle");
    s.tell({ type: "branch.replaced", branch: [fact("e1", 1000)] });
    s.settle();
    expect(requests(s)).toBe(1);
    s.turn(1);
    s.settle();
    expect(requests(s)).toBe(2);
  });

  it("asks again at the next settling, and calls it no failure, when the agent was at work again", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.settle();
    const step = s.tell({
      type: "compaction.failed",
      failure: { kind: AGENT_BUSY, message: "the agent is at work" },
    });
    expect(step.commands).toEqual([]);
    expect(lane(s)).toBe("due");
    expect(step.state.compactionFailure).toBeNull();
    s.tell({ type: "agent.started" });
    expect(s.turn().commands).toEqual([]);
    expect(s.settle().commands).toEqual([{ type: "requestCompaction", runId: "compaction-2" }]);
  });

  it.each(["requested", "compacting"])(
    "has nothing in progress, and no failure, after its session was closed in %s",
    (state) => {
      const s = schedule(settings);
      s.turn(1000);
      s.settle();
      if (state === "compacting") s.tell({ type: "compaction.started", reason: "manual" });
      s.tell({ type: "session.closed", reason: "reload" });
      expect(lane(s)).toBe("idle");
      expect(s.engine.snapshot.contexts.compaction).toMatchObject({ failures: 0, runId: null });
    },
  );

  it("does not ask at the next opening because of a trigger before it", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1000, compactionGapMaxTokens: 500 });
    s.turn(2000);
    s.settle();
    s.tell({ type: "session.closed", reason: "reload" });
    expect(lane(s)).toBe("idle");
    s.finish("aborted");
    expect(s.engine.snapshot.contexts.compaction.triggered).toBe(false);
  });

  it("counts a compaction that Pi or the user started", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.compact("e1");
    expect(lane(s)).toBe("coolingDown");
    s.settle();
    expect(requests(s)).toBe(0);
  });

  it.each(["requested", "compacting"] as const)("does not wait for ever in %s", (state) => {
    const s = schedule(settings);
    s.turn(1000);
    s.settle();
    if (state === "compacting") s.tell({ type: "compaction.started", reason: "manual" });
    expect(lane(s)).toBe(state);
    s.tell({ type: "agent.started" });
    s.turn(500);
    s.settle();
    s.turn(1);
    s.settle();
    expect(requests(s)).toBe(2);
  });

  it("uses the share of the window in ratio mode, and the plain number when the window is unknown", () => {
    const ratio = { ...settings, compactAfterTokensMode: "ratio", compactAfterTokensRatio: 0.5 } as const;
    const known = schedule(ratio, 4000);
    known.turn(1999);
    expect(lane(known)).toBe("idle");
    known.turn(1);
    expect(lane(known)).toBe("due");
    const smaller = schedule(ratio, 4000);
    smaller.turn(1500);
    smaller.tell({ type: "model.selected", contextWindow: 3000 });
    expect(lane(smaller)).toBe("due");
    const unknown = schedule(ratio);
    unknown.turn(1000);
    expect(lane(unknown)).toBe("due");
  });

  it("waits for an observer that is about to cover more than could be kept verbatim", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1000, compactionGapMaxTokens: 500 });
    s.turn(2000);
    expect(s.engine.snapshot.states.observer).toBe("running");
    expect(s.settle().commands).toEqual([]);
    s.finish("recorded");
    expect(requests(s)).toBe(1);
  });

  it("waits for it too when an earlier cut took what it has not read: the run can still bring that back", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1000, compactionGapMaxTokens: 2000 });
    s.turn(2000);
    s.say(500);
    s.compact("e2");
    s.turn(700);
    expect(s.engine.snapshot.states).toMatchObject({ observer: "running", compaction: "due" });
    expect(s.settle().commands).toEqual([]);
    s.finish("recorded");
    expect(requests(s)).toBe(1);
  });

  it("does not wait for an observer while a cut could keep all that it is about to read", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1000, compactionGapMaxTokens: 1000 });
    s.turn(1000);
    expect(s.engine.snapshot.states.observer).toBe("running");
    expect(s.settle().commands).toMatchObject([{ type: "requestCompaction" }]);
  });

  it.each([
    ["waits for an idle observer that left off in", "recorded", 699, 0],
    ["can keep", "recorded", 700, 1],
    ["waits for no failed observer that left off in", "failed", 699, 1],
  ] as const)("%s a tool batch (%s, gap %i)", (_rule, outcome, compactionGapMaxTokens, asked) => {
    const s = schedule({
      ...settings,
      observeAfterTokens: 1000,
      compactAfterTokens: 1200,
      compactionGapMaxTokens,
    });
    const call: EntryFact[] = [
      fact("user", 500),
      { ...fact("call", 300), kind: "assistant" },
      { ...fact("first", 300), kind: "toolResult" },
    ];
    s.tell({ type: "branch.extended", entries: call });
    s.turn();
    s.finish("recorded", { covers: "first" });
    const tokens = outcome === "failed" ? 1000 : 100;
    s.tell({ type: "branch.extended", entries: [{ ...fact("second", tokens), kind: "toolResult" }] });
    s.turn();
    if (outcome === "failed") s.finish("failed");
    expect(s.engine.snapshot.states.observer).toBe(outcome === "failed" ? "backingOff" : "idle");
    s.settle();
    expect(requests(s)).toBe(asked);
  });
});
