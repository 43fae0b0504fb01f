import { poolTarget, type Settings } from "../settings.ts";
import { isTakenOut } from "./hand/hand.ts";
import type { Ledger, ObservationRecord } from "./ledger.ts";
import { orderedObservations, selectedReflections, selectFull } from "./projections.ts";
import type { Observation, Relevance } from "./records.ts";

/** How well reflections already preserve an observation: review context for the workers, never a quota. */
export type CoverageTier = "none" | "partial" | "strong";

/**
 * Each active observation's tier. None: no reflection cites it. Partial: one does, together with others. Strong: one rests
 * on it alone and so says nothing else, or several cite it. Replaced reflections are out of view.
 */
export function coverageTiers(ledger: Ledger): Map<string, CoverageTier> {
  const cited = new Map<string, CoverageTier>();
  for (const { supports } of selectedReflections(selectFull(ledger))) {
    for (const id of supports) cited.set(id, supports.length === 1 || cited.has(id) ? "strong" : "partial");
  }
  return new Map(activeObservations(ledger).map(({ id }) => [id, cited.get(id) ?? "none"] as const));
}

/**
 * Of the observations that are proposed to be dropped the `maximum` that memory misses least: those that reflections hold
 * best, then the least relevant, then the oldest. Critical ones only where nothing else is left. In the order of the pool,
 * which is oldest first.
 */
export function bestDrops(
  proposed: readonly string[],
  pool: readonly Pick<Observation, "id" | "relevance">[],
  coverage: ReadonlyMap<string, CoverageTier>,
  maximum: number,
): string[] {
  const ids = new Set(proposed);
  const candidates = pool.filter(({ id }) => ids.has(id));
  if (candidates.length <= maximum) return candidates.map(({ id }) => id);
  const rank = ({ id, relevance }: Pick<Observation, "id" | "relevance">) =>
    (relevance === "critical" ? 100 : 0) +
    10 * COVERAGE_ORDER.indexOf(coverage.get(id) ?? "none") +
    RELEVANCE_ORDER.indexOf(relevance);
  const best = new Set(candidates.toSorted((a, b) => rank(a) - rank(b)).slice(0, maximum));
  return candidates.filter((candidate) => best.has(candidate)).map(({ id }) => id);
}

/** What leaves first */
const COVERAGE_ORDER: readonly CoverageTier[] = ["strong", "partial", "none"];
const RELEVANCE_ORDER: readonly Relevance[] = ["low", "medium", "high", "critical"];

/** Those that are not dropped, in the order of what they rest on. */
export function activeObservations(ledger: Ledger): ObservationRecord[] {
  return orderedObservations(selectFull(ledger));
}

export function isPoolOverTarget(ledger: Ledger, settings: Settings): boolean {
  return ledger.activeTokens > poolTarget(settings);
}

/** How many observations one dropper run may drop at most: the tokens over target, as average observations. */
export function maximumDrops(ledger: Ledger, settings: Settings): number {
  const over = ledger.activeTokens - poolTarget(settings);
  const droppable = ledger.counts.active - pinnedCount(ledger);
  if (over <= 0 || droppable === 0) return 0;
  const average = ledger.activeTokens / ledger.counts.active;
  return Math.min(droppable, Math.ceil(over / average));
}

/** How many active observations no worker may drop. */
export function pinnedCount({ observations, hand }: Ledger): number {
  return [...hand.pinned].filter((id) => observations.has(id) && !isTakenOut(hand, id)).length;
}
