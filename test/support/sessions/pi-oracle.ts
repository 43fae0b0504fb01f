import {
  buildSessionProjection,
  convertToLlm,
  estimateTokens,
  type SessionEntry,
} from "@earendil-works/pi-coding-agent";
// Pi does not export how it proposes a cut to `session_before_compact`.
import { prepareCompaction } from "../../../node_modules/@earendil-works/pi-coding-agent/dist/core/compaction/compaction.js";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";

/** A source entry as Pi sees it. */
export interface PiSource {
  id: string;
  /** Pi's estimate */
  tokens: number;
}

/** Our entries as Pi's types have them; Pi itself trusts its session files no less. */
export function asPi(entries: readonly EntryLike[]): SessionEntry[] {
  return entries as SessionEntry[];
}

/** The entries of a branch that Pi puts before the model as conversation, after its latest compaction. */
export function sourcesInContext(entries: readonly EntryLike[]): PiSource[] {
  return buildSessionProjection(asPi(entries)).entries.flatMap(({ sourceEntry, messages }) => {
    if (sourceEntry.type === "compaction") return [];
    const spoken = messages.filter(({ role }) => role !== "system");
    if (convertToLlm(spoken).length === 0) return [];
    return [
      { id: sourceEntry.id, tokens: spoken.reduce((sum, message) => sum + estimateTokens(message), 0) },
    ];
  });
}

/** The same for the whole branch, as if nothing had ever been compacted. */
export function sourcesOf(entries: readonly EntryLike[]): PiSource[] {
  const kept = entries.filter(({ type }) => type !== "compaction");
  return sourcesInContext(kept.map((entry, at) => ({ ...entry, parentId: kept[at - 1]?.id ?? null })));
}

/** Where Pi would cut, or undefined when it finds nothing to compact. */
export function proposedCut(entries: readonly EntryLike[], keepRecentTokens: number): string | undefined {
  const settings = { enabled: true, reserveTokens: 16_384, keepRecentTokens };
  return prepareCompaction(asPi(entries), settings)?.firstKeptEntryId;
}
