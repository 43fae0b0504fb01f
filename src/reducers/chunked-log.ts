/** A list in chunks, so that one more item copies one chunk and the list of chunks, and not everything. */
export type ChunkedLog<T> = readonly (readonly T[])[];

const CHUNK = 64;

/** The log with one more item. */
export function withItem<T>(log: ChunkedLog<T>, item: T): ChunkedLog<T> {
  const last = log.at(-1);
  return last && last.length < CHUNK ? [...log.slice(0, -1), [...last, item]] : [...log, [item]];
}

/** The log with another item in a place that it has. */
export function withItemAt<T>(log: ChunkedLog<T>, place: number, item: T): ChunkedLog<T> {
  const at = Math.floor(place / CHUNK);
  const chunk = log[at];
  return chunk ? log.with(at, chunk.with(place % CHUNK, item)) : log;
}

/** Adds an item in place, to a log that nobody else holds. */
export function pushItem<T>(log: ChunkedLog<T>, item: T): ChunkedLog<T> {
  const mutable = log as T[][];
  const last = mutable.at(-1);
  if (last && last.length < CHUNK) last.push(item);
  else mutable.push([item]);
  return log;
}

/** Changes an item in place, in a log that nobody else holds. */
export function putItemAt<T>(log: ChunkedLog<T>, place: number, item: T): ChunkedLog<T> {
  const chunk = (log as T[][])[Math.floor(place / CHUNK)];
  if (chunk) chunk[place % CHUNK] = item;
  return log;
}
