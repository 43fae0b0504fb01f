/**
 * Finds where an id stands in a list of ids that only grows: the ids stay where they are, and a table of numbers says where
 * to look. It fills in less than half the time of a `Map`, which was a fifth of opening a long session, and is smaller.
 */
export interface PositionIndex {
  readonly ids: readonly string[];
  /** Open addressing: a position + 1, or 0 for a free slot. At most half of the slots are taken. */
  slots: Int32Array;
  /** How many of `ids` are in the table. */
  indexed: number;
}

const FEWEST_SLOTS = 64;

/** An index of `ids`. Ids that are pushed to the list later are found after `indexNewIds`. */
export function indexPositions(ids: readonly string[]): PositionIndex {
  const index = { ids, slots: new Int32Array(FEWEST_SLOTS), indexed: 0 };
  indexNewIds(index);
  return index;
}

/** Takes in what was pushed to the list since. Amortised O(1) for each id. */
export function indexNewIds(index: PositionIndex): void {
  const { ids } = index;
  if (ids.length * 2 > index.slots.length) grow(index);
  for (; index.indexed < ids.length; index.indexed++) place(index, index.indexed);
}

/** The first position of an id, or undefined; so for what a damaged file has in place of an id. */
export function findPosition({ ids, slots }: PositionIndex, id: string): number | undefined {
  if (typeof id !== "string") return undefined;
  const mask = slots.length - 1;
  for (let slot = hashOf(id) & mask; ; slot = (slot + 1) & mask) {
    const position = (slots[slot] ?? 0) - 1;
    if (position < 0) return undefined;
    if (ids[position] === id) return position;
  }
}

function grow(index: PositionIndex): void {
  let size = index.slots.length;
  while (size < index.ids.length * 2) size *= 2;
  index.slots = new Int32Array(size);
  index.indexed = 0;
}

/** A damaged file may repeat an id: the first one stands, as a marker cannot mean two places. */
function place({ ids, slots }: PositionIndex, position: number): void {
  const id = ids[position] ?? "";
  const mask = slots.length - 1;
  let slot = hashOf(id) & mask;
  for (;;) {
    const other = (slots[slot] ?? 0) - 1;
    if (other < 0) break;
    if (ids[other] === id) return;
    slot = (slot + 1) & mask;
  }
  slots[slot] = position + 1;
}

/** FNV-1a over UTF-16 units, mixed once more so that the low bits depend on all of them. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 3;
}
