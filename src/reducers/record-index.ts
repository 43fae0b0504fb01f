/**
 * Records by memory id, as a tree over the id's first three hex digits with a short list at each leaf. Adding a record
 * copies three nodes of 16 and one short list, so the cost of an append stays flat at any memory size; a flat map would
 * copy everything it holds. Lists and not objects: objects keyed by ids turn into slow dictionaries one by one.
 */
export type RecordIndex<T> = readonly (readonly (readonly (readonly T[])[])[])[];

interface Identified {
  readonly id: string;
}

export function recordById<T extends Identified>(index: RecordIndex<T>, id: string): T | undefined {
  const leaf = index[slotOf(id, 0)]?.[slotOf(id, 1)]?.[slotOf(id, 2)];
  if (leaf === undefined) return undefined;
  for (const record of leaf) if (record.id === id) return record;
  return undefined;
}

/** The index with a record, in place of the one with its id if there is one. */
export function withRecord<T extends Identified>(index: RecordIndex<T>, record: T): RecordIndex<T> {
  const [first, second, third] = [0, 1, 2].map((digit) => slotOf(record.id, digit)) as [
    number,
    number,
    number,
  ];
  const outer = index[first] ?? [];
  const inner = outer[second] ?? [];
  const leaf = (inner[third] ?? []).filter(({ id }) => id !== record.id);
  return withChild(index, first, withChild(outer, second, withChild(inner, third, [...leaf, record])));
}

/** Puts a record in place, into an index that nobody else holds, instead of the one with its id if there is one. */
export function putRecord<T extends Identified>(index: RecordIndex<T>, record: T): RecordIndex<T> {
  const { id } = record;
  const outer = childOf(index as T[][][][], slotOf(id, 0));
  const leaf = childOf(childOf(outer, slotOf(id, 1)), slotOf(id, 2));
  const known = leaf.findIndex((other) => other.id === id);
  leaf[known === -1 ? leaf.length : known] = record;
  return index;
}

/** All records, in no particular order. */
export function allRecords<T>(index: RecordIndex<T>): T[] {
  return index.flat(3);
}

function withChild<T>(node: readonly (readonly T[])[], slot: number, child: readonly T[]): (readonly T[])[] {
  const copy = node.slice();
  while (copy.length < slot) copy.push([]);
  copy[slot] = child;
  return copy;
}

/** The list at a slot, made (with all before it, so that no list has holes) if need be. */
function childOf<T>(node: T[][], slot: number): T[] {
  while (node.length <= slot) node.push([]);
  const child = node[slot];
  if (!child) throw new Error(`no slot ${slot} in a node of ${node.length}`);
  return child;
}

/** A digit's value; ids that are not hex still get a slot of their own choosing. */
function slotOf(id: string, digit: number): number {
  const code = id.charCodeAt(digit);
  return (code >= 97 ? code - 87 : code) & 15;
}
