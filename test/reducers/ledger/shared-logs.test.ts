import { describe, expect, it } from "vitest";
import { itemAt, withItemAt, withItems } from "../../../src/reducers/ledger/chunked-log.ts";
import {
  emptyRecords,
  placeOf,
  recordAt,
  recordById,
  recordsOf,
  withRecord,
  withRecordsReplaced,
} from "../../../src/reducers/ledger/record-log.ts";

describe("a log of records", () => {
  const one = withRecord(emptyRecords<{ id: string; n: number }>(), { id: "x", n: 1 });
  const left = withRecord(one, { id: "y", n: 2 });
  const right = withRecord(withRecord(one, { id: "z", n: 3 }), { id: "y", n: 4 });

  it("stays what it was when two others grow from it", () => {
    expect([one, left, right].map((log) => recordsOf(log).map(({ n }) => n))).toEqual([
      [1],
      [1, 2],
      [1, 3, 4],
    ]);
    expect([one, left, right].map((log) => placeOf(log, "y"))).toEqual([-1, 1, 2]);
    expect([one, left, right].map((log) => recordById(log, "y")?.n)).toEqual([undefined, 2, 4]);
    expect([one, left, right].map((log) => recordAt(log, 1)?.n)).toEqual([undefined, 2, 3]);
    expect(recordById(left, "gone")).toBeUndefined();
  });

  it("shares its list with the one that grew from it first", () => {
    expect(left.shared).toBe(one.shared);
    expect(right.shared).not.toBe(one.shared);
  });

  it("has another record in the place of one without a change to the old log", () => {
    const replaced = withRecordsReplaced(left, new Map([["x", { id: "x", n: 9 }]]));
    expect(recordsOf(replaced).map(({ n }) => n)).toEqual([9, 2]);
    expect(recordsOf(left).map(({ n }) => n)).toEqual([1, 2]);
  });
});

describe("a chunked log", () => {
  const numbers = Array.from({ length: 100 }, (_, n) => n);
  const log = withItems(withItems<number>([], numbers.slice(0, 70)), numbers.slice(70));

  it("has its items in chunks of 64, whatever it grew by", () => {
    expect(log.map(({ length }) => length)).toEqual([64, 36]);
    expect(numbers.map((_, place) => itemAt(log, place))).toEqual(numbers);
    expect(withItems(withItems<number>([], numbers.slice(0, 64)), [64]).map(({ length }) => length)).toEqual([
      64, 1,
    ]);
  });

  it("stays what it was when another grows or changes from it; what did not change is shared", () => {
    const grown = withItems(log, [100]);
    const changed = withItemAt(log, 70, -1);
    expect(log.flat()).toEqual(numbers);
    expect(grown.flat()).toEqual([...numbers, 100]);
    expect(changed.flat()).toEqual(numbers.with(70, -1));
    expect(grown[0]).toBe(log[0]);
    expect(changed[0]).toBe(log[0]);
    expect(withItems(log, [])).toBe(log);
  });
});
