import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  newestWithin,
  STATEMENT_TOKENS,
  section,
} from "../../../src/effects/workers/prompts/prior-memory.ts";
import { estimateTextTokens } from "../../../src/reducers/entries/tokens.ts";

const line = fc
  .oneof(
    fc.lorem({ mode: "sentences", maxCount: 2 }),
    fc.string({ unit: "grapheme", maxLength: 60 }),
    fc.constantFrom("", "記憶はここにある", "src/host/runtime.ts:42", "…"),
  )
  .map((text) => text.replace(/\n/g, " "));
const lines = fc.array(line, { maxLength: 40 });
const budget = fc.integer({ min: STATEMENT_TOKENS, max: 400 });

describe("bounded memory", () => {
  it("fits its budget, and never costs more than it says", () => {
    fc.assert(
      fc.property(lines, budget, (all, maxTokens) => {
        const { text, tokens } = newestWithin(all, maxTokens);
        expect(tokens).toBeLessThanOrEqual(maxTokens);
        expect(estimateTextTokens(text)).toBeLessThanOrEqual(tokens);
      }),
    );
  });

  it("is the newest lines in their order, under a statement of how many are missing", () => {
    fc.assert(
      fc.property(lines, budget, (all, maxTokens) => {
        const { text, omitted } = newestWithin(all, maxTokens);
        const kept = all.slice(omitted);
        if (omitted === 0) expect(text).toBe(all.join("\n"));
        else {
          const [statement, ...rest] = text.split("\n");
          expect(statement).toMatch(new RegExp(`^\\(${omitted} older lines? (is|are) left out here\\)$`));
          expect(rest).toEqual(kept);
        }
      }),
    );
  });

  it("leaves nothing out of what fits whole, and otherwise keeps half of the budget full", () => {
    fc.assert(
      fc.property(lines, budget, (all, maxTokens) => {
        const cost = (some: readonly string[]) =>
          some.reduce((sum, one) => sum + estimateTextTokens(one) + 1, 0);
        const { omitted } = newestWithin(all, maxTokens);
        if (cost(all) <= maxTokens) expect(omitted).toBe(0);
        else expect(cost(all.slice(omitted - 1))).toBeGreaterThan((maxTokens - STATEMENT_TOKENS) / 2);
      }),
    );
  });

  it("keeps its beginning while memory grows, but for few large steps", () => {
    const all = Array.from({ length: 400 }, (_, n) => `Observation ${n} of what went on in the harbour.`);
    const starts = all.map((_, n) => newestWithin(all.slice(0, n + 1), 1000).omitted);
    // Each line has some twelve tokens: a step of 492 takes about forty of them.
    expect(new Set(starts).size).toBeLessThan(15);
    fc.assert(
      fc.property(lines, budget, fc.nat(40), (some, maxTokens, cut) => {
        const before = newestWithin(some.slice(0, cut), maxTokens);
        const after = newestWithin(some, maxTokens);
        if (after.omitted === before.omitted) expect(after.text.startsWith(before.text)).toBe(true);
        else expect(after.omitted).toBeGreaterThan(before.omitted);
      }),
    );
  });

  it("keeps to its statement when there is room for nothing", () => {
    expect(newestWithin(["one", "two"], 0)).toMatchObject({
      text: "(2 older lines are left out here)",
      omitted: 2,
    });
    expect(newestWithin(["one"], -5)).toMatchObject({ text: "(1 older line is left out here)", omitted: 1 });
    expect(newestWithin([], 0)).toEqual({ text: "", tokens: 0, omitted: 0 });
  });

  it("says so when there is none", () => {
    expect(section("Prior memory", "")).toBe("## Prior memory\n\n(none)");
  });

  it("is there at once, however much memory there is", () => {
    const all = Array.from(
      { length: 30_000 },
      (_, n) => `[d4e5f6a1b2c3] 2026-01-15 14:30 [high] Observation ${n}.`,
    );
    const before = performance.now();
    newestWithin(all, 1000);
    expect(performance.now() - before).toBeLessThan(200);
  });
});
