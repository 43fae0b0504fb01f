import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  COLD_MARGIN,
  type ColdFigures,
  coldFigures,
  coldSaving,
  isWorthCompacting,
} from "../../../src/reducers/engine/cold-cache.ts";
import type { ColdCache } from "../../../src/reducers/engine/engine-state.ts";
import { type SessionState, sessionOf } from "../../../src/reducers/session.ts";
import { DEFAULT_SETTINGS } from "../../../src/reducers/settings.ts";
import { fact, MEMORY } from "../../support/sessions/builders.ts";

const AT = "2026-01-15T09:00:00.000Z";

/** What becomes of a cache that has run out like this. */
function figuresOf(session: SessionState, facts: Partial<ColdCache> = {}): ColdFigures {
  const coldCache = { at: AT, contextTokens: 60_000, keepTokens: 20_000, usdPerMillion: 5, ...facts };
  const made = coldFigures({ session, settings: DEFAULT_SETTINGS, contextWindow: 200_000, coldCache });
  if (!made) throw new Error("it is cold");
  return made;
}

/** A session that remembers something and has so many messages of 10,000 tokens. */
function sessionWith(messages: number, memory = MEMORY) {
  const said = Array.from({ length: messages }, (_, n) => fact.user(`said${n}`, 10_000));
  const last = said.at(-1)?.id ?? "";
  const observed = memory.length === 0 ? [] : [fact.recorded("observer", "seen", last, "0000000000aa:40")];
  return sessionOf([...memory, ...said, ...observed]);
}

const cold = (facts: Partial<ColdFigures>): ColdFigures => ({
  ...{ contextTokens: 100_000, foldedTokens: 40_000, usdPerMillion: 5, ...facts },
});

describe("a cold cache", () => {
  it("is weighed by what a compaction would cut, less the summary", () => {
    const made = figuresOf(sessionWith(5));
    expect(made).toMatchObject({ contextTokens: 60_000, usdPerMillion: 5 });
    // 20,000 stay of 50,000, and the summary comes in the place of the rest.
    expect(made.foldedTokens).toBeGreaterThan(30_000);
    expect(made.foldedTokens).toBeLessThan(31_000);
    expect(isWorthCompacting(made)).toBe(true);
  });

  it.each([
    ["nothing is remembered", sessionWith(5, [])],
    ["all of it is kept", sessionWith(2)],
    ["the session is empty", sessionOf([])],
  ])("saves nothing where %s", (_what, session) => {
    const made = figuresOf(session);
    expect(made.foldedTokens).toBe(60_000);
    expect(isWorthCompacting(made)).toBe(false);
  });

  it.each<[string, Partial<ColdFigures>, boolean]>([
    ["both margins met", {}, true],
    ["exactly five cents and a quarter", { foldedTokens: 75_000, usdPerMillion: 2 }, true],
    ["less than five cents", { usdPerMillion: 0.5 }, false],
    ["less than a quarter", { foldedTokens: 75_001, usdPerMillion: 100 }, false],
    ["no known price", { usdPerMillion: undefined }, false],
    ["nothing to cut", { foldedTokens: 100_000 }, false],
  ])("with %s: %o", (_what, facts, pays) => {
    expect(isWorthCompacting(cold(facts))).toBe(pays);
  });

  it("is never worth a compaction that saves less than the margin, and never costs more after one", () => {
    const facts = fc.record({
      messages: fc.nat(8),
      contextTokens: fc.nat(200_000),
      keepTokens: fc.nat(60_000),
      usdPerMillion: fc.option(fc.double({ min: 0, max: 100, noNaN: true }), { nil: undefined }),
    });
    fc.assert(
      fc.property(facts, ({ messages, contextTokens, keepTokens, usdPerMillion }) => {
        const made = figuresOf(sessionWith(messages), { contextTokens, keepTokens, usdPerMillion });
        expect(made.foldedTokens).toBeLessThanOrEqual(contextTokens);
        expect(made.foldedTokens).toBeGreaterThanOrEqual(0);
        if (!isWorthCompacting(made)) return;
        expect(coldSaving(made)).toBeGreaterThanOrEqual(COLD_MARGIN.usd);
        expect(contextTokens - made.foldedTokens).toBeGreaterThanOrEqual(contextTokens * COLD_MARGIN.share);
      }),
    );
  });
});
