import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isMemoryId,
  isObservation,
  isReflection,
  MemoryIdSchema,
  ObservationSchema,
  ReflectionSchema,
} from "../../src/reducers/ledger-entries.ts";

/** Records that are right in most fields, so that each single fault is met, and plain junk. */
const id = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 12, maxLength: 12 }),
  fc.string({ minLength: 10, maxLength: 13 }),
  fc.constant("0123456789AB"),
  fc.anything(),
);
const text = fc.oneof({ weight: 5, arbitrary: fc.string() }, fc.anything());
const ids = fc.oneof({ weight: 5, arbitrary: fc.array(fc.string()) }, fc.array(fc.anything()), fc.anything());
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
});
