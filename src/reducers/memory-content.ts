import { type Branch, idAt, NOWHERE } from "./branch.ts";
import { type EntryLike, type EntryLookup, fieldsOf } from "./entry.ts";
import {
  FOLDED,
  type MemoryDetails,
  type Observation,
  ObservationSchema,
  type Reflection,
  ReflectionSchema,
} from "./ledger-entries.ts";

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

export function readObservation(branch: Branch, place: Place, lookup: EntryLookup): Observation | undefined {
  return readRecords<Observation>([place], "observations", branch, lookup)[0];
}

export function readReflection(branch: Branch, place: Place, lookup: EntryLookup): Reflection | undefined {
  return readRecords<Reflection>([place], "reflections", branch, lookup)[0];
}

/**
 * The records at these places; one whose entry is gone is left out. They were validated when the ledger was folded, and
 * Pi never changes an entry, so that a record is still itself is all there is to check: a compaction reads tens of
 * thousands of them at once.
 */
export function readRecords<T extends { id: string }>(
  places: readonly Place[],
  list: "observations" | "reflections",
  branch: Branch,
  lookup: EntryLookup,
): T[] {
  const found: T[] = [];
  let entry = NOWHERE;
  let records: unknown;
  for (const place of places) {
    // Records of one batch follow each other: look its entry up once.
    if (place.entry !== entry) {
      entry = place.entry;
      records = fieldsOf(fieldsOf(lookup(idAt(branch, entry) ?? "")).data)[list];
    }
    const record: unknown = Array.isArray(records) ? records[place.index] : undefined;
    if (fieldsOf(record).id === place.id) found.push(record as T);
  }
  return found;
}

/** The memory that a compaction entry made visible, or undefined when it is not one of ours. */
export function readFolded(entry: EntryLike | undefined): MemoryDetails | undefined {
  const details = fieldsOf(fieldsOf(entry).details);
  if (details.type !== FOLDED || details.version !== 1) return undefined;
  return {
    type: FOLDED,
    version: 1,
    fullFold: details.fullFold === true,
    observations: validRecords(details.observations, (value) => ObservationSchema.safeParse(value).data),
    reflections: validRecords(details.reflections, (value) => ReflectionSchema.safeParse(value).data),
  };
}

function validRecords<T>(records: unknown, read: (value: unknown) => T | undefined): T[] {
  if (!Array.isArray(records)) return [];
  return records.map(read).filter((record) => record !== undefined);
}
