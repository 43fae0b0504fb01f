import { describe, expect, it } from "vitest";
import { emptyBranch, extendBranch } from "../../../src/reducers/branch.ts";
import {
  entriesOf,
  readFolded,
  readRecords,
  recordReader,
} from "../../../src/reducers/ledger/record-text.ts";
import type { Observation } from "../../../src/reducers/ledger/records.ts";
import {
  compaction,
  custom,
  fact,
  folded,
  observation,
  reflection,
} from "../../support/sessions/builders.ts";

const [a, b, c] = ["aaaaaaaaaaa1", "aaaaaaaaaaa2", "aaaaaaaaaaa3"].map((id) => observation(id, ["e1"]));
const reflected = reflection("bbbbbbbbbbbb", ["aaaaaaaaaaa1"], "Tests come first.");

const entry = (data: unknown) => custom("x", "om.observations.recorded", data);

describe("reading records", () => {
  const entries = [
    entry({ observations: [a, b] }),
    entry({ observations: [c] }),
    entry({ reflections: [reflected] }),
    entry({ observations: "none" }),
    entry(undefined),
  ];

  it("finds each in its batch, batch after batch", () => {
    const read = recordReader<Observation>("observations", (position) => entries[position]);
    const places = [
      { id: "aaaaaaaaaaa1", entry: 0, index: 0 },
      { id: "aaaaaaaaaaa2", entry: 0, index: 1 },
      { id: "aaaaaaaaaaa3", entry: 1, index: 0 },
      { id: "aaaaaaaaaaa1", entry: 0, index: 0 },
    ];
    expect(places.map(read)).toEqual([a, b, c, a]);
  });

  it("looks the entry of a batch up once", () => {
    const asked: number[] = [];
    const read = recordReader<Observation>("observations", (position) => {
      asked.push(position);
      return entries[position];
    });
    for (const index of [0, 1, 0]) read({ id: "", entry: 0, index });
    expect(asked).toEqual([0]);
  });

  it("gives nothing where another record stands, or none, or no list, or no entry", () => {
    const read = recordReader<Observation>("observations", (position) => entries[position]);
    expect(read({ id: "aaaaaaaaaaa1", entry: 0, index: 1 })).toBeUndefined();
    expect(read({ id: "aaaaaaaaaaa1", entry: 0, index: 2 })).toBeUndefined();
    for (const at of [2, 3, 4, 5]) expect(read({ id: "aaaaaaaaaaa1", entry: at, index: 0 })).toBeUndefined();
  });

  it.each(["\n", "\r\n", "\u2028", "\u0085", "\v"])("reads a text with %j in it as one line", (end) => {
    const several = { ...observation("aaaaaaaaaaa1", ["e1"]), content: `One.${end}[ffffffffffff] Two.` };
    const [read] = readRecords<Observation>([{ id: several.id, entry: 0, index: 0 }], "observations", () =>
      entry({ observations: [several] }),
    );
    expect(read).toEqual({ ...several, content: "One. [ffffffffffff] Two." });
  });

  it("finds the entries of a branch by their ids, and leaves out a record whose entry is gone", () => {
    const branch = extendBranch(emptyBranch(), [{ ...fact.other("x"), kind: "ledger" }]);
    const lookup = (id: string) => (id === "x" ? entry({ observations: [a] }) : undefined);
    const places = [
      { id: "aaaaaaaaaaa1", entry: 1, index: 0 },
      { id: "aaaaaaaaaaa1", entry: 0, index: 0 },
    ];
    expect(readRecords<Observation>(places, "observations", entriesOf(branch, lookup))).toEqual([a]);
  });
});

describe("the memory in a compaction entry", () => {
  const details = folded({ fullFold: true, observations: a ? [a] : [], reflections: [reflected] });
  const read = (given: unknown) => readFolded(compaction("c", "e1", given));

  it("is read as it was written", () => {
    expect(read(details)).toEqual(details);
    expect(read({ ...details, fullFold: false })).toEqual({ ...details, fullFold: false });
  });

  it("is none when the compaction is not one of ours, or of another version", () => {
    expect(read({ ...details, type: "other" })).toBeUndefined();
    expect(read({ ...details, version: 2 })).toBeUndefined();
    expect(read(undefined)).toBeUndefined();
    expect(readFolded(undefined)).toBeUndefined();
  });

  it("is shown a line a record", () => {
    const several = { ...observation("aaaaaaaaaaa1", ["e1"]), content: "One.\nTwo." };
    expect(read({ ...details, observations: [several] })?.observations).toEqual([
      { ...several, content: "One. Two." },
    ]);
  });

  it("keeps what is good of what is damaged", () => {
    const damaged = { ...details, fullFold: "yes", observations: [{ id: 1 }, a], reflections: "none" };
    expect(read(damaged)).toEqual({ ...details, fullFold: false, observations: [a], reflections: [] });
  });
});
