import { type Branch, idAt, NOWHERE } from "../branch.ts";
import type { EntryLookup } from "../entries/entry.ts";
import type { Settings } from "../settings.ts";
import { isPinned, isTakenOut } from "./hand/hand.ts";
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
 * the same from one compaction to the next. A full fold takes what lies before the cut as it is by now; `isFullFoldDue`
 * says when.
 */
export function selectForCompaction(
  ledger: Ledger,
  cut: number,
  settings: Pick<Settings, "observationsPoolMaxTokens" | "foldPolicy">,
  summaryTokens = Number.POSITIVE_INFINITY,
): Selection & { readonly fullFold: boolean } {
  const normal: Selection = { ledger, cut, foldedThrough: ledger.fullFoldBoundary };
  const full: Selection = { ledger, cut, foldedThrough: cut };
  const fullFold = isFullFoldDue(normal, full, settings, summaryTokens);
  return { ...(fullFold ? full : normal), fullFold };
}

/** A normal fold may have so much of its tokens in what a full fold would change, and no more. */
const STALE_SHARE = 0.1;

/**
 * Whether to fold everything anew: when the pool reaches its maximum, or what a summary may have. By the default policy also at
 * the first fold of ours, before which nothing stands that could stay the same, and when a normal fold would show too much
 * that no longer holds, or hide too much that does.
 */
function isFullFoldDue(
  normal: Selection,
  full: Selection,
  { foldPolicy, observationsPoolMaxTokens }: Pick<Settings, "observationsPoolMaxTokens" | "foldPolicy">,
  summaryTokens: number,
): boolean {
  const { ledger } = normal;
  const maximum = Math.min(observationsPoolMaxTokens, summaryTokens);
  if (foldPolicy === "always" || maximum <= 0) return true;
  if (foldPolicy === "pressure" && !ledger.latestFolded) return true;
  let [shown, stale] = [0, 0];
  const observations = { normal: observationsShown(normal), full: observationsShown(full) };
  for (const record of ledger.observations.values()) {
    const isShown = observations.normal(record);
    if (isShown) shown += record.tokens;
    if (shown >= maximum) return true;
    if (isShown !== observations.full(record)) stale += record.tokens;
  }
  // Before the last full fold's own cut, another one would take back what that has folded.
  if (foldPolicy === "pool" || full.foldedThrough <= normal.foldedThrough) return false;
  const reflections = { normal: reflectionsShown(normal), full: reflectionsShown(full) };
  for (const record of ledger.reflections.values()) {
    const isShown = reflections.normal(record);
    if (isShown) shown += record.tokens;
    if (isShown !== reflections.full(record)) stale += record.tokens;
  }
  return stale > shown * STALE_SHARE;
}

/** The selected observations in the order of recording, one by one: a compaction walks tens of thousands of them. */
export function* selectedObservations(selection: Selection): Generator<ObservationRecord> {
  const isShown = observationsShown(selection);
  for (const record of selection.ledger.observations.values()) if (isShown(record)) yield record;
}

/** The same in the order of what they rest on: the latest source of each, then the order of recording. */
export function orderedObservations(selection: Selection): ObservationRecord[] {
  const records = [...selectedObservations(selection)];
  // Batches follow each other, so next to nothing is out of order: such a list is sorted in about one walk over it.
  return records.sort((a, b) => a.lastSource - b.lastSource);
}

/** In the order of recording. */
export function selectedReflections(selection: Selection): ReflectionRecord[] {
  return [...selection.ledger.reflections.values()].filter(reflectionsShown(selection));
}

/** Which observations a selection shows. What the user says of one holds at once and wherever the cut is. */
function observationsShown({
  ledger,
  cut,
  foldedThrough,
}: Selection): (record: ObservationRecord) => boolean {
  const { hand, observations } = ledger;
  // Behind the last full fold's boundary, nothing may give way to what is not shown.
  const position = Math.min(cut, foldedThrough);
  const isFirm = ({ id }: ObservationRecord) => isPinned(hand, id) && !isTakenOut(hand, id);
  const isDropped = dropsThrough(observations, foldedThrough, {
    isFirm,
    stands: (record) => isFirm(record) || (!isTakenOut(hand, record.id) && liesBefore(record, position)),
  });
  return (record) => {
    if (isTakenOut(hand, record.id)) return false;
    if (isPinned(hand, record.id)) return true;
    return liesBefore(record, cut) && !isDropped(record);
  };
}

