import { describe, expect, it } from "vitest";
import { unobservedTail } from "../../src/reducers/compaction-plan.ts";
import type { EntryFact, EntryKind } from "../../src/reducers/entry-fact.ts";
import { sessionOf } from "../../src/reducers/session-state.ts";

/** A branch of entries of 100 tokens each; `observed` names the last one that observations cover. */
function tail(kinds: EntryKind[], { observed, cut }: { observed?: number; cut?: number } = {}) {
  const facts: EntryFact[] = kinds.map((kind, n) => ({ id: `e${n}`, kind, tokens: 100, source: true }));
  if (observed !== undefined) {
    const ledger = { type: "observations", coversUpToId: `e${observed}`, records: [] } as const;
    facts.push({ id: "o", kind: "ledger", tokens: 0, ledger: { ...ledger, records: [] } });
  }
  if (cut !== undefined) {
    const compaction = { firstKeptEntryId: `e${cut}`, folded: false, fullFold: false };
    facts.push({ id: "c", kind: "compaction", tokens: 0, compaction });
  }
  const { branch, ledger } = sessionOf(facts);
  return unobservedTail(branch, ledger);
}

describe("the unobserved tail", () => {
  it("is nothing when all is observed", () => {
    expect(tail(["user", "assistant"], { observed: 1 })).toEqual({ tokens: 0, splitsBatch: false });
    expect(tail([])).toEqual({ tokens: 0, splitsBatch: false });
  });

  it("begins with the first unobserved entry where a cut may stand before it", () => {
    expect(tail(["user", "assistant", "user"])).toEqual({ tokens: 300, splitsBatch: false });
    expect(tail(["user", "assistant", "user"], { observed: 0 })).toEqual({ tokens: 200, splitsBatch: false });
  });

  it("begins with the call when a batch of tool results is observed in part", () => {
    const batch: EntryKind[] = ["user", "assistant", "toolResult", "toolResult", "assistant"];
    expect(tail(batch, { observed: 2 })).toEqual({ tokens: 400, splitsBatch: true });
    expect(tail(batch, { observed: 3 })).toEqual({ tokens: 100, splitsBatch: false });
  });

  it("does not reach behind an earlier compaction", () => {
    expect(tail(["user", "assistant", "user"], { cut: 2 })).toEqual({ tokens: 100, splitsBatch: false });
    const results: EntryKind[] = ["assistant", "toolResult", "toolResult"];
    expect(tail(results, { observed: 1, cut: 1 })).toEqual({ tokens: Infinity, splitsBatch: false });
  });
});
