import { describe, expect, it } from "vitest";
import { schedule } from "../../support/schedule.ts";

const settings = {
  observeAfterTokens: 1000,
  reflectAfterTokens: 2000,
  compactAfterTokens: 1_000_000,
  observationsPoolTargetTokens: 150,
};
const lane = (s: ReturnType<typeof schedule>) => s.engine.snapshot.states.reflectDrop;

/** Two observer runs, after which the reflect clock is at its threshold. */
function observedTwice(observationTokens = 100) {
  const s = schedule(settings);
  for (let i = 0; i < 2; i++) {
    s.turn(1000);
    s.finish("recorded", { tokens: observationTokens });
  }
  return s;
}

describe("reflect/drop lane", () => {
  it("waits for the observer to be neither due nor running", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.finish("recorded");
    s.turn(1000);
    expect(s.engine.snapshot.states.observer).toBe("running");
    expect(lane(s)).toBe("due");
    expect(s.inFlight.map(({ worker }) => worker)).toEqual(["observer"]);
  });

  it("starts as soon as the observer that held it back has finished", () => {
    const s = observedTwice();
    expect(lane(s)).toBe("running.reflecting");
    expect(s.inFlight).toMatchObject([{ worker: "reflector", runId: "reflectDrop-1" }]);
  });

  it("does not run at the next opening because of a trigger before it", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.finish("recorded");
    s.turn(1000);
    expect(s.engine.snapshot.contexts.reflectDrop.triggered).toBe(true);
    s.tell({ type: "session.closed", reason: "reload" });
    expect(lane(s)).toBe("idle");
    expect(s.engine.snapshot.contexts.reflectDrop.triggered).toBe(false);
  });

  it("starts no dropper for a reflector that records after its session was closed", () => {
    const s = observedTwice(100);
    expect(s.tell({ type: "session.closed", reason: "new" }).commands).toEqual([
      { type: "abortRun", runId: "reflectDrop-1" },
    ]);
    expect(s.finish("recorded").commands).toEqual([]);
    expect(lane(s)).toBe("idle");
  });

  it("aborts what is in flight when another session is opened", () => {
    const s = observedTwice(100);
    const { event } = s.steps[0] ?? {};
    if (event?.type !== "session.opened") throw new Error("expected the opening");
    const { v: _v, seq: _seq, at: _at, ...opened } = event;
    expect(s.tell(opened).commands).toEqual([{ type: "abortRun", runId: "reflectDrop-1" }]);
    expect(lane(s)).toBe("idle");
  });

  it("is not due while no observation is newer than the last reflection", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1_000_000 });
    s.turn(10_000);
    expect(lane(s)).toBe("idle");
  });

  it("is not held back by an observer that is backing off or cooling down", () => {
    for (const outcome of ["failed", "empty"] as const) {
      const s = schedule(settings);
      s.turn(1000);
      s.finish("recorded");
      s.turn(1000);
      s.finish(outcome);
      s.turn();
      expect(lane(s)).toBe("running.reflecting");
    }
  });

  it("drops after a reflector that recorded, while the pool is over target", () => {
    const s = observedTwice(100);
    s.finish("recorded", { covers: "e4" });
    expect(lane(s)).toBe("running.dropping");
    expect(s.inFlight).toMatchObject([{ worker: "dropper", runId: "reflectDrop-2" }]);
    s.finish("empty");
    expect(lane(s)).toBe("idle");
  });

  it("warns once of a dropper that fails after every reflection, until it has succeeded", () => {
    const s = observedTwice(100);
    const round = (outcome: "failed" | "empty" | "recorded") => {
      s.finish("recorded");
      const { commands } = s.finish(outcome);
      s.wait(600_000);
      for (let i = 0; i < 2; i++) {
        s.turn(1000);
        s.finish("recorded", { tokens: 100 });
      }
      return commands.filter((command) => command.type === "notify" && command.level === "warning").length;
    };
    expect([round("failed"), round("failed"), round("failed")]).toEqual([1, 0, 0]);
    expect(s.engine.snapshot.contexts.reflectDrop.failures).toBe(3);
    expect([round("recorded"), round("failed")]).toEqual([0, 1]);
    expect([round("empty"), round("failed")]).toEqual([0, 1]);
  });

  it("does not drop while the pool is within its target", () => {
    const s = observedTwice(10);
    s.finish("recorded");
    expect(lane(s)).toBe("idle");
    expect(s.inFlight).toEqual([]);
  });

  it("asks a reflector with nothing to say again only after a further threshold", () => {
    const s = observedTwice();
    s.finish("empty");
    expect(lane(s)).toBe("coolingDown");
    let runs = 0;
    for (let i = 0; i < 16; i++) {
      s.turn(100);
      if (s.inFlight[0]?.worker === "reflector") runs++;
      if (s.inFlight.length > 0) s.finish("empty");
    }
    expect(runs).toBe(0);
  });
});
