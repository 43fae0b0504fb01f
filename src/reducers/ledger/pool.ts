import { poolTarget, type Settings } from "../settings.ts";
import type { Ledger, ObservationRecord } from "./ledger.ts";
import { orderedObservations, selectedReflections, selectFull } from "./projections.ts";

/** How well reflections already preserve an observation: review context for the workers, never a quota. */
export type CoverageTier = "none" | "partial" | "strong";

const STRONG_COVERAGE = 2;

/** Each active observation's tier: no reflection cites it, one does, or several do. Replaced ones are out of view. */
export function coverageTiers(ledger: Ledger): Map<string, CoverageTier> {
  const supports = new Map<string, number>();
  for (const { supports: ids } of selectedReflections(selectFull(ledger))) {
    for (const id of ids) supports.set(id, (supports.get(id) ?? 0) + 1);
  }
  return new Map(activeObservations(ledger).map(({ id }) => [id, tierOf(supports.get(id) ?? 0)] as const));
}

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
  if (over <= 0 || ledger.counts.active === 0) return 0;
  const average = ledger.activeTokens / ledger.counts.active;
  return Math.min(ledger.counts.active, Math.ceil(over / average));
}

function tierOf(supportingReflections: number): CoverageTier {
  if (supportingReflections === 0) return "none";
  return supportingReflections >= STRONG_COVERAGE ? "strong" : "partial";
}
