import { positionOf, tokensThrough } from "../branch.ts";
import { planCut } from "../ledger/compaction-plan.ts";
import { foldRoom } from "../ledger/fold-room.ts";
import { proposedCut } from "../ledger/proposed-cut.ts";
import { hasMemory, type SessionState } from "../session.ts";
import type { Settings } from "../settings.ts";
import type { EngineState } from "./engine-state.ts";

/** What going on costs when the provider's prompt cache holds nothing of the context any more. */
export interface ColdFigures {
  /** Tokens that the next request has to have read anew */
  readonly contextTokens: number;
  /** The same after a compaction made now; as many where there is nothing to fold or to cut */
  readonly foldedTokens: number;
  /** USD per million of them; undefined where Pi knows no price */
  readonly usdPerMillion: number | undefined;
}

/**
 * What a compaction must save of the next request to be made for its sake: the agent loses the wording of what is cut, so
 * a little is not worth it. The dollars are those from which Pi itself refreshes a cache.
 */
export const COLD_MARGIN = { share: 0.25, usd: 0.05 };

/** What a cold context costs and would after a compaction, from what Pi says of it and what memory holds; null while it is not cold. */
export function coldFigures({ session, settings, contextWindow, coldCache }: Remembered): ColdFigures | null {
  if (!coldCache) return null;
  const { contextTokens, keepTokens, usdPerMillion } = coldCache;
  const saved = savedTokens(session, settings, contextWindow, keepTokens);
  const foldedTokens = Math.min(contextTokens, Math.max(0, contextTokens - saved));
  return { contextTokens, foldedTokens, usdPerMillion };
}

type Remembered = Pick<EngineState, "session" | "settings" | "contextWindow" | "coldCache">;

/**
 * Tokens by which a compaction would make the context smaller. The summary that it replaces is not taken off: how large that is
 * no entry says, so the saving is understated by it.
 */
function savedTokens(
  session: SessionState,
  settings: Settings,
  contextWindow: number | undefined,
  keepTokens: number,
): number {
  const { branch, ledger } = session;
  const firstKeptEntryId = hasMemory(session) ? proposedCut(branch, ledger, keepTokens) : undefined;
  if (firstKeptEntryId === undefined) return 0;
  const room = foldRoom(settings, { contextWindow });
  const { cut, summaryTokens } = planCut(branch, ledger, { firstKeptEntryId, room }, settings);
  const alreadyCut = ledger.latestCompaction?.cut ?? 0;
  const cutTokens = tokensThrough(branch, cut - 1) - tokensThrough(branch, alreadyCut - 1);
  const summary = Math.min(summaryTokens, ledger.activeTokens + ledger.reflectionTokens);
  return positionOf(branch, firstKeptEntryId) <= alreadyCut ? 0 : cutTokens - summary;
}

/** USD that a compaction saves of the next request; undefined without a price. */
export function coldSaving({ contextTokens, foldedTokens, usdPerMillion }: ColdFigures): number | undefined {
  return usdPerMillion === undefined ? undefined : priceOf(contextTokens - foldedTokens, usdPerMillion);
}

/** Whether going on cold costs more than after a compaction by the margin. Without a price nobody can say so. */
export function isWorthCompacting(cold: ColdFigures): boolean {
  const saving = coldSaving(cold) ?? 0;
  const saved = cold.contextTokens - cold.foldedTokens;
  return saving >= COLD_MARGIN.usd && saved >= cold.contextTokens * COLD_MARGIN.share;
}

/** USD of so many tokens */
export function priceOf(tokens: number, usdPerMillion: number): number {
  return (tokens * usdPerMillion) / 1_000_000;
}
