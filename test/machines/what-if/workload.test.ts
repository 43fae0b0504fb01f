import { describe, expect, it } from "vitest";
import { createRunStatistics, DEFAULT_MODEL } from "../../../src/machines/what-if/workload.ts";
import type { EngineEventOf, Usage } from "../../../src/reducers/engine/events.ts";
import { type Schedule, schedule } from "../../support/engine/schedule.ts";
import { fact, finished } from "../../support/sessions/builders.ts";

const settings = {
  observeAfterTokens: 1000,
  reflectAfterTokens: 4000,
  compactAfterTokens: 100_000,
  observationsPoolTargetTokens: 100,
};
const USAGE: Usage = { input: 5000, output: 300, cacheRead: 400, cacheWrite: 600, cost: 0.01 };

type Finished = EngineEventOf<"run.finished">;

/** Ends the run in flight after so many records were appended. */
function end(s: Schedule, outcome: Finished["outcome"], records: number, more: Partial<Finished> = {}): void {
  const run = s.inFlight[0];
  if (!run) throw new Error("no run is in flight");
  const watermark = s.tip;
  if (records > 0) {
    // Of 50 tokens each
    const written = Array.from({ length: records }, (_, i) =>
      `${s.steps.length * 100 + i}`.padStart(12, "0"),
    );
    const entry = fact.recorded(run.worker, `l-${run.runId}`, watermark, ...written.map((id) => `${id}:50`));
    s.tell({ type: "branch.extended", entries: [entry] });
  }
  const result = finished(run.runId, run.worker, outcome, watermark);
  s.tell({ ...result, records, ...more } as typeof result);
}

function statisticsOf(s: Schedule) {
  const statistics = createRunStatistics();
  for (const step of s.steps) statistics.take(step);
  return statistics;
}

