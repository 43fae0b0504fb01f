import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { adviceOf, distinctRows } from "../../../src/machines/what-if/advice.ts";
import {
  costOf,
  createTune,
  gridOf,
  type Schedule,
  type TuneRow,
} from "../../../src/machines/what-if/tune.ts";
import { DEFAULT_MODEL, ENOUGH_RUNS, generalModel } from "../../../src/machines/what-if/workload.ts";
import { plainSession } from "../../support/sessions/plain-session.ts";

function row(cost: number, more: Partial<TuneRow> = {}): TuneRow {
  return {
    thresholds: { observeAfterTokens: 10_000, reflectAfterTokens: 20_000, compactAfterTokens: 81_000 },
    runs: { observer: 1, reflector: 1, dropper: 0 },
    requests: 2,
    sourceTokensRead: 1000,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost },
    longestUnobserved: 10_000,
    longestUnreflected: 20_000,
    cutUnobserved: 0,
    compactions: 1,
    best: true,
    yours: false,
    ...more,
  };
}
const yours = row(2, { yours: true });

describe("advice", () => {
  it("is the cheapest row that pays no more than twice the spans", () => {
    const better = row(1.5, { longestUnobserved: 20_000 });
    const greedy = row(1, { longestUnobserved: 20_001 });
    expect(adviceOf([yours, greedy, better])).toEqual({ yours, advised: better, saving: 0.25 });
    expect(adviceOf([yours, greedy])).toEqual({ yours, saving: 0.5, keep: "tooDear", cheapest: greedy });
  });

  it("never pays with conversation that nobody has observed, nor with compactions", () => {
    for (const price of [{ cutUnobserved: 1 }, { compactions: 2 }])
      expect(adviceOf([yours, row(1, price)])).toMatchObject({ keep: "tooDear" });
  });

  it("keeps yours where nothing is clearly cheaper, or nothing ran", () => {
    expect(adviceOf([yours, row(1.9), row(3)])).toMatchObject({ keep: "noSaving" });
    expect(adviceOf([yours])).toEqual({ yours, saving: 0, keep: "noSaving" });
    expect(adviceOf([row(0, { yours: true }), row(1)])).toMatchObject({ keep: "nothingRan", saving: 0 });
    expect(adviceOf([row(1)])).toBeUndefined();
  });

  it("compares tokens without a price", () => {
    const usage = (input: number) => ({ input, output: 100, cacheRead: 0, cacheWrite: 0, cost: 0 });
    const mine = row(0, { usage: usage(1500), yours: true });
    const other = row(0, { usage: usage(500) });
    expect(adviceOf([mine, other])).toEqual({ yours: mine, advised: other, saving: 0.5 });
  });

  it("takes of ties the one that changes least, and shows them once", () => {
    const thresholds = (compactAfterTokens: number, reflectAfterTokens = 20_000) => ({
      thresholds: { observeAfterTokens: 10_000, reflectAfterTokens, compactAfterTokens },
    });
    const ties = [
      row(1, thresholds(90_000, 30_000)),
      row(1, thresholds(81_000, 30_000)),
      row(1, thresholds(99_000, 9)),
    ];
    expect(adviceOf([yours, ...ties])?.advised).toBe(ties[1]);
    expect(distinctRows([yours, ...ties, row(3, { best: false })], ties[1])).toEqual([yours, ties[1]]);
    const beaten = { ...yours, best: false };
    expect(distinctRows([row(1), row(1), beaten], undefined)).toEqual([row(1), beaten]);
  });

  it("costs, simulated by itself, what it was said to and no more than yours", () => {
    const tokens = fc.integer({ min: 1000, max: 40_000 });
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 50, max: 4000 }), { minLength: 5, maxLength: 40 }),
        fc.record({ observeAfterTokens: tokens, reflectAfterTokens: tokens, compactAfterTokens: tokens }),
        fc.constantFrom(undefined, { input: 1, output: 5 }),
        (sizes, thresholds, price) => {
          const session = plainSession();
          for (const size of sizes) session.wait(30).user(size).assistant(size);
          const schedule: Schedule = { ...thresholds, compactAfterTokensMode: "calibrated" };
          const simulated = (grid: ReturnType<typeof gridOf>, mine: Schedule) => {
            const tune = createTune({ grid, yours: mine, model: DEFAULT_MODEL, price });
            tune.takeSession(session.entries);
            return tune.rows();
          };
          const advice = adviceOf(simulated(gridOf([4000, 16_000], [8000, 30_000], [30_000]), schedule));
          expect(advice).toBeDefined();
          if (!advice?.advised) return;
          const [alone] = simulated([], {
            ...advice.advised.thresholds,
            compactAfterTokensMode: "calibrated",
          });
          expect(alone?.usage).toEqual(advice.advised.usage);
          expect(alone && costOf(alone)).toBeLessThan(costOf(advice.yours));
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe("the model of other sessions", () => {
  it("goes by a worker's runs only where there are enough of them", () => {
    const measured = (runs: number) => ({ ...DEFAULT_MODEL.observer, measuredRuns: runs, requests: 3 });
    const few = {
      ...DEFAULT_MODEL,
      observer: measured(ENOUGH_RUNS - 1),
      keepTokens: 900,
      keepIsMeasured: true,
    };
    expect(generalModel(few)).toEqual({
      ...DEFAULT_MODEL,
      observer: { ...DEFAULT_MODEL.observer, measuredRuns: ENOUGH_RUNS - 1 },
    });
    const enough = { ...few, observer: measured(ENOUGH_RUNS) };
    expect(generalModel(enough)).toEqual(enough);
  });
});
