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

/** The last position whose value is not above `value`, in a rising list; -1 when all are above it. */
export function lastAtMost(length: number, valueAt: (position: number) => number, value: number): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (valueAt(middle) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Values that hold from an index on, until the next one. */
export interface Spans<T> {
  readonly indexes: readonly number[];
  readonly values: readonly T[];
  /** Notes that `value` holds from `index` on; nothing happens when it holds already. */
  set(index: number, value: T): void;
  /** The value at an index; undefined before the first. */
  at(index: number): T | undefined;
}

export function createSpans<T>(): Spans<T> {
  const indexes: number[] = [];
  const values: T[] = [];
  return {
    indexes,
    values,
    set(index, value) {
      if (values.length > 0 && values[values.length - 1] === value) return;
      indexes.push(index);
      values.push(value);
    },
    at: (index) => values[lastAtMost(indexes.length, (position) => indexes[position] ?? 0, index)],
  };
}