describe("the statistics of recorded runs", () => {
  it("are the defaults where nothing ran", () => {
    const { model, price } = statisticsOf(schedule(settings));
    expect(model()).toEqual(DEFAULT_MODEL);
    expect(price()).toBeUndefined();
  });

  it("measure the observer by the source tokens that it read", () => {
    const s = schedule(settings);
    s.turn(1000);
    end(s, "recorded", 4, { sourceTokens: 1000, requests: 2, durationMs: 10_000, usage: USAGE });
    s.turn(1000);
    end(s, "empty", 0, { sourceTokens: 1000, requests: 1, durationMs: 5000, usage: USAGE });
    const { model } = statisticsOf(s);
    // The first run saw 1,000 tokens of conversation and no memory; the second as many, and four observations.
    const overhead = 6000 - 2 * 1000 + 6000 - 1 * (1000 + 4 * 50);
    expect(model()).toEqual({
      ...DEFAULT_MODEL,
      observer: {
        measuredRuns: 2,
        emptyShare: 0.5,
        recordsPerUnit: 4 / 2000,
        tokensPerRecord: 50,
        durationMs: 7500,
        requests: 1.5,
        overheadPerRequest: overhead / 3,
        outputPerRequest: 200,
      },
    });
  });

  it("count a broken run's spend for the price alone, and runs whose start is unknown too", () => {
    const s = schedule(settings);
    for (const outcome of ["failed", "aborted", "stale"] as const) {
      s.wait(3_600_000);
      s.turn(1000);
      end(s, outcome, 0, { sourceTokens: 1000, requests: 1, usage: USAGE });
    }
    s.tell({ ...finished("observer-99", "observer", "recorded", s.tip), usage: USAGE } as never);
    const { model, price } = statisticsOf(s);
    expect(model()).toEqual(DEFAULT_MODEL);
    const weighted = 5000 + 400 * 0.1 + 600 * 1.25 + 300 * 5;
    expect(price()?.input).toBeCloseTo((0.01 / weighted) * 1e6, 9);
    expect(price()?.output).toBeCloseTo((0.05 / weighted) * 1e6, 9);
    s.wait(3_600_000);
    s.turn(1000);
    end(s, "empty", 0, { sourceTokens: 4000, requests: 1, usage: USAGE });
    expect(statisticsOf(s).model().observer).toMatchObject({ measuredRuns: 1, outputPerRequest: 300 });
  });

  it("measure the reflector by what was newly observed, and the dropper by the drops that it may make", () => {
    const s = schedule(settings);
    s.turn(4000);
    end(s, "recorded", 6, { sourceTokens: 4000, requests: 1 });
    s.turn();
    expect(s.inFlight[0]?.worker).toBe("reflector");
    end(s, "recorded", 2, { sourceTokens: 999, requests: 1, usage: USAGE, durationMs: 4000 });
    expect(s.inFlight[0]?.worker).toBe("dropper");
    // Six observations of 50 tokens are 200 over the target: four may go.
    end(s, "recorded", 2, { requests: 2, usage: USAGE, durationMs: 3000 });
    expect(statisticsOf(s).model()).toMatchObject({
      observer: { recordsPerUnit: 6 / 4000, overheadPerRequest: 0, outputPerRequest: 0 },
      reflector: {
        measuredRuns: 1,
        emptyShare: 0,
        recordsPerUnit: 2 / 4000,
        tokensPerRecord: 50,
        durationMs: 4000,
        overheadPerRequest: 6000 - 300,
      },
      dropper: {
        measuredRuns: 1,
        recordsPerUnit: 2 / 4,
        tokensPerRecord: 0,
        durationMs: 3000,
        overheadPerRequest: (6000 - 2 * (300 + 100)) / 2,
        outputPerRequest: 150,
      },
    });
  });

  it("measure a later reflector run by what was observed since the one before", () => {
    const s = schedule({ ...settings, observationsPoolTargetTokens: 100_000 });
    for (const tokens of [4000, 5000]) {
      s.turn(tokens);
      end(s, "recorded", 2, { sourceTokens: tokens, requests: 1 });
      s.turn();
      end(s, "recorded", 3, { requests: 1 });
    }
    expect(statisticsOf(s).model().reflector.recordsPerUnit).toBe(6 / 9000);
  });

  it("keep the default of what a run without requests or records does not tell", () => {
    const s = schedule(settings);
    s.turn(1000);
    end(s, "empty", 0, { sourceTokens: 0, requests: 0 });
    const { recordsPerUnit, tokensPerRecord, overheadPerRequest, outputPerRequest } = DEFAULT_MODEL.observer;
    expect(statisticsOf(s).model().observer).toEqual({
      measuredRuns: 1,
      emptyShare: 1,
      durationMs: 1,
      requests: 0,
      ...{ recordsPerUnit, tokensPerRecord, overheadPerRequest, outputPerRequest },
    });
  });

  it("take the least that a compaction kept for what Pi keeps", () => {
    const s = schedule(settings);
    const ids = [3000, 2000, 1000].map((tokens) => s.say(tokens) && s.tip);
    s.compact(ids[0] ?? "");
    s.compact(ids[2] ?? "");
    expect(statisticsOf(s).model()).toMatchObject({ keepTokens: 1000, keepIsMeasured: true });
    s.compact(ids[1] ?? "");
    expect(statisticsOf(s).model().keepTokens).toBe(1000);
    // What comes while Pi compacts is no part of what it kept.
    s.tell({ type: "compaction.started", reason: "manual" });
    const compaction = { firstKeptEntryId: s.tip, folded: true, fullFold: false };
    s.say(700);
    s.tell({
      type: "branch.extended",
      entries: [
        { id: "c9", kind: "compaction", tokens: 0, compaction: { ...compaction, firstKeptEntryId: s.tip } },
      ],
    });
    s.say(300);
    s.tell({ type: "compaction.finished", folded: true });
    expect(statisticsOf(s).model().keepTokens).toBe(700);
  });

  it("say nothing of a price without a cost, or without tokens", () => {
    for (const usage of [
      { ...USAGE, cost: 0 },
      { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 1 },
    ]) {
      const s = schedule(settings);
      s.turn(1000);
      end(s, "empty", 0, { usage });
      expect(statisticsOf(s).price()).toBeUndefined();
    }
  });
});
