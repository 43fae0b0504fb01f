import { type Branch, NOWHERE, tokensAfter, tokensThrough } from "./branch.ts";
import type { Ledger } from "./ledger/ledger.ts";

/** The raw-token clocks of a branch, in source tokens. */
export interface Clocks {
  /** since the furthest observation watermark */
  observe: number;
  /** since the furthest reflection watermark */
  reflect: number;
  /** since the furthest drop watermark; shown, never waited for */
  drop: number;
  /** since the latest compaction's first kept entry, inclusive */
  compact: number;
  /** since the latest compaction entry itself */
  sinceCompaction: number;
}

/** Reads all clocks. O(1) but for the binary search over the context edits in force. */
export function clocksOf(branch: Branch, ledger: Ledger): Clocks {
  const compaction = ledger.latestCompaction;
  const total = tokensThrough(branch, branch.length - 1);
  return {
    observe: tokensAfter(branch, ledger.watermarks.observe),
    reflect: tokensAfter(branch, ledger.watermarks.reflect),
    drop: tokensAfter(branch, ledger.watermarks.drop),
    compact: compaction ? total - tokensThrough(branch, compaction.cut - 1) : total,
    sinceCompaction: tokensAfter(branch, compaction?.entry ?? NOWHERE),
  };
}
