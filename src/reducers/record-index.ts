/**
 * Records by memory id, as a tree over the id's first hex digits: adding one copies three nodes of at most 16 children
 * and a leaf of a few records, so that Immer's cost per append stays flat at any memory size. A flat map would copy
 * (and a wide one would visit) everything it holds.
 */
export interface RecordIndex<T> {
  readonly [digit: string]: RecordIndex<T> | Leaf<T>;
}

interface Leaf<T> {
  readonly records: { readonly [id: string]: T };
}

interface MutableIndex<T> {
  [digit: string]: MutableIndex<T> | { records: { [id: string]: T } };
}

const DEPTH = 3;

export function recordById<T>(index: RecordIndex<T>, id: string): T | undefined {
  let node: RecordIndex<T> | Leaf<T> | undefined = index;
  for (let digit = 0; digit < DEPTH && node; digit++) node = (node as RecordIndex<T>)[keyOf(id, digit)];
  const records = (node as Leaf<T> | undefined)?.records;
  return records !== undefined && Object.hasOwn(records, id) ? records[id] : undefined;
}

/** Puts a record into a mutable index, or an Immer draft of one. */
export function putRecord<T>(index: MutableIndex<T>, id: string, record: T): void {
  let node = index;
  for (let digit = 0; digit < DEPTH - 1; digit++) {
    const key = keyOf(id, digit);
    node[key] ??= {};
    node = node[key] as MutableIndex<T>;
  }
  const key = keyOf(id, DEPTH - 1);
  const leaf = node[key] as { records: { [id: string]: T } } | undefined;
  if (leaf) leaf.records[id] = record;
  else node[key] = { records: { [id]: record } };
}

/** All records, in no particular order. */
export function allRecords<T>(index: RecordIndex<T>): T[] {
  const collect = (node: RecordIndex<T> | Leaf<T>, depth: number): T[] =>
    depth === DEPTH
      ? Object.values((node as Leaf<T>).records)
      : Object.values(node as RecordIndex<T>).flatMap((child) => collect(child, depth + 1));
  return collect(index, 0);
}

/** Node names start with a letter: names that look like numbers would be stored and ordered as such. */
function keyOf(id: string, digit: number): string {
  return `x${id[digit] ?? ""}`;
}