function reflectionsShown({ ledger, foldedThrough }: Selection): (record: ReflectionRecord) => boolean {
  const stands = ({ id, watermark }: ReflectionRecord) =>
    !isTakenOut(ledger.hand, id) && watermark <= foldedThrough;
  const isDropped = dropsThrough(ledger.reflections, foldedThrough, { isFirm: () => false, stands });
  return (record) => stands(record) && !isDropped(record);
}

/**
 * Which records count as dropped through a position: those whose drop's watermark is at or before it, and those in whose place
 * another stands by then, whatever its run has read beyond. That other one may have been replaced in its turn, by what stands
 * as well or does not yet. The answers are kept, so that asking of all records walks each chain once.
 *
 * @param is Whether a record stands in the place of others, and whether nothing takes its own
 */
function dropsThrough<T extends Dropped & { readonly id: string }>(
  records: ReadonlyMap<string, T>,
  position: number,
  is: { stands: (record: T) => boolean; isFirm: (record: T) => boolean },
): (record: T) => boolean {
  const replaced = new Map<string, boolean>();
  const nextOf = (record: T) =>
    record.replacedBy === undefined || is.isFirm(record) ? undefined : records.get(record.replacedBy);
  const isReplaced = (record: T): boolean => {
    let next = nextOf(record);
    // Most are replaced once: nothing to keep of them.
    if (next?.replacedBy === undefined) return next !== undefined && is.stands(next);
    const chain: T[] = [];
    next = record;
    for (; next && !replaced.has(next.id); next = nextOf(next)) {
      replaced.set(next.id, false);
      chain.push(next);
    }
    // What others have written may go round in a circle: the link that closes it does not count, so that one of them stays.
    let isGone =
      next !== undefined && !chain.includes(next) && (is.stands(next) || replaced.get(next.id) === true);
    for (const one of chain.reverse()) {
      replaced.set(one.id, isGone);
      isGone ||= is.stands(one);
    }
    return replaced.get(record.id) === true;
  };
  return (record) => {
    if (record.droppedAt === undefined) return false;
    return record.droppedAt <= position || (record.replacedBy !== undefined && isReplaced(record));
  };
}

/** Whether a selection holds any record at all. */
export function isEmptySelection(selection: Selection): boolean {
  return selectedObservations(selection).next().done === true && selectedReflections(selection).length === 0;
}

/** Reads the selected records' text, observations in the order of what they rest on; a record whose entry is gone is left out. */
export function resolveSelection(selection: Selection, branch: Branch, lookup: EntryLookup): Projection {
  const records = {
    observations: orderedObservations(selection),
    reflections: selectedReflections(selection),
  };
  return readProjection(records, entriesOf(branch, lookup));
}

/** The text of these records; one whose entry is gone is left out. */
export function readProjection(
  records: { observations: readonly ObservationRecord[]; reflections: readonly ReflectionRecord[] },
  entryAt: EntryAt,
): Projection {
  return {
    observations: readRecords<Observation>(records.observations, "observations", entryAt),
    reflections: readRecords<Reflection>(records.reflections, "reflections", entryAt),
  };
}

/** Visible memory: what the latest compaction of ours put before the agent, without what the user has made it forget since. */
export function visibleMemory(branch: Branch, ledger: Ledger, lookup: EntryLookup): Projection {
  const id = ledger.latestFolded ? idAt(branch, ledger.latestFolded.entry) : undefined;
  const details = id === undefined ? undefined : readFolded(lookup(id));
  const isVisible = (record: { id: string }) => !ledger.hand.forgotten.has(record.id);
  return {
    observations: details?.observations.filter(isVisible) ?? [],
    reflections: details?.reflections.filter(isVisible) ?? [],
  };
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
