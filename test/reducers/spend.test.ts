import { describe, expect, it } from "vitest";
import { describeEntry } from "../../src/reducers/entries/describe-entry.ts";
import type { EntryFact } from "../../src/reducers/entries/entry-fact.ts";
import { clocksOfSession, extendSession, sessionOf } from "../../src/reducers/session.ts";
import { isPartial, totalOf } from "../../src/reducers/spend.ts";
import { moneyWords, spendRows } from "../../src/reducers/spend-words.ts";

function fact(
  id: string,
  customType: string,
  data: unknown,
  timestamp = "2026-03-04T12:00:00.000Z",
): EntryFact {
  const entry = { type: "custom", id, parentId: null, timestamp, customType, data };
  return describeEntry(entry, () => undefined);
}

const usage = { input: 100, output: 10, cacheRead: 20, cacheWrite: 3 };
const cost = (id: string, more: object = {}, timestamp?: string) =>
  fact(
    id,
    "om.cost",
    { worker: "observer", model: "p/m", usage, cost: 0.25, runId: "r", ...more },
    timestamp,
  );
const user: EntryFact = { id: "u", kind: "user", tokens: 50, source: true };
const observed: EntryFact = {
  id: "o",
  kind: "ledger",
  tokens: 0,
  ledger: {
    type: "observations",
    coversUpToId: "u",
    records: [{ id: "0123456789ab", tokens: 5, relevance: "high", sources: ["u"], index: 0 }],
  },
};

describe("what a branch's memory took", () => {
  it("is summed by worker and by day, since the first entry", () => {
    const facts = [cost("c1"), cost("c2", { worker: "dropper" }), cost("c3", {}, "2026-03-09T12:00:00.000Z")];
    const { spend } = sessionOf(facts).ledger;
    expect(totalOf(spend)).toEqual({ runs: 3, input: 369, output: 30, usd: 0.75, unpriced: 0 });
    expect(spendRows(spend).map(({ name }) => name)).toEqual([
      "in all",
      "observer",
      "dropper",
      "2026-03-04",
      "2026-03-09",
    ]);
    expect(spendRows(spend)[0]?.value).toBe("$0.7500 (3 runs, 369 in, 30 out)");
  });

  it("disturbs no clock, no watermark and no count of what is ignored", () => {
    const before = sessionOf([user, observed]);
    const after = extendSession(before, [cost("c")]);
    expect(clocksOfSession(after)).toEqual(clocksOfSession(before));
    expect({ ...after.ledger, spend: null }).toEqual({ ...before.ledger, spend: null });
  });

  it("is whole when each run that recorded said what it took, and partial otherwise", () => {
    const spendOf = (...facts: EntryFact[]) => sessionOf([user, ...facts]).ledger.spend;
    expect(isPartial(spendOf(observed, cost("c")))).toBe(false);
    expect(isPartial(spendOf(observed))).toBe(true);
    expect(isPartial(spendOf(observed, { ...user, id: "u2" }, cost("c")))).toBe(true);
    expect(spendRows(spendOf(observed, { ...user, id: "u2" }, cost("c")))[0]?.value).toMatch(/^≥ \$0\.2500/);
  });

  it("is never $0 where no price is known", () => {
    const unpriced = cost("c1", { cost: undefined });
    const words = (...facts: EntryFact[]) => moneyWords(totalOf(sessionOf(facts).ledger.spend));
    expect(words()).toBe("$0.0000");
    expect(words(unpriced)).toBe("—");
    expect(words(unpriced, cost("c2"))).toBe("≥ $0.2500");
    expect(spendRows(sessionOf([user, observed]).ledger.spend)[0]?.value).toMatch(/^—/);
  });

  it("makes nothing of an entry that others damaged", () => {
    expect(cost("c", { worker: "nobody" })).toEqual({ id: "c", kind: "other", tokens: 0 });
    expect(cost("c", { usage: { input: "many", output: -1 }, cost: Number.NaN }).cost).toEqual({
      worker: "observer",
      day: "2026-03-04",
      input: 0,
      output: 0,
      usd: 0,
    });
  });
});
