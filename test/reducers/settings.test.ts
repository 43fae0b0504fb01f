import { describe, expect, it } from "vitest";
import {
  compactionThreshold,
  DEFAULT_SETTINGS,
  observerChunkBudget,
  poolTarget,
} from "../../src/reducers/settings.ts";

describe("the compaction threshold", () => {
  const calibrated = { ...DEFAULT_SETTINGS, compactAfterTokens: 700, compactAfterTokensRatio: 0.5 };
  const ratio = { ...calibrated, compactAfterTokensMode: "ratio" as const };

  it("is a share of the context window, in whole tokens, where that is asked for and known", () => {
    expect(compactionThreshold(ratio, 1001)).toBe(500);
    expect(compactionThreshold(ratio, 1)).toBe(1);
  });

  it("is the given number otherwise", () => {
    for (const window of [1000, undefined]) expect(compactionThreshold(calibrated, window)).toBe(700);
    for (const unknown of [undefined, 0, -1, Number.NaN])
      expect(compactionThreshold(ratio, unknown)).toBe(700);
  });
});

describe("the pool's target", () => {
  it("is half of the maximum, in whole tokens, unless it is given", () => {
    const settings = { ...DEFAULT_SETTINGS, observationsPoolMaxTokens: 1001 };
    expect(poolTarget(settings)).toBe(500);
    expect(poolTarget({ ...settings, observationsPoolTargetTokens: 0 })).toBe(0);
  });
});

describe("an observer chunk", () => {
  it("is as large as given, or a fifth of the context window, or what most windows hold", () => {
    const given = { ...DEFAULT_SETTINGS, observerChunkMaxTokens: 5000 };
    for (const window of [1001, 0, undefined]) expect(observerChunkBudget(given, window)).toBe(5000);
    expect(observerChunkBudget(DEFAULT_SETTINGS, 1003)).toBe(200);
    for (const unknown of [undefined, 0, -1, Number.NaN])
      expect(observerChunkBudget(DEFAULT_SETTINGS, unknown)).toBe(60_000);
  });
});
