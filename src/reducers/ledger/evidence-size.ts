import { type Branch, kindAt, NOWHERE, positionOf, tokensAt } from "../branch.ts";
import { messageOf } from "../entries/entry.ts";
import { compact } from "../words.ts";
import type { Ledger } from "./ledger.ts";
import type { EntryAt } from "./record-text.ts";
import type { Projection } from "./records.ts";

/** What stands behind some records, by id, as a line of memory says it: ` · file, 6.8k` */
export type EvidenceSizes = ReadonlyMap<string, string>;

/** Source tokens from which on it is worth saying how much stands behind a line */
const LARGE = 2000;
/** Most estimated tokens of one such hint */
export const HINT_TOKENS = 9;

/**
 * How much stands behind each record of which that is much, after the kind of the largest source: the source tokens of an
 * observation's sources, and of a reflection those of the first source of each observation that it rests on, which needs no text
 * read: a compaction does not wait.
 */
export function evidenceSizes(
  branch: Branch,
  ledger: Ledger,
  { observations, reflections }: Projection,
  entryAt: EntryAt,
): EvidenceSizes {
  const sizes = new Map<string, string>();
  const add = (id: string, positions: readonly number[]) => {
    const hint = hintOf(branch, positions, entryAt);
    if (hint !== "") sizes.set(id, hint);
  };
  for (const { id, sourceEntryIds } of observations) {
    add(
      id,
      sourceEntryIds.map((source) => positionOf(branch, source)),
    );
  }
  for (const { id, supportingObservationIds } of reflections) {
    add(
      id,
      supportingObservationIds.map((support) => ledger.observations.get(support)?.firstSource ?? NOWHERE),
    );
  }
  return sizes;
}

function hintOf(branch: Branch, positions: readonly number[], entryAt: EntryAt): string {
  let total = 0;
  let largest = { position: NOWHERE, tokens: 0 };
  for (const position of new Set(positions)) {
    if (position === NOWHERE) continue;
    const tokens = tokensAt(branch, position);
    total += tokens;
    if (tokens > largest.tokens) largest = { position, tokens };
  }
  return total < LARGE ? "" : ` · ${kindOf(branch, largest.position, entryAt)}, ${compact(total)}`;
}

function kindOf(branch: Branch, position: number, entryAt: EntryAt): string {
  const kind = kindAt(branch, position);
  if (kind !== "toolResult") return kind === "bash" ? "output" : "text";
  const entry = entryAt(position);
  return entry && messageOf(entry).toolName === "read" ? "file" : "output";
}
