import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bestDrops, type CoverageTier } from "../../../src/reducers/ledger/pool.ts";
import type { Relevance } from "../../../src/reducers/ledger/records.ts";

interface Candidate {
  id: string;
  relevance: Relevance;
  tier: CoverageTier;
}

/** What is taken of a pool, oldest first, of which all is proposed. */
function taken(pool: readonly Candidate[], maximum: number, proposed = pool.map(({ id }) => id)): string[] {
  return bestDrops(proposed, pool, new Map(pool.map(({ id, tier }) => [id, tier])), maximum);
}

const candidate = (id: string, relevance: Relevance, tier: CoverageTier): Candidate => ({
  ...{ id, relevance, tier },
});

describe("of what is proposed to be dropped", () => {
  it("the best go, and not the first", () => {
    const pool = [
      candidate("critical", "critical", "none"),
      candidate("one", "low", "strong"),
      candidate("two", "low", "strong"),
    ];
    expect(taken(pool, 2)).toEqual(["one", "two"]);
  });

  it("what reflections hold goes first, then the least relevant, then the oldest, and critical last", () => {
    const inOrder = [
      candidate("a", "low", "strong"),
      candidate("b", "high", "strong"),
      candidate("c", "low", "partial"),
      candidate("d", "low", "none"),
      candidate("e", "medium", "none"),
      candidate("f", "medium", "none"),
      candidate("g", "critical", "strong"),
      candidate("h", "critical", "none"),
    ];
    const order = [..."gbaehdfc"];
    const pool = order.flatMap((id) => inOrder.find((one) => one.id === id) ?? []);
    for (let maximum = 1; maximum <= pool.length; maximum++) {
      const best = new Set([..."abcdefgh"].slice(0, maximum));
      expect(taken(pool, maximum)).toEqual(order.filter((id) => best.has(id)));
    }
  });

  const pools = fc.uniqueArray(
    fc.record({
      id: fc.integer({ min: 0, max: 999 }).map(String),
      relevance: fc.constantFrom<Relevance>("low", "medium", "high", "critical"),
      tier: fc.constantFrom<CoverageTier>("none", "partial", "strong"),
    }),
    { selector: ({ id }) => id, maxLength: 30 },
  );

  it("no critical one goes while another stays, nothing that was not proposed, and the order of proposals is nothing", () => {
    fc.assert(
      fc.property(
        pools,
        fc.integer({ min: 1, max: 12 }),
        fc.infiniteStream(fc.boolean()),
        (pool, maximum, coins) => {
          const proposed = pool.filter(() => coins.next().value).map(({ id }) => id);
          const gone = taken(pool, maximum, proposed);
          expect(gone).toHaveLength(Math.min(maximum, proposed.length));
          expect(proposed).toEqual(expect.arrayContaining(gone));
          expect(taken(pool, maximum, proposed.toReversed())).toEqual(gone);
          const staying = pool.filter(({ id }) => proposed.includes(id) && !gone.includes(id));
          const going = pool.filter(({ id }) => gone.includes(id));
          for (const stays of staying) {
            for (const goes of going) {
              if (stays.relevance !== "critical") expect(goes.relevance).not.toBe("critical");
              if (stays.relevance === goes.relevance) {
                const tiers = ["strong", "partial", "none"];
                expect(tiers.indexOf(goes.tier)).toBeLessThanOrEqual(tiers.indexOf(stays.tier));
                if (stays.tier === goes.tier) expect(pool.indexOf(goes)).toBeLessThan(pool.indexOf(stays));
              }
            }
          }
        },
      ),
    );
  });
});
