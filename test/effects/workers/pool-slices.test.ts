import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  fixedTokens,
  type RequestRoom,
  roomFor,
  WindowTooSmallError,
} from "../../../src/effects/workers/model/prompt-room.ts";
import { largestChunk } from "../../../src/effects/workers/observer.ts";
import { poolSlices, sliceByBudget } from "../../../src/effects/workers/pool-slices.ts";
import { reflectorPrompt } from "../../../src/effects/workers/prompts/reflector-prompt.ts";
import { estimateTextTokens } from "../../../src/reducers/entries/tokens.ts";
import type { CoverageTier } from "../../../src/reducers/ledger/pool.ts";
import { renderObservation } from "../../../src/reducers/ledger/summary.ts";
import { observationOf } from "../../support/sessions/builders.ts";
import { accessTo, limitsOf, modelAt } from "./model-access.ts";

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

  it("show each observation once, and no line that is longer than a prompt", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 2000 }), { maxLength: 60 }),
        fc.integer({ min: 250, max: 4000 }),
        fc.constantFrom<CoverageTier>("none", "partial", "strong"),
        (lengths, userPrompt, tier) => {
          const observations = lengths.map((length, n) =>
            observationOf(`${n} ${"word ".repeat(length / 5)}`),
          );
          const coverage = new Map(observations.map(({ id }) => [id, tier]));
          const nothing = { observations: [], observationLines: [], reflections: [], reflectionBudget: 0 };
          const frame = reflectorPrompt({ ...nothing, coverage });
          const slices = poolSlices({ observations, coverage }, renderObservation, { userPrompt }, frame);
          expect(slices.flatMap((slice) => slice.observations)).toEqual(observations);
          for (const slice of slices) {
            expect(slice.observationLines.map((line) => line.slice(1, 13))).toEqual(
              slice.observations.map(({ id }) => id),
            );
            const prompt = reflectorPrompt({ ...slice, coverage, reflections: [] });
            expect(estimateTextTokens(prompt) + slice.reflectionBudget).toBeLessThanOrEqual(userPrompt);
          }
        },
      ),
    );
  });
});

describe("the room for a request", () => {
  const tool = { name: "t", description: "d", parameters: {}, accept: () => ({ text: "", isError: false }) };
  const request = { systemPrompt: "Be brief. ".repeat(50), tool };

  const roomAt = (contextWindow: number, limits = limitsOf()) =>
    roomFor({ model: modelAt("", { contextWindow }) }, request, limits);
  const fixed = fixedTokens(request.systemPrompt, request.tool);

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e12])(
    "is that of Pi's own guess when the window is %s, so that a chunk may have the documented 60000",
    (contextWindow) => {
      const room = roomAt(contextWindow);
      expect(room).toEqual(roomAt(128_000 + 4096));
      const limits = limitsOf({ maxTokens: 8192 });
      expect(largestChunk(accessTo("", { contextWindow }), limits)).toBeGreaterThanOrEqual(60_000);
    },
  );

  it("leaves a worker 512 tokens to answer in beside what Pi's providers keep free, or there is none", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.integer({ min: 1, max: 200_000 }),
        fc.option(fc.integer({ min: 1, max: 1_000_000 }), { nil: undefined }),
        (contextWindow, maxTokens, servedWindow) => {
          const access = { model: modelAt("", { contextWindow }), ...(servedWindow && { servedWindow }) };
          const usable = Math.min(contextWindow - 4096, servedWindow ?? contextWindow);
          let room: RequestRoom;
          try {
            room = roomFor(access, request, limitsOf({ maxTokens }));
          } catch (error) {
            expect(error).toBeInstanceOf(WindowTooSmallError);
            expect(usable).toBeLessThan(fixed + 512 + 501);
            return;
          }
          expect(room.limits.maxTokens).toBeGreaterThanOrEqual(512);
          expect(room.limits.maxTokens).toBeLessThanOrEqual(Math.max(512, maxTokens));
          expect(room.userPrompt).toBeGreaterThanOrEqual(400);
          expect(fixed + room.userPrompt + room.limits.maxTokens).toBeLessThanOrEqual(usable);
        },
      ),
    );
  });
});
