import type { EntryFact } from "../../src/reducers/entry-fact.ts";

/** Whatever can be read off a branch by going through it from its root: no index, no fold, no shortcut. */
export function plainClocks(branch: readonly EntryFact[]) {
  const place = (id: string, before: number) => {
    const at = branch.findIndex((entry) => entry.id === id);
    return at < before ? at : -1;
  };
  const tokensFrom = (start: number) => branch.slice(start).reduce((sum, { tokens }) => sum + tokens, 0);
  const furthest = (type: string) =>
    branch.reduce(
      (far, { ledger }, at) => (ledger?.type === type ? Math.max(far, place(ledger.coversUpToId, at)) : far),
      -1,
    );
  const observed = furthest("observations");
  const reflected = furthest("reflections");
  const compactedAt = branch.findLastIndex(({ compaction }) => compaction !== undefined);
  const kept = place(branch[compactedAt]?.compaction?.firstKeptEntryId ?? "", compactedAt);
  const dropped = new Set(
    branch.flatMap(({ ledger }) => (ledger?.type === "drops" ? ledger.observationIds : [])),
  );
  const pool = branch
    .flatMap(({ ledger }) => (ledger?.type === "observations" ? ledger.records : []))
    .reduce((sum, { id, tokens }) => (dropped.has(id) ? sum : sum + tokens), 0);
  return {
    observed,
    reflected,
    observe: tokensFrom(observed + 1),
    reflect: tokensFrom(reflected + 1),
    compact: tokensFrom(compactedAt < 0 ? 0 : kept < 0 ? compactedAt : kept),
    sinceCompaction: tokensFrom(compactedAt + 1),
    total: tokensFrom(0),
    compactedAt,
    pool,
  };
}
