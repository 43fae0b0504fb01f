import { describe, expect, it } from "vitest";
import { addUsage, initialState } from "../../../src/reducers/engine/engine-state.ts";
import { AGENT_BUSY, type Unstamped, type Usage } from "../../../src/reducers/engine/events.ts";
import { schedule } from "../../support/engine/schedule.ts";
import { finished } from "../../support/sessions/builders.ts";

const settings = { observeAfterTokens: 1000, reflectAfterTokens: 2000, compactAfterTokens: 5000 };
const usage: Usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, cost: 5 };

describe("the engine's books", () => {
  it("begin with an agent at rest, no session and nothing done", () => {
    expect(initialState()).toMatchObject({ sessionId: "", agentIdle: true, compactionFailure: null });
    expect(initialState().workers.dropper).toMatchObject({ runs: 0, requests: 0, last: null, failure: null });
  });

  it("have the agent at work from its start to its settling", () => {
    const s = schedule(settings);
    const idle = () => s.engine.state.agentIdle;
    s.tell({ type: "agent.started" });
    expect(idle()).toBe(false);
    s.turn(10);
    expect(idle()).toBe(false);
    s.settle();
    expect(idle()).toBe(true);
  });

  it("add up what each worker has used", () => {
    const s = schedule(settings);
    for (const worker of ["observer", "observer", "dropper"] as const) {
      s.tell({ ...finished("run-1", worker, "empty", null), usage, requests: 2 } as Unstamped);
    }
    const { workers } = s.engine.state;
    expect(workers.observer).toMatchObject({ runs: 2, requests: 4, usage: addUsage(usage, usage) });
    expect(workers.reflector.runs).toBe(0);
  });

  it.each([
    ["recorded", false],
    ["empty", false],
    ["stale", true],
    ["aborted", true],
  ] as const)("after a failed run and one that was %s, still tell of the failure: %s", (outcome, still) => {
    const s = schedule(settings);
    s.tell(finished("observer-1", "observer", "failed", null));
    const failure = { kind: "other", message: "test", at: "2026-01-15T14:30:00.000Z" };
    expect(s.engine.state.workers.observer.failure).toEqual(failure);
    s.tell(finished("observer-2", "observer", outcome, null));
    expect(s.engine.state.workers.observer.failure).toEqual(still ? failure : null);
  });

  it("count the folds that were offered and not used, and say what came instead", () => {
    const s = schedule(settings);
    const finish = (folded: boolean, offered?: boolean, fromExtension?: boolean) =>
      s.tell({ type: "compaction.finished", folded, offered, fromExtension }).state.replacedFolds;
    expect(finish(true, true, true)).toBeNull();
    expect(finish(false, false, true)).toBeNull();
    expect(finish(false)).toBeNull();
    const at = "2026-01-15T14:30:00.000Z";
    expect(finish(false, true, false)).toEqual({ count: 1, at, by: "pi" });
    expect(finish(true, true, true)).toEqual({ count: 1, at, by: "pi" });
    expect(finish(false, true, true)).toEqual({ count: 2, at, by: "extension" });
    expect(s.engine.keyframe().replacedFolds).toEqual({ count: 2, at, by: "extension" });
  });

  it("tell of a compaction's failure, and when, until one succeeds; that the agent was busy is none", () => {
    const s = schedule(settings);
    const failed = () => s.engine.state.compactionFailure;
    s.tell({ type: "compaction.failed", failure: { kind: "refused", message: "no" } });
    expect(failed()).toEqual({ kind: "refused", message: "no", at: "2026-01-15T14:30:00.000Z" });
    s.tell({ type: "compaction.failed", failure: { kind: AGENT_BUSY, message: "busy" } });
    expect(failed()?.kind).toBe("refused");
    s.tell({ type: "compaction.finished", folded: true });
    expect(failed()).toBeNull();
  });
});
