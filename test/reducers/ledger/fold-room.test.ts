import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateTextTokens } from "../../../src/reducers/entries/tokens.ts";
import { fitted, foldRoom, summaryRoom } from "../../../src/reducers/ledger/fold-room.ts";
import { RELEVANCES } from "../../../src/reducers/ledger/records.ts";
import { renderSummary } from "../../../src/reducers/ledger/summary.ts";
import { DEFAULT_SETTINGS } from "../../../src/reducers/settings.ts";
import { observationOf, reflectionOf } from "../../support/sessions/builders.ts";

describe("the room for a fold", () => {
  const room = (limits: Parameters<typeof foldRoom>[1], settings = {}) =>
    foldRoom({ ...DEFAULT_SETTINGS, ...settings }, limits);

  it("is 15 % of the window for the summary, or the pool's target, or what the settings say", () => {
    expect(room({ contextWindow: 200_000 }).summary).toBe(30_000);
    expect(room({ contextWindow: 32_000 }).summary).toBe(10_000);
    expect(room({}).summary).toBe(19_200);
    expect(room({ contextWindow: 1e12 })).toEqual(room({}));
    expect(room({ contextWindow: 200_000 }, { summaryMaxTokens: 5000 }).summary).toBe(5000);
  });

  it("leaves Pi's reserve, what every request begins with, and a tenth to work in", () => {
    const limits = { contextWindow: 32_000, reserveTokens: 8000, overhead: 4000 };
    expect(room(limits).together).toBe(17_600);
    expect(summaryRoom(room(limits), 8000)).toBe(9600);
    expect(summaryRoom(room(limits), 3000)).toBe(10_000);
  });

  it("is never nothing, whatever is kept and whatever Pi reserves", () => {
    expect(summaryRoom(room({ contextWindow: 8192, reserveTokens: 16_384 }), 20_000)).toBe(500);
    expect(room({ contextWindow: 8192, reserveTokens: 16_384 }).together).toBe(3686);
  });
});

describe("a projection that has no room for all of its lines", () => {
  const observation = fc.record({
    relevance: fc.constantFrom(...RELEVANCES),
    length: fc.integer({ min: 1, max: 60 }),
    isCovered: fc.boolean(),
  });
  const memory = fc.array(observation, { minLength: 1, maxLength: 40 }).map((plans) => {
    const observations = plans.map(({ relevance, length }, n) =>
      observationOf(`${n} ${"word ".repeat(length)}`, { relevance }),
    );
    const covered = observations.filter((_, n) => plans[n]?.isCovered).map(({ id }) => id);
    return { observations, reflections: covered.length > 0 ? [reflectionOf("It holds.", covered)] : [] };
  });

  it("fits the room, keeps the order, and says how many lines are left out", () => {
    fc.assert(
      fc.property(memory, fc.integer({ min: 300, max: 3000 }), (projection, maxTokens) => {
        const { leftOut, ...fit } = fitted(projection, maxTokens);
        const all = projection.observations.length + projection.reflections.length;
        expect(fit.observations.length + fit.reflections.length + leftOut).toBe(all);
        expect(fit.observations).toEqual(
          projection.observations.filter((one) => fit.observations.includes(one)),
        );
        expect(estimateTextTokens(renderSummary(fit, { leftOut }))).toBeLessThanOrEqual(maxTokens);
      }),
    );
  });

  it("leaves out what is less relevant first, of that what is covered, of that the oldest; and no line too many", () => {
    fc.assert(
      fc.property(memory, fc.integer({ min: 300, max: 3000 }), (projection, maxTokens) => {
        const { observations, reflections, leftOut } = fitted(projection, maxTokens);
        const covered = projection.reflections.flatMap(({ supportingObservationIds: ids }) => ids);
        const kept = new Set(observations);
        const weight = (at: number) => {
          const { relevance, id } = projection.observations[at] ?? observationOf("");
          const rank = ["low", "medium", "high", "critical"].indexOf(relevance) * 2;
          return (rank + (covered.includes(id) ? 0 : 1)) * 1000 + at;
        };
        const places = projection.observations.map((one, at) => ({
          isKept: kept.has(one),
          weight: weight(at),
        }));
        const lightestKept = Math.min(
          ...places.filter(({ isKept }) => isKept).map((one) => one.weight),
          Infinity,
        );
        const heaviestLeft = Math.max(...places.filter(({ isKept }) => !isKept).map((one) => one.weight), -1);
        expect(heaviestLeft).toBeLessThan(lightestKept);
        // A reflection outlives every observation that is not critical.
        if (reflections.length < projection.reflections.length)
          expect(lightestKept).toBeGreaterThanOrEqual(6000);
        if (leftOut === 0) expect({ observations, reflections }).toEqual(projection);
      }),
    );
  });

  it("believes no count that says less than the text has", () => {
    const observations = Array.from({ length: 50 }, (_, n) =>
      observationOf(`${n} ${"word ".repeat(400)}`, { tokenCount: 0 }),
    );
    expect(fitted({ observations, reflections: [] }, 5000).observations.length).toBeLessThan(10);
  });
});
