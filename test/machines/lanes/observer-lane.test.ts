import { describe, expect, it } from "vitest";
import { fact, schedule } from "../../support/schedule.ts";

const settings = { observeAfterTokens: 1000, reflectAfterTokens: 1_000_000, compactAfterTokens: 1_000_000 };
const observer = (s: ReturnType<typeof schedule>) => s.engine.snapshot.states.observer;

describe("observer lane", () => {
  it("is idle below its threshold, due at it, and runs at the next trigger", () => {
    const s = schedule(settings);
    expect(s.turn(999).commands).toEqual([]);
    expect(observer(s)).toBe("idle");
    s.say(1);
    expect(observer(s)).toBe("due");
    const step = s.tell({ type: "agent.started" });
    expect(step.transitions).toEqual([{ lane: "observer", from: "due", to: "running" }]);
    expect(step.commands).toEqual([
      { type: "startRun", runId: "observer-1", worker: "observer", failures: 0, emptyUpToId: null },
    ]);
  });

  it("has one run at a time, however many triggers come", () => {
    const s = schedule(settings);
    s.turn(1000);
    for (let i = 0; i < 5; i++) expect(s.turn(5000).commands).toEqual([]);
    expect(s.inFlight).toHaveLength(1);
  });

  it("catches up: after a recorded run with a backlog it is due at once", () => {
    const s = schedule(settings);
    s.turn(1000);
    const covered = s.tip;
    s.turn(3000);
    s.finish("recorded", { covers: covered });
    expect(observer(s)).toBe("due");
    s.turn();
    expect(observer(s)).toBe("running");
  });

  it("lets an empty result stand for a further full threshold of tokens", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.finish("empty");
    expect(observer(s)).toBe("coolingDown");
    expect(s.turn(999).commands).toEqual([]);
    const [run] = s.turn(1).commands;
    expect(run).toMatchObject({ type: "startRun", emptyUpToId: "e1" });
  });

  it("lets it stand no longer than coverage stays where it was", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.finish("recorded");
    s.turn(1000);
    s.finish("empty");
    expect(observer(s)).toBe("coolingDown");
    s.tell({ type: "branch.replaced", branch: [fact("e1", 1500)] });
    expect(observer(s)).toBe("due");
  });

  it("waits no more than a threshold on a branch with less to observe", () => {
    const s = schedule(settings);
    s.turn(1100);
    s.turn(4000);
    s.finish("empty", { covers: "e1" });
    s.turn(2000);
    s.finish("empty", { covers: "e1" });
    s.tell({ type: "branch.replaced", branch: [fact("e1", 1100)] });
    expect(observer(s)).toBe("coolingDown");
    expect(s.turn(999).commands).toEqual([]);
    expect(s.turn(1).commands).toMatchObject([{ type: "startRun" }]);
    s.tell({ type: "branch.replaced", branch: [fact("e1", 1100)] });
    s.finish("empty", { covers: "e1" });
    expect(s.turn(999).commands).toEqual([]);
    expect(s.turn(1).commands).toMatchObject([{ type: "startRun" }]);
  });

  it("backs off after a failure: 30 s, doubling, and warns once", () => {
    const s = schedule(settings);
    s.turn(1000);
    expect(s.finish("failed").commands).toMatchObject([
      { type: "notify", level: "warning", runId: "observer-1" },
    ]);
    s.wait(29_999);
    expect(s.turn().commands).toEqual([]);
    s.wait(1);
    expect(s.turn().commands).toMatchObject([{ type: "startRun", failures: 1 }]);
    expect(s.finish("failed").commands).toEqual([]);
    s.wait(59_999);
    expect(s.turn().commands).toEqual([]);
    s.wait(1);
    expect(s.turn().commands).toMatchObject([{ type: "startRun", failures: 2 }]);
    s.finish("recorded");
    s.turn(1000);
    expect(s.inFlight[0]?.failures).toBe(0);
  });

  it("keeps its delay when the branch goes below the threshold and comes back", () => {
    const s = schedule(settings);
    s.say(400);
    s.turn(600);
    s.finish("failed");
    s.tell({ type: "branch.replaced", branch: [fact("e1", 400)] });
    expect(observer(s)).toBe("idle");
    s.wait(29_999);
    expect(s.turn(600).commands).toEqual([]);
    expect(observer(s)).toBe("backingOff");
    s.wait(1);
    expect(s.turn().commands).toMatchObject([{ type: "startRun", failures: 1 }]);
  });

  it("does not wait longer than its delay when the computer's clock was set back", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.finish("failed");
    s.wait(-3_600_000);
    expect(s.turn().commands).toMatchObject([{ type: "startRun", failures: 1 }]);
  });

  it.each(["stale", "aborted"] as const)("goes back to idle, silently, when a run is %s", (outcome) => {
    const s = schedule(settings);
    s.turn(1000);
    const step = s.finish(outcome);
    expect(step.commands).toEqual([]);
    expect(observer(s)).toBe("due");
  });

  it("does nothing in passive mode, but runs when asked to", () => {
    const s = schedule({ ...settings, passive: true });
    s.turn(5000);
    expect(observer(s)).toBe("passive");
    s.tell({ type: "run.demanded", lane: "observer" });
    expect(s.inFlight).toHaveLength(1);
    s.finish("recorded");
    expect(observer(s)).toBe("passive");
  });

  it("aborts its run when the session closes, and starts nothing after that", () => {
    const s = schedule(settings);
    s.turn(1000);
    expect(s.tell({ type: "session.closed", reason: "new" }).commands).toEqual([
      { type: "abortRun", runId: "observer-1" },
    ]);
    expect(observer(s)).toBe("idle");
    s.finish("recorded");
    expect(s.turn(5000).commands).toEqual([]);
    expect(observer(s)).toBe("idle");
  });

  it("is deaf to a result that is not its own run's", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.tell({ ...finishedBy("observer-7") });
    expect(observer(s)).toBe("running");
  });
});

function finishedBy(runId: string) {
  const s = schedule(settings);
  s.turn(1000);
  const { event } = s.finish("empty");
  if (event.type !== "run.finished") throw new Error("expected a result");
  const { v: _v, seq: _seq, at: _at, ...rest } = event;
  return { ...rest, runId };
}
