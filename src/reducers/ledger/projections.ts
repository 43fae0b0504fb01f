import { type Branch, idAt, NOWHERE } from "../branch.ts";
import type { EntryLookup } from "../entries/entry.ts";
import type { Settings } from "../settings.ts";
import type { Dropped, Ledger, ObservationRecord, ReflectionRecord } from "./ledger.ts";
import { type EntryAt, entriesOf, readFolded, readRecords } from "./record-text.ts";
import type { Observation, Projection, Reflection } from "./records.ts";

/** Which records a projection holds: a rule, by which they are found in ledger order when somebody asks. */
export interface Selection {
  readonly ledger: Ledger;
  /** Observations of what lies before this position are held, and those whose watermark is this very position. */
  readonly cut: number;
  /** Reflections and drops count whose watermark is at or before this position. */
  readonly foldedThrough: number;
}

/** The position of a cut that keeps nothing. */
export const CUT_EVERYTHING = Number.POSITIVE_INFINITY;

/** Full memory: every active observation and reflection of the branch. */
export function selectFull(ledger: Ledger): Selection {
  return { ledger, cut: CUT_EVERYTHING, foldedThrough: CUT_EVERYTHING };
}

/**
 * Memory for a compaction that keeps everything from position `cut` on. Normally new observations join what
 * the last full fold had: reflections and drops stay as of that fold, so that the summary's beginning stays
 * the same from one compaction to the next. When the observations so selected reach the pool's maximum, or what a summary
 * may have (or the policy says always), everything is folded anew.
 */
export function selectForCompaction(
  ledger: Ledger,
  cut: number,
  settings: Pick<Settings, "observationsPoolMaxTokens" | "foldPolicy">,
  summaryTokens = Number.POSITIVE_INFINITY,
): Selection & { readonly fullFold: boolean } {
  const normal: Selection = { ledger, cut, foldedThrough: ledger.fullFoldBoundary };
  const fullFold =
    settings.foldPolicy === "always" ||
    isPoolAtMaximum(normal, Math.min(settings.observationsPoolMaxTokens, summaryTokens));
  return { ...normal, ...(fullFold && { foldedThrough: cut }), fullFold };
}

/** The selected observations in the order of recording, one by one: a compaction walks tens of thousands of them. */
export function* selectedObservations({
  ledger,
  cut,
  foldedThrough,
}: Selection): Generator<ObservationRecord> {
  for (const record of ledger.observations.values()) {
    if (!isDroppedThrough(record, foldedThrough) && liesBefore(record, cut)) yield record;
  }
}

/** The same in the order of what they rest on: the latest source of each, then the order of recording. */
export function orderedObservations(selection: Selection): ObservationRecord[] {
  const records = [...selectedObservations(selection)];
  // Batches follow each other, so next to nothing is out of order: such a list is sorted in about one walk over it.
  return records.sort((a, b) => a.lastSource - b.lastSource);
}

/** In the order of recording. */
export function selectedReflections({ ledger, foldedThrough }: Selection): ReflectionRecord[] {
  return [...ledger.reflections.values()].filter(
    (record) => record.watermark <= foldedThrough && !isDroppedThrough(record, foldedThrough),
  );
}

function isDroppedThrough({ droppedAt }: Dropped, position: number): boolean {
  return droppedAt !== undefined && droppedAt <= position;
}

/** Whether a selection holds any record at all. */
export function isEmptySelection(selection: Selection): boolean {
  return selectedObservations(selection).next().done === true && selectedReflections(selection).length === 0;
}

/** Reads the selected records' text, observations in the order of what they rest on; a record whose entry is gone is left out. */
export function resolveSelection(selection: Selection, branch: Branch, lookup: EntryLookup): Projection {
  return selectedProjection(selection, entriesOf(branch, lookup));
}

/** The same, from entries by position. */
export function selectedProjection(selection: Selection, entryAt: EntryAt): Projection {
  return {
    observations: readRecords<Observation>(orderedObservations(selection), "observations", entryAt),
    reflections: readRecords<Reflection>(selectedReflections(selection), "reflections", entryAt),
  };
}

/** Visible memory: what the latest compaction of ours put before the agent. */
export function visibleMemory(branch: Branch, ledger: Ledger, lookup: EntryLookup): Projection {
  const id = ledger.latestFolded ? idAt(branch, ledger.latestFolded.entry) : undefined;
  const details = id === undefined ? undefined : readFolded(lookup(id));
  return { observations: details?.observations ?? [], reflections: details?.reflections ?? [] };
}

/** Whether the latest compaction was not ours, so that the agent sees another summary than the memory that there is. */
export function isVisibleMemoryStale({ latestCompaction, latestFolded, counts }: Ledger): boolean {
  const isOther = latestCompaction?.folded === false;
  return isOther && (latestFolded !== null || counts.observations > 0 || counts.reflections > 0);
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

/** Whether the observations that would be selected reach the pool's maximum; not all of them need be looked at. */
function isPoolAtMaximum(selection: Selection, maximum: number): boolean {
  if (maximum <= 0) return true;
  let pool = 0;
  for (const { tokens } of selectedObservations(selection)) {
    pool += tokens;
    if (pool >= maximum) return true;
  }
  return false;
}

/**
 * A batch lies before the cut if its watermark is the cut or lies before it: a marker exactly at the boundary is through it.
 * Of a batch that straddles it, each observation with at least one source before the cut does: leaving it out would hide
 * that source until next time.
 */
function liesBefore({ watermark, firstSource }: ObservationRecord, cut: number): boolean {
  return watermark <= cut || (firstSource !== NOWHERE && firstSource < cut);
}

function missingFrom<T extends { id: string }>(projection: readonly T[], records: readonly T[]): T[] {
  const ids = new Set(projection.map((record) => record.id));
  return records.filter((record) => !ids.has(record.id));
}
