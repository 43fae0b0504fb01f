import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EntryFactSchema } from "../../../src/reducers/entries/entry-fact.ts";
import {
  isMemoryId,
  isObservation,
  isReflection,
  MemoryIdSchema,
  ObservationSchema,
  ReflectionSchema,
} from "../../../src/reducers/ledger/records.ts";

/** Records that are right in most fields, so that each single fault is met, and plain junk. */
const id = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 12, maxLength: 12 }),
  fc.string({ minLength: 10, maxLength: 13 }),
  fc.constant("0123456789AB"),
  fc.anything(),
);
const text = fc.oneof(
  { weight: 5, arbitrary: fc.string() },
  fc.string({ unit: fc.constantFrom("a", " ", "\n", "\r", "\u0085", "\u2028", "\0"), maxLength: 4 }),
  fc.anything(),
);
const ids = fc.oneof(
  { weight: 5, arbitrary: fc.array(fc.string({ maxLength: 3 }), { maxLength: 3 }) },
  fc.array(fc.anything()),
  fc.anything(),
);
const tokenCount = fc.oneof(fc.nat(), fc.double(), fc.anything());
const relevance = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("low", "medium", "high", "critical") },
  fc.anything(),
);
const observation = fc.oneof(
  fc.record(
    { id, content: text, timestamp: text, relevance, sourceEntryIds: ids, tokenCount },
    { requiredKeys: [] },
  ),
  fc.anything(),
);
const reflection = fc.oneof(
  fc.record({ id, content: text, supportingObservationIds: ids, tokenCount }, { requiredKeys: [] }),
  fc.anything(),
);

describe("the quick checks", () => {
  it.each([
    ["isObservation", observation, isObservation, ObservationSchema],
    ["isReflection", reflection, isReflection, ReflectionSchema],
    ["isMemoryId", id, isMemoryId, MemoryIdSchema],
  ] as const)("%s says what its schema says", (_name, values, check, schema) => {
    fc.assert(
      fc.property(values, (value) => {
        expect(check(value)).toBe(schema.safeParse(value).success);
      }),
      { numRuns: 3000 },
    );
  });

  const ID = "0123456789af";
  it.each([
    ID,
    `${ID}0`,
    `0${ID}`,
    `${ID}\n`,
    ID.slice(1),
    "",
    // What comes before and after the digits and the letters
    ...[..."/:`gAF"].map((character) => ID.slice(1) + character),
  ])("agree on the id %j", (id) => {
    expect(isMemoryId(id)).toBe(MemoryIdSchema.safeParse(id).success);
    expect(isMemoryId(id)).toBe(id === ID);
  });

  it("refuse a record for any one of its fields", () => {
    const common = { id: ID, content: "x", tokenCount: 0 };
    const observation = { ...common, timestamp: "x", relevance: "low", sourceEntryIds: ["a", "b"] };
    const reflection = { ...common, supportingObservationIds: ["a", "b"] };
    expect([isObservation(observation), isReflection(reflection)]).toEqual([true, true]);
    const wrong: Record<string, unknown[]> = {
      id: [1, "x"],
      content: [1, undefined, "", " ", "\n", "\u0085"],
      timestamp: [1, undefined, "", "a\nb", "a\u2028b"],
      relevance: [0, "LOW"],
      sourceEntryIds: ["ab", ["a", 1], [1, "a"], {}, [], ["a", ""]],
      supportingObservationIds: ["ab", ["a", 1], [1, "a"], {}, [], ["a", ""]],
      tokenCount: ["1", -1, Number.NaN, Number.POSITIVE_INFINITY, undefined],
    };
    for (const [record, check, schema] of [
      [observation, isObservation, ObservationSchema],
      [reflection, isReflection, ReflectionSchema],
    ] as const) {
      for (const field of Object.keys(record)) {
        for (const value of wrong[field] ?? []) {
          const bad = { ...record, [field]: value };
          expect([bad, check(bad), schema.safeParse(bad).success]).toEqual([bad, false, false]);
        }
      }
    }
    // V3 takes several lines for an observation, and for a reflection none but these.
    const lines = ["\n", "\r", "\u2028"].map((end) => `a${end}b`);
    expect(lines.map((content) => isObservation({ ...observation, content }))).toEqual([true, true, true]);
    expect(lines.map((content) => isReflection({ ...reflection, content }))).toEqual([false, false, true]);
    for (const value of [0, 1.5]) expect(isReflection({ ...reflection, tokenCount: value })).toBe(true);
    expect(isObservation(Object.assign([], observation))).toBe(false);
  });
});

describe("the facts of an entry, as a recording has them", () => {
  const fact = { id: "e1", kind: "ledger", tokens: 0 };
  const refused = (more: object) => !EntryFactSchema.safeParse({ ...fact, ...more }).success;

  it("want records and edits whole", () => {
    const record = { id: "a", tokens: 1, supports: [], index: 0 };
    const ledger = (given: object) => ({
      ledger: { type: "reflections", coversUpToId: "e0", records: [given] },
    });
    const edit = { targetId: "e0", tokens: null };
    expect([refused(ledger(record)), refused({ edit })]).toEqual([false, false]);
    for (const key of Object.keys(record))
      expect(refused(ledger({ ...record, [key]: undefined }))).toBe(true);
    for (const key of Object.keys(edit)) expect(refused({ edit: { ...edit, [key]: undefined } })).toBe(true);
  });
});
