/**
 * Records by memory id, as a tree over the id's first three hex digits with a short list at each leaf. Adding a record
 * copies three nodes of 16 and one short list, so Immer's cost per append stays flat at any memory size; a flat map
 * would copy everything it holds. Lists and not objects: objects keyed by ids turn into slow dictionaries one by one.
 */
export type RecordIndex<T> = readonly (readonly (readonly (readonly T[])[])[])[];

type MutableIndex<T> = T[][][][];

interface Identified {
  readonly id: string;
}

export function recordById<T extends Identified>(index: RecordIndex<T>, id: string): T | undefined {
  const leaf = index[slotOf(id, 0)]?.[slotOf(id, 1)]?.[slotOf(id, 2)];
  if (leaf === undefined) return undefined;
  for (const record of leaf) if (record.id === id) return record;
  return undefined;
}

/** Adds a record to a mutable index, or to an Immer draft of one; the caller has made sure that its id is new. */
export function addRecord<T extends Identified>(index: MutableIndex<T>, record: T): void {
  const { id } = record;
  const node = childOf(childOf(index, slotOf(id, 0)), slotOf(id, 1));
  childOf(node, slotOf(id, 2)).push(record);
}

/** All records, in no particular order. */
export function allRecords<T>(index: RecordIndex<T>): T[] {
  return index.flat(3);
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
