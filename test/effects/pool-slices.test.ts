import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { poolSlices, sliceByBudget } from "../../src/effects/pool-slices.ts";
import { promptRoom } from "../../src/effects/prompt-room.ts";
import {
  DROPPER_SYSTEM_PROMPT,
  droppableLine,
  dropperPrompt,
} from "../../src/effects/prompts/dropper-prompt.ts";
import {
  observationLine,
  REFLECTOR_SYSTEM_PROMPT,
  reflectorPrompt,
} from "../../src/effects/prompts/reflector-prompt.ts";
import { estimateTextTokens } from "../../src/reducers/tokens.ts";
import { accessTo, limitsOf, modelAt, observationOf, reflectionOf } from "./model-access.ts";

describe("slices", () => {
  it("are all items in order, none empty, each within the budget unless it is one item", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50)), fc.integer({ min: -10, max: 200 }), (costs, budget) => {
        const slices = sliceByBudget(costs, (cost) => cost, budget);
        expect(slices.flat()).toEqual(costs);
        for (const slice of slices) {
          expect(slice.length).toBeGreaterThan(0);
          const sum = slice.reduce((total, cost) => total + cost, 0);
          if (slice.length > 1) expect(sum).toBeLessThanOrEqual(budget);
        }
      }),
    );
  });

  it("are no more than needed", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50)), fc.integer({ min: 1, max: 200 }), (costs, budget) => {
        const slices = sliceByBudget(costs, (cost) => cost, budget);
        for (const [index, slice] of slices.slice(1).entries()) {
          const before = (slices[index] ?? []).reduce((total, cost) => total + cost, 0);
          expect(before + (slice[0] ?? 0)).toBeGreaterThan(budget);
        }
      }),
    );
  });

  const words = fc.lorem({ mode: "words", maxCount: 60 });

  it("make prompts that fit the window together with the output", () => {
    const windows = fc.constantFrom(0, 8000, 16_000, 60_000);
    fc.assert(
      fc.property(
        fc.array(words, { minLength: 1, maxLength: 150 }),
        fc.array(words, { maxLength: 80 }),
        windows,
        fc.integer({ min: 100, max: 3000 }),
        (contents, conclusions, contextWindow, maxTokens) => {
          const observations = contents.map((content) => observationOf(content));
          const reflections = conclusions.map((content) => reflectionOf(content));
          const access = accessTo("", { contextWindow });
          const limits = limitsOf({ maxTokens });
          const window = contextWindow || 60_000;
          const checks = [
            { system: REFLECTOR_SYSTEM_PROMPT, lineOf: observationLine(new Map()), prompt: reflectorPrompt },
            {
              system: DROPPER_SYSTEM_PROMPT,
              lineOf: droppableLine(new Map(), 0),
              prompt: (parts: Parameters<typeof reflectorPrompt>[0]) =>
                dropperPrompt({ ...parts, maximum: 100_000, poolTokens: 1e9, targetTokens: 1e9 }),
            },
          ];
          for (const { system, lineOf, prompt } of checks) {
            const slices = poolSlices(observations, lineOf, system, access, limits);
            expect(slices.flatMap((slice) => slice.observations)).toEqual(observations);
            for (const slice of slices) {
              const { reflectionBudget } = slice;
              const text = prompt({
                observationLines: slice.observations.map(lineOf),
                reflections,
                reflectionBudget,
              });
              expect(estimateTextTokens(system) + estimateTextTokens(text) + maxTokens).toBeLessThanOrEqual(
                window,
              );
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("the room for a prompt", () => {
  it("is that of a 60000-token window when the model's is unknown", () => {
    expect(promptRoom(modelAt("", { contextWindow: 0 }), 1000)).toBe(
      promptRoom(modelAt("", { contextWindow: 60_000 }), 1000),
    );
  });

  it("is never nothing, and leaves room for the output", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.integer({ min: 1, max: 100_000 }),
        (window, output) => {
          const room = promptRoom(modelAt("", { contextWindow: window }), output);
          expect(room).toBeGreaterThan(0);
          expect(room + Math.min(output, window / 2)).toBeLessThanOrEqual(Math.max(window, 2));
        },
      ),
    );
  });
});

describe("how the dropper sees an observation", () => {
  const now = new Date(2026, 0, 15, 14, 30).getTime();
  it.each([
    ["2026-01-15 14:30", "0 min old, "],
    ["2026-01-15 13:31", "59 min old, "],
    ["2026-01-15 13:30", "1 h old, "],
    ["2026-01-13 14:31", "47 h old, "],
    ["2026-01-13 14:30", "2 days old, "],
    ["2027-01-01 00:00", "0 min old, "],
    ["yesterday", ""],
    ["2026-99-99 00:00", ""],
  ])("at %s: %s", (timestamp, age) => {
    const line = droppableLine(new Map(), now)(observationOf("x", { timestamp, tokenCount: 7 }));
    expect(line).toContain(` ${timestamp} (${age}7 tokens) [medium] x (coverage: none)`);
  });
});
