import { type Branch, idAt, NOWHERE } from "./branch.ts";
import type { EntryLookup } from "./entry.ts";
import type { Ledger, ObservationRef, ReflectionRef } from "./ledger.ts";
import type { Observation, Projection, Reflection } from "./ledger-entries.ts";
import { readFolded, readObservation, readReflection } from "./memory-content.ts";
import { recordById } from "./record-index.ts";
import type { Settings } from "./settings.ts";

/** Which records a projection holds, in ledger order, before their text is read. */
export interface Selection {
  readonly observations: readonly ObservationRef[];
  readonly reflections: readonly ReflectionRef[];
}

/** The position of a cut that keeps nothing. */
export const CUT_EVERYTHING = Number.POSITIVE_INFINITY;

/** Full memory: every active observation and every reflection of the branch. */
export function selectFull(ledger: Ledger): Selection {
  return selectThrough(ledger, CUT_EVERYTHING, CUT_EVERYTHING);
}

/**
 * Memory for a compaction that keeps everything from position `cut` on. Normally new observations join what
 * the last full fold had: reflections and drops stay as of that fold, so that the summary's beginning stays
 * the same from one compaction to the next. When the observations so selected reach the pool's maximum (or
 * the policy says always), everything is folded anew.
 */
export function selectForCompaction(
  ledger: Ledger,
  cut: number,
  settings: Pick<Settings, "observationsPoolMaxTokens" | "foldPolicy">,
): Selection & { readonly fullFold: boolean } {
  if (settings.foldPolicy !== "always") {
    const normal = selectThrough(ledger, cut, ledger.fullFoldBoundary);
    const pool = normal.observations.reduce((sum, observation) => sum + observation.tokens, 0);
    if (pool < settings.observationsPoolMaxTokens) return { ...normal, fullFold: false };
  }
  return { ...selectThrough(ledger, cut, cut), fullFold: true };
}

/** Reads the selected records' text; a record whose entry is gone is left out. */
export function resolveSelection(selection: Selection, branch: Branch, lookup: EntryLookup): Projection {
  const observations: Observation[] = [];
  for (const ref of selection.observations) {
    const observation = readObservation(branch, ref, lookup);
    if (observation) observations.push(observation);
  }
  const reflections: Reflection[] = [];
  for (const ref of selection.reflections) {
    const reflection = readReflection(branch, ref, lookup);
    if (reflection) reflections.push(reflection);
  }
  return { observations, reflections };
}

/** Visible memory: what the latest compaction of ours put before the agent. */
export function visibleMemory(branch: Branch, ledger: Ledger, lookup: EntryLookup): Projection {
  const id = ledger.latestFolded ? idAt(branch, ledger.latestFolded.entry) : undefined;
  const details = id === undefined ? undefined : readFolded(lookup(id));
  return { observations: details?.observations ?? [], reflections: details?.reflections ?? [] };
}

/** Whether a compaction that was not ours came after the visible memory, so that the agent no longer sees it. */
export function isVisibleMemoryStale(ledger: Ledger): boolean {
  return ledger.latestFolded !== null && ledger.latestCompaction?.folded === false;
}

/** What `full` has and `visible` lacks, and the other way round. */
export interface Drift {
  observationsToAppear: Observation[];
  observationsToLeave: Observation[];
  reflectionsToAppear: Reflection[];
  reflectionsToLeave: Reflection[];
}

export function diffProjections(visible: Projection, full: Projection): Drift {
  return {
    observationsToAppear: missingFrom(visible.observations, full.observations),
    observationsToLeave: missingFrom(full.observations, visible.observations),
    reflectionsToAppear: missingFrom(visible.reflections, full.reflections),
    reflectionsToLeave: missingFrom(full.reflections, visible.reflections),
  };
}

function selectThrough(ledger: Ledger, cut: number, foldedThrough: number): Selection {
  const hasDrops = ledger.counts.dropped > 0 && foldedThrough !== NOWHERE;
  const observations: ObservationRef[] = [];
  for (const chunk of ledger.observationLog) {
    for (const ref of chunk) {
      if (!liesBefore(ref, cut)) continue;
      if (hasDrops && isDroppedBefore(ledger, ref.id, foldedThrough)) continue;
      observations.push(ref);
    }
  }
  const reflections: ReflectionRef[] = [];
  for (const chunk of ledger.reflectionLog) {
    for (const ref of chunk) if (ref.covers < foldedThrough) reflections.push(ref);
  }
  return { observations, reflections };
}

/**
 * A batch that covers only cut entries lies before the cut. Of a batch that straddles it, each observation
 * with at least one source before the cut does: leaving it out would hide that source until next time.
 */
function liesBefore(ref: ObservationRef, cut: number): boolean {
  return ref.covers < cut || (ref.firstSource !== NOWHERE && ref.firstSource < cut);
}

function isDroppedBefore(ledger: Ledger, id: string, boundary: number): boolean {
  const drop = recordById(ledger.drops, id);
  return drop !== undefined && drop.covers < boundary;
}

function missingFrom<T extends { id: string }>(projection: readonly T[], records: readonly T[]): T[] {
  const ids = new Set(projection.map((record) => record.id));
  return records.filter((record) => !ids.has(record.id));
}
