import { type Branch, idAt } from "./branch.ts";
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
interface Place {
  readonly entry: number;
  readonly index: number;
}

export function readObservation(branch: Branch, place: Place, lookup: EntryLookup): Observation | undefined {
  return ObservationSchema.safeParse(readRecord(branch, place, lookup, "observations")).data;
}

export function readReflection(branch: Branch, place: Place, lookup: EntryLookup): Reflection | undefined {
  return ReflectionSchema.safeParse(readRecord(branch, place, lookup, "reflections")).data;
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

function readRecord(branch: Branch, place: Place, lookup: EntryLookup, list: string): unknown {
  const id = idAt(branch, place.entry);
  const records = id === undefined ? undefined : fieldsOf(fieldsOf(lookup(id)).data)[list];
  return Array.isArray(records) ? records[place.index] : undefined;
}

function validRecords<T>(records: unknown, read: (value: unknown) => T | undefined): T[] {
  if (!Array.isArray(records)) return [];
  return records.map(read).filter((record) => record !== undefined);
}
