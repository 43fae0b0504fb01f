import { describe, expect, it } from "vitest";
import { failureFrom, windowSaid } from "../../../../src/effects/workers/model/failure.ts";
import { createLearntWindows } from "../../../../src/effects/workers/model/learnt-windows.ts";
import { usableWindow } from "../../../../src/effects/workers/model/prompt-room.ts";
import { accessTo } from "../model-access.ts";

const TOO_LONG = failureFrom("400 Please reduce the length of the messages.");

describe("the window that a refusal names", () => {
  it.each([
    ["This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.", 8192],
    ["prompt is too long: 213462 tokens > 200000 maximum", 200_000],
    ["The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", 1_048_575],
    ["This model's maximum prompt length is 131072 but the request contains 537812 tokens", 131_072],
    ["40961 tokens, too large for model with 32768 maximum context length", 32_768],
    ["The input (65000 tokens) is longer than the model's context length (32769 tokens).", 32_769],
    ["Your request exceeded model token limit: 262144 (requested: 291351)", 262_144],
    ["Range of input length should be [1, 129024]", 129_024],
    ["input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 200_000],
    [
      '{"message":"the request exceeds the available context size","n_prompt_tokens":9000,"n_ctx":4096}',
      4096,
    ],
    ["the request exceeds the available context size, try increasing it", undefined],
    ["Your input exceeds the context window of this model.", undefined],
    ["413 Request exceeds the maximum size", undefined],
  ])("in: %s", (text, window) => {
    expect(windowSaid(text)).toBe(window);
  });
});

describe("a model that takes less than it declares", () => {
  const access = accessTo("", { contextWindow: 200_000 });

  it("is believed when it says how much, for good", () => {
    const windows = createLearntWindows();
    windows.went(access, 40_000, failureFrom("400: maximum context length is 8192 tokens"));
    for (let run = 0; run < 20; run++) windows.went(access, 6000, undefined);
    expect(usableWindow(windows.within(access))).toBe(8192);
  });

  it("is asked for half of what it refused, and for twice that after ten runs that passed, until all is as declared", () => {
    const windows = createLearntWindows();
    windows.went(access, 40_000, TOO_LONG);
    const sizes = Array.from({ length: 40 }, () => {
      windows.went(access, 15_000, undefined);
      return usableWindow(windows.within(access));
    });
    expect([0, 8, 9, 19, 29, 39].map((run) => sizes[run])).toEqual([
      ...[20_000, 20_000, 40_000, 80_000, 160_000, 195_904],
    ]);
    expect(windows.within(access)).toBe(access);
  });

  it("learns nothing from a limit by the minute, and nothing from a run that asked for nothing", () => {
    const windows = createLearntWindows();
    const limit = "429 Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41877.";
    windows.went(access, 41_877, failureFrom(limit));
    expect(windows.within(access)).toBe(access);
    windows.went(access, 40_000, TOO_LONG);
    windows.went(access, 0, undefined);
    expect(usableWindow(windows.within(access))).toBe(20_000);
  });
});
