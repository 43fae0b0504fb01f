import { type Branch, idAt, NOWHERE } from "../branch.ts";
import { type EntryLike, type EntryLookup, fieldsOf } from "../entries/entry.ts";
import { asOneLine } from "./memory-id.ts";
import { FOLDED, isObservation, isReflection, type MemoryDetails } from "./records.ts";

/**
 * The text of memory records. The ledger keeps positions only; this reads the records back from the session
 * entries that hold them, which Pi keeps in memory anyway.
 */
export interface Place {
  readonly id: string;
  /** Position of the ledger entry on the branch */
  readonly entry: number;
  /** Index in that entry's list */
  readonly index: number;
}

/** Finds the entry at a position of the branch. */
export type EntryAt = (position: number) => EntryLike | undefined;

export function entriesOf(branch: Branch, lookup: EntryLookup): EntryAt {
  return (position) => lookup(idAt(branch, position) ?? "");
}

/** What every record has, whichever list it stands in. */
interface Noted {
  id: string;
  content: string;
}

/**
 * Reads one record after the other; one whose entry is gone is undefined. They were validated when the ledger was folded,
 * and Pi never changes an entry, so that a record is still itself is all there is to check. A text of several lines is read
 * as one, lest it pass for several records where each is a line.
 */
export function recordReader<T extends Noted>(
  list: "observations" | "reflections",
  entryAt: EntryAt,
): (place: Place) => T | undefined {
  let entry = NOWHERE;
  let records: readonly unknown[] = [];
  return (place) => {
    // Records of one batch follow each other: look its entry up once.
    if (place.entry !== entry) {
      entry = place.entry;
      const written = fieldsOf(fieldsOf(entryAt(entry)).data)[list];
      records = Array.isArray(written) ? written : [];
    }
    const record = records[place.index];
    return fieldsOf(record).id === place.id ? onOneLine(record as T) : undefined;
  };
}

/** The records at these places; one whose entry is gone is left out. */
export function readRecords<T extends Noted>(
  places: readonly Place[],
  list: "observations" | "reflections",
  entryAt: EntryAt,
): T[] {
  return places.map(recordReader<T>(list, entryAt)).filter((record) => record !== undefined);
}

/** The memory that a compaction entry made visible, or undefined when it is not one of ours. */
export function readFolded(entry: EntryLike | undefined): MemoryDetails | undefined {
  const details = fieldsOf(fieldsOf(entry).details);
  if (details.type !== FOLDED || details.version !== 1) return undefined;
  return {
    type: FOLDED,
    version: 1,
    fullFold: details.fullFold === true,
    observations: validRecords(details.observations, isObservation),
    reflections: validRecords(details.reflections, isReflection),
  };
}

function validRecords<T extends Noted>(records: unknown, isValid: (value: unknown) => value is T): T[] {
  return Array.isArray(records) ? records.filter(isValid).map(onOneLine) : [];
}

function onOneLine<T extends Noted>(record: T): T {
  const content = asOneLine(record.content);
  return content === record.content ? record : { ...record, content };
}
