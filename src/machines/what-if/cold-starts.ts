import {
  type ColdFigures,
  coldFigures,
  isWorthCompacting,
  priceOf,
} from "../../reducers/engine/cold-cache.ts";
import type { ReplayStep } from "../recording/replay-step.ts";

/** What requests cost that found nothing of their context in the provider's prompt cache, and what compacting first would save. */
export interface ColdStarts {
  /** Prompts that came after the cache had run out */
  readonly count: number;
  /** Those of them whose price is not known; the sums leave them out */
  readonly unpriced: number;
  /** USD for reading their context anew, as it would be without a compaction for the cache's sake */
  readonly usd: number;
  /** USD of that which `idleCompaction: "auto"` would have saved, or has */
  readonly savedUsd: number;
  /** Compactions by which it would have */
  readonly compactions: number;
}

/** Counts cold starts in recordings, step by step as they are replayed. */
export function createColdStarts(): {
  take(step: Pick<ReplayStep, "event" | "state">): void;
  sum(): ColdStarts;
} {
  let sum: ColdStarts = { count: 0, unpriced: 0, usd: 0, savedUsd: 0, compactions: 0 };
  /** The cache that has run out, while nobody has gone on */
  let cold: ColdFigures | undefined;
  /** Tokens by which the context would be smaller now, had it been compacted when that was worth it */
  let saved = 0;
  /** The recorded session itself compacted at this pause. */
  let isCompacted = false;

  function forget(): void {
    cold = undefined;
    saved = 0;
    isCompacted = false;
  }

  function start({ contextTokens, foldedTokens, usdPerMillion }: ColdFigures): void {
    if (usdPerMillion === undefined) {
      sum = { ...sum, count: sum.count + 1, unpriced: sum.unpriced + 1 };
      return;
    }
    // A context that had been compacted before has less left to be cut.
    const left = { contextTokens: contextTokens - saved, foldedTokens, usdPerMillion };
    const isWorthIt = isWorthCompacting(left);
    if (isWorthIt) saved = contextTokens - foldedTokens;
    sum = {
      ...sum,
      count: sum.count + 1,
      usd: sum.usd + priceOf(contextTokens, usdPerMillion),
      savedUsd: sum.savedUsd + priceOf(Math.min(saved, contextTokens), usdPerMillion),
      compactions: sum.compactions + (isWorthIt ? 1 : 0),
    };
  }

  return {
    take({ event, state }) {
      switch (event.type) {
        case "cache.expired":
          cold = coldFigures(state) ?? undefined;
          break;
        case "agent.started":
          if (cold) start(cold);
          cold = undefined;
          if (isCompacted) forget();
          break;
        case "compaction.finished":
          // One for the cache's sake is what the next start saves by; after any other the context is no longer what it was.
          if (cold && state.settings.idleCompaction === "auto") isCompacted = true;
          else forget();
          break;
        case "session.opened":
        case "branch.replaced":
          forget();
          break;
        default:
      }
    },
    sum: () => sum,
  };
}
