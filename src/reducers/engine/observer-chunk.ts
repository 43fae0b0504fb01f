import { NOWHERE, nextSource, positionOf, tokensAfter, tokensBetween } from "../branch.ts";
import type { EngineState } from "./engine-state.ts";

/** Where an observer run begins to read, and how much it may. */
export interface ObserverChunk {
  /** Position of its first entry; `NOWHERE` when every source entry is observed. */
  start: number;
  maxTokens: number;
}

/** What the lane says of a run that it starts. */
export interface ChunkRequest {
  /** Failures in a row before it */
  failures: number;
  /** Last entry of a range that was judged to hold nothing worth recording */
  emptyUpToId: string | null;
}

const SMALLEST_CHUNK = 500;

/**
 * What the next observer run reads, when a chunk may have `whole` tokens at most. Each failure in a row halves it: where the
 * prompt was too long, or the reply, that mends itself. A range that was judged empty is read again together with what came
 * after it, as long as both fit; when they do not, reading goes on behind it, or an empty beginning would be read for ever.
 * But a range that has changed since, as when an entry was put back, has not been judged.
 */
export function observerChunk(
  { session: { branch, ledger }, emptyRange }: EngineState,
  { failures, emptyUpToId }: ChunkRequest,
  whole: number,
): ObserverChunk {
  const maxTokens = Math.max(Math.min(whole, SMALLEST_CHUNK), Math.floor(whole / 2 ** failures));
  const observed = ledger.watermarks.observe;
  const judged = emptyUpToId === null ? NOWHERE : positionOf(branch, emptyUpToId);
  const isChanged =
    emptyRange?.upToId === emptyUpToId && emptyRange?.tokens !== tokensBetween(branch, observed, judged);
  const skipsJudged = judged > observed && !isChanged && tokensAfter(branch, observed) > maxTokens;
  return { start: nextSource(branch, skipsJudged ? judged : observed), maxTokens };
}

/** So many thresholds of unobserved tokens are no ordinary delay. */
const FAR_BEHIND = 4;

/** Unobserved source tokens of an observer that is far behind, as when its model reads less than is said; else 0. */
export function backlogOf({ session: { branch, ledger }, settings }: EngineState): number {
  const unobserved = tokensAfter(branch, ledger.watermarks.observe);
  return !settings.passive && unobserved >= FAR_BEHIND * settings.observeAfterTokens ? unobserved : 0;
}
