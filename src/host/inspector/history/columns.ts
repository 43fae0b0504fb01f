/** A column of numbers that grows: millions of rows in a few bytes each. */
export interface Column {
  readonly length: number;
  at(index: number): number;
  push(value: number): void;
}

export function createColumn(kind: "float64" | "uint32" | "uint8"): Column {
  const make = (size: number) =>
    kind === "float64"
      ? new Float64Array(size)
      : kind === "uint32"
        ? new Uint32Array(size)
        : new Uint8Array(size);
  let rows = make(1024);
  let length = 0;
  return {
    get length() {
      return length;
    },
    at: (index) => rows[index] ?? 0,
    push(value) {
      if (length === rows.length) {
        const longer = make(rows.length * 2);
        longer.set(rows);
        rows = longer;
      }
      rows[length++] = value;
    },
  };
}

/** A column that knows the lowest and the highest of any stretch without going over it. */
export interface RangeColumn extends Column {
  /** Of the rows `from` to `to`, the latter not included */
  low(from: number, to: number): number;
  high(from: number, to: number): number;
}

/** Stretches that begin and end at a multiple of this cost least. */
export const BLOCK = 64;

/** Each level holds the extremes of 64 rows of the one below it: two make a million rows a few hundred. */
export function createRangeColumn(kind: "float64" | "uint32"): RangeColumn {
  const rows = createColumn(kind);
  const lows = createExtremes(rows, Math.min);
  const highs = createExtremes(rows, Math.max);
  return {
    get length() {
      return rows.length;
    },
    at: rows.at,
    push(value) {
      rows.push(value);
      lows.push(value);
      highs.push(value);
    },
    low: lows.of,
    high: highs.of,
  };
}

function createExtremes(rows: Column, pick: (a: number, b: number) => number) {
  /** For every 64 rows, and for every 64 times 64 */
  const blocks: number[] = [];
  const superBlocks: number[] = [];

  function note(level: number[], position: number, value: number): void {
    const known = level[position];
    level[position] = known === undefined ? value : pick(known, value);
  }

  return {
    push(value: number): void {
      const row = rows.length - 1;
      note(blocks, Math.floor(row / BLOCK), value);
      note(superBlocks, Math.floor(row / (BLOCK * BLOCK)), value);
    },
    of(from: number, to: number): number {
      let found = rows.at(from);
      for (let row = from; row < to; ) {
        const [level, size] =
          row % (BLOCK * BLOCK) === 0 && row + BLOCK * BLOCK <= to
            ? [superBlocks, BLOCK * BLOCK]
            : row % BLOCK === 0 && row + BLOCK <= to
              ? [blocks, BLOCK]
              : [undefined, 1];
        found = pick(found, level ? (level[row / size] ?? found) : rows.at(row));
        row += size;
      }
      return found;
    },
  };
}

/** The last position whose value is not above `value`, in a rising list; -1 when all are above it. */
export function lastAtMost(length: number, valueAt: (position: number) => number, value: number): number {
  return firstWhere(length, (position) => valueAt(position) > value) - 1;
}

/** The same for a plain list. */
export function lastAtMostOf(values: readonly number[], value: number): number {
  return lastAtMost(values.length, (position) => values[position] ?? 0, value);
}

/** The first position whose value is not below `value`, in a rising list; its length when all are below it. */
export function firstAtLeast(length: number, valueAt: (position: number) => number, value: number): number {
  return firstWhere(length, (position) => valueAt(position) >= value);
}

/** The first position at which something holds that holds from there on; the length when it holds nowhere. */
function firstWhere(length: number, holds: (position: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Values that hold from an index on, until the next one. */
export interface Spans<T> {
  readonly indexes: readonly number[];
  readonly values: readonly T[];
  /** Notes that `value` holds from `index` on; nothing happens when it holds already. */
  set(index: number, value: T): void;
  /** The value at an index; undefined before the first. */
  at(index: number): T | undefined;
  /** The index from which on that value holds */
  sinceOf(index: number): number | undefined;
}

export function createSpans<T>(): Spans<T> {
  const indexes: number[] = [];
  const values: T[] = [];
  const positionOf = (index: number) => lastAtMostOf(indexes, index);
  return {
    indexes,
    values,
    set(index, value) {
      if (values.length > 0 && values[values.length - 1] === value) return;
      indexes.push(index);
      values.push(value);
    },
    at: (index) => values[positionOf(index)],
    sinceOf: (index) => indexes[positionOf(index)],
  };
}
