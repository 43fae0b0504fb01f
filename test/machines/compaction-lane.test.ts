import { describe, expect, it } from "vitest";
import { schedule } from "../support/schedule.ts";

const settings = { observeAfterTokens: 1_000_000, reflectAfterTokens: 1_000_000, compactAfterTokens: 1000 };
const lane = (s: ReturnType<typeof schedule>) => s.engine.lanes.compaction;
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
    const failed = { type: "compaction.failed", failure: { kind: "refused", message: "Nothing to compact" } } as const;
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
    const unknown = schedule(ratio);
    unknown.turn(1000);
    expect(lane(unknown)).toBe("due");
  });

  it("waits for an observer that is about to cover more than could be kept verbatim", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1000, compactionGapMaxTokens: 500 });
    s.turn(2000);
    expect(s.engine.lanes.observer).toBe("running");
    expect(s.settle().commands).toEqual([]);
    s.finish("recorded");
    expect(requests(s)).toBe(1);
  });
});
