import { NOWHERE } from "../branch.ts";
import { findPosition, indexPositions, type PositionIndex } from "../position-index.ts";

/**
 * Memory records in the order of recording, found by id. An immutable value whose versions share one append-only list, as
 * those of a branch do: each sees its own first `length` records, so one more costs the same at any memory size.
 */
export interface RecordLog<T extends Identified> {
  readonly length: number;
  readonly shared: { readonly records: T[]; readonly ids: string[]; readonly positions: PositionIndex };
}

interface Identified {
  readonly id: string;
}

export function emptyRecords<T extends Identified>(): RecordLog<T> {
  return logOf<T>([]);
}

/** The log with one more record, of an id that it does not hold. */
export function withRecord<T extends Identified>(log: RecordLog<T>, record: T): RecordLog<T> {
  // Only the newest version may write to the list; others take a copy of what they see.
  const { shared, length } = log.shared.records.length === log.length ? log : logOf(recordsOf(log));
  shared.records.push(record);
  shared.ids.push(record.id);
  return { shared, length: length + 1 };
}

/** The log with other records, by id, in place of those that it holds. Costs a copy of the log. */
export function withRecordsReplaced<T extends Identified>(
  log: RecordLog<T>,
  records: ReadonlyMap<string, T>,
): RecordLog<T> {
  return logOf(recordsOf(log).map((known) => records.get(known.id) ?? known));
}

/** Where the record with this id stands, or `NOWHERE`. */
export function placeOf(log: RecordLog<Identified>, id: string): number {
  if (log.length === 0) return NOWHERE;
  const place = findPosition(log.shared.positions, id);
  return place !== undefined && place < log.length ? place : NOWHERE;
}

export function recordById<T extends Identified>(log: RecordLog<T>, id: string): T | undefined {
  const place = placeOf(log, id);
  return place === NOWHERE ? undefined : log.shared.records[place];
}

export function recordAt<T extends Identified>(log: RecordLog<T>, place: number): T | undefined {
  return place < log.length ? log.shared.records[place] : undefined;
}

/** All records, oldest first. */
export function recordsOf<T extends Identified>(log: RecordLog<T>): T[] {
  return log.shared.records.slice(0, log.length);
}

function logOf<T extends Identified>(records: T[]): RecordLog<T> {
  const ids = records.map(({ id }) => id);
  return { length: records.length, shared: { records, ids, positions: indexPositions(ids) } };
}
