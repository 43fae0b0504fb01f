import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";

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
  /** Ids of records whose entry names a place before itself, each counted once */
  const recorded = (type: "observations" | "reflections") =>
    new Map(
      branch.flatMap(({ ledger }, at) =>
        ledger?.type === type && place(ledger.coversUpToId, at) >= 0
          ? ledger.records.map(({ id, tokens }) => [id, tokens] as const)
          : [],
      ),
    );
  const pool = branch
    .flatMap(({ ledger }) => (ledger?.type === "observations" ? ledger.records : []))
    .reduce((sum, { id, tokens }) => (dropped.has(id) ? sum : sum + tokens), 0);
  const active = [...recorded("observations").keys()].filter((id) => !dropped.has(id)).length;
  const cut = compactedAt < 0 ? 0 : kept < 0 ? compactedAt : kept;
  return {
    observed,
    reflected,
    observe: tokensFrom(observed + 1),
    reflect: tokensFrom(reflected + 1),
    compact: tokensFrom(cut),
    sinceCompaction: tokensFrom(compactedAt + 1),
    total: tokensFrom(0),
    compactedAt,
    pool,
    active,
    reflections: recorded("reflections").size,
    unobservedTail: plainTail(branch, observed, cut),
  };
}

/** What must be kept so that nothing unobserved is cut away, and whether that is more than what is unobserved. */
function plainTail(branch: readonly EntryFact[], observed: number, cut: number) {
  const first = branch.findIndex(({ source }, at) => source && at > observed && at >= cut);
  if (first < 0) return { tokens: 0, splitsBatch: false };
  const start = branch.findLastIndex((_, at) => at <= first && at >= cut && mayCutAt(branch, at));
  if (start < 0) return { tokens: Number.POSITIVE_INFINITY, splitsBatch: false };
  const tokens = branch.slice(start).reduce((sum, entry) => sum + entry.tokens, 0);
  return { tokens, splitsBatch: start < first };
}

function mayCutAt(branch: readonly EntryFact[], at: number): boolean {
  const kind = branch[at]?.kind;
  const next = branch.slice(at).find((entry) => entry.kind === "assistant" || entry.kind === "toolResult");
  return (kind === "user" || kind === "assistant") && next?.kind !== "toolResult";
}
