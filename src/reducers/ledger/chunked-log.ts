/** A list in chunks, so that a change copies one chunk and the list of chunks, and not everything. */
export type ChunkedLog<T> = readonly (readonly T[])[];

const CHUNK_BITS = 6;
const CHUNK = 1 << CHUNK_BITS;

export function itemAt<T>(log: ChunkedLog<T>, place: number): T | undefined {
  return log[place >> CHUNK_BITS]?.[place & (CHUNK - 1)];
}

/** The log with more items at its end. */
export function withItems<T>(log: ChunkedLog<T>, items: readonly T[]): ChunkedLog<T> {
  if (items.length === 0) return log;
  const copy = log.slice();
  const last = copy.at(-1);
  if (last && last.length < CHUNK) copy[copy.length - 1] = last.slice();
  return pushItems(copy, items);
}

/** The log with another item in a place that it has. */
export function withItemAt<T>(log: ChunkedLog<T>, place: number, item: T): ChunkedLog<T> {
  const copy = log.slice();
  const at = place >> CHUNK_BITS;
  copy[at] = copy[at]?.slice() ?? [];
  return putItemAt(copy, place, item);
}

/** Adds items in place, to a log that nobody else holds. */
export function pushItems<T>(log: ChunkedLog<T>, items: readonly T[]): ChunkedLog<T> {
  const mutable = log as T[][];
  for (const item of items) {
    const last = mutable[mutable.length - 1];
    if (last && last.length < CHUNK) last.push(item);
    else mutable.push([item]);
  }
  return log;
}

/** Changes an item in place, in a log that nobody else holds. */
export function putItemAt<T>(log: ChunkedLog<T>, place: number, item: T): ChunkedLog<T> {
  const chunk = (log as T[][])[place >> CHUNK_BITS];
  if (chunk) chunk[place & (CHUNK - 1)] = item;
  return log;
}
