import { describe, expect, it } from "vitest";
import { backoffDelay, backoffTokens } from "../../../src/machines/lanes/backoff.ts";

describe("backing off", () => {
  it("takes 30 s after a failure, doubling to 10 min", () => {
    const seconds = [1, 2, 3, 4, 5, 6, 60].map((failures) => backoffDelay(failures) / 1000);
    expect(seconds).toEqual([30, 60, 120, 240, 480, 600, 600]);
  });

  it("takes any new token after a refused compaction, then a sixteenth of the threshold, doubling to the whole", () => {
    const tokens = [1, 2, 3, 4, 5, 6, 7, 60].map((failures) => backoffTokens(failures, 1000));
    expect(tokens).toEqual([1, 63, 125, 250, 500, 1000, 1000, 1000]);
  });

  it("never waits for nothing, however small the threshold", () => {
    expect(backoffTokens(2, 0)).toBe(1);
  });
});
