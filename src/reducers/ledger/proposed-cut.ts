import { type Branch, idAt, kindAt, NOWHERE, tokensAt } from "../branch.ts";
import { isValidCutKind } from "../entries/describe-entry.ts";
import type { Ledger } from "./ledger.ts";

/** Pi's default for `compaction.keepRecentTokens`. */
export const KEEP_RECENT_TOKENS = 20_000;

/**
 * Where Pi would cut by itself: it walks back from the tip until it has `keepTokens` source tokens, and keeps from the
 * nearest message at or after that entry which is no tool result. Undefined when all that the last compaction left
 * fits, so that Pi would say that there is nothing to compact.
 */
export function proposedCut(branch: Branch, ledger: Ledger, keepTokens: number): string | undefined {
  const lowest = ledger.latestCompaction?.cut ?? 0;
  let kept = 0;
  let nearest = NOWHERE;
  for (let at = branch.length - 1; at > lowest; at--) {
    kept += tokensAt(branch, at);
    const kind = kindAt(branch, at);
    if (kind !== undefined && isValidCutKind(kind)) nearest = at;
    if (kept >= keepTokens && nearest !== NOWHERE) return idAt(branch, nearest);
  }
  return undefined;
}
