import { type Branch, idAt, NOWHERE } from "./branch.ts";
import { itemAt } from "./chunked-log.ts";
import type { EntryLookup } from "./entry.ts";
import { type Ledger, NOT_DROPPED, type ObservationRef, type ReflectionRef } from "./ledger.ts";
import type { Observation, Projection, Reflection } from "./ledger-entries.ts";
import { type EntryAt, entriesOf, readFolded, readRecords } from "./memory-content.ts";
import { recordAt, recordsOf } from "./record-log.ts";
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
  const fullFold =
    settings.foldPolicy === "always" ||
    isPoolAtMaximum(ledger, cut, ledger.fullFoldBoundary, settings.observationsPoolMaxTokens);
  return { ...selectThrough(ledger, cut, fullFold ? cut : ledger.fullFoldBoundary), fullFold };
}

/** Reads the selected records' text; a record whose entry is gone is left out. */
export function resolveSelection(selection: Selection, branch: Branch, lookup: EntryLookup): Projection {
  return readSelection(selection, entriesOf(branch, lookup));
}

/** The same, which shows each record to a reader on the way. */
export function readSelection(
  { observations, reflections }: Selection,
  entryAt: EntryAt,
  reader: { observation?: (record: Observation) => void; reflection?: (record: Reflection) => void } = {},
): Projection {
  return {
    observations: readRecords<Observation>(observations, "observations", entryAt, reader.observation),
    reflections: readRecords<Reflection>(reflections, "reflections", entryAt, reader.reflection),
  };
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
  const observations: ObservationRef[] = [];
  forEachBefore(ledger, cut, foldedThrough, (ref) => {
    observations.push(ref);
    return true;
  });
  const reflections: ReflectionRef[] = [];
  for (const ref of recordsOf(ledger.reflections)) if (ref.covers < foldedThrough) reflections.push(ref);
  return { observations, reflections };
}

/** Whether the observations that would be selected reach the pool's maximum. */
function isPoolAtMaximum(ledger: Ledger, cut: number, foldedThrough: number, maximum: number): boolean {
  let pool = 0;
  forEachBefore(ledger, cut, foldedThrough, (ref) => {
    pool += ref.tokens;
    return pool < maximum;
  });
  return pool >= maximum;
}

/** Visits the observations before `cut` that no drop before `foldedThrough` took away, until `visit` says false. */
function forEachBefore(
  ledger: Ledger,
  cut: number,
  foldedThrough: number,
  visit: (ref: ObservationRef) => boolean,
): void {
  const { observations, dropLog } = ledger;
  // A plain loop: a compaction walks tens of thousands of records here while the user waits.
  for (let place = 0; place < observations.length; place++) {
    const ref = recordAt(observations, place);
    if (!ref || !liesBefore(ref, cut) || (itemAt(dropLog, place) ?? NOT_DROPPED) < foldedThrough) continue;
    if (!visit(ref)) return;
  }
}

/**
 * A batch that covers only cut entries lies before the cut. Of a batch that straddles it, each observation
 * with at least one source before the cut does: leaving it out would hide that source until next time.
 */
function liesBefore(ref: ObservationRef, cut: number): boolean {
  return ref.covers < cut || (ref.firstSource !== NOWHERE && ref.firstSource < cut);
}

function missingFrom<T extends { id: string }>(projection: readonly T[], records: readonly T[]): T[] {
  const ids = new Set(projection.map((record) => record.id));
  return records.filter((record) => !ids.has(record.id));
}
