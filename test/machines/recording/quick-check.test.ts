import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type QuickCheck, quickCheckOf } from "../../../src/machines/recording/quick-check.ts";
import { EngineEventSchema } from "../../../src/reducers/engine/events.ts";
import { largeRecording } from "../../support/large-recording.ts";
import { once } from "../../support/once.ts";

describe("a quick check", () => {
  const events = once(() =>
    [...largeRecording({ events: 400, tokensPerEntry: 900 })].filter((line) => "v" in line),
  );
  const checks = once(() => EngineEventSchema.options.map((option) => quickCheckOf(option) ?? (() => false)));
  const check: QuickCheck = (event) => checks().some((one) => one(event));

  it("exists for every kind of event but those that carry settings", () => {
    const without = EngineEventSchema.options.filter((option) => !quickCheckOf(option));
    const types = without.map((option) => option.shape.type.value);
    expect(types).toEqual(["session.opened"]);
  });

  it("accepts what the recorder writes", () => {
    expect(
      events()
        .filter(({ type }) => type !== "session.opened")
        .filter((event) => !check(event)),
    ).toEqual([]);
  });

  it("accepts nothing that the schema refuses or changes, however an event is changed", () => {
    const change = fc.record({
      event: fc.constantFrom(...events()),
      where: fc.nat(),
      how: fc.oneof(fc.jsonValue(), fc.constantFrom("remove", "add", -1, 0, 1.5, 2 ** 60, "", null, [], {})),
    });
    fc.assert(
      fc.property(change, ({ event, where, how }) => {
        const changed: unknown = JSON.parse(JSON.stringify(withChange(structuredClone(event), where, how)));
        if (check(changed)) expect(EngineEventSchema.parse(changed)).toEqual(changed);
      }),
      { numRuns: 2000 },
    );
  });

  it("looks at what a schema looks at", () => {
    const schema = z.object({
      word: z.enum(["a", "b"]),
      one: z.literal(1),
      text: z.string(),
      yes: z.boolean(),
      number: z.number(),
      count: z.int().min(0),
      share: z.number().gt(0),
      list: z.array(z.string()),
      maybe: z.string().nullable(),
      absent: z.string().optional(),
      either: z.union([z.string(), z.object({ inner: z.int() })]),
    });
    const good = {
      ...{ word: "a", one: 1, text: "", yes: false, number: -1.5, count: 0, share: 0.1, list: ["a"] },
      ...{ maybe: null, either: { inner: 1 } },
    };
    const quick = quickCheckOf(schema);
    expect(quick?.(good)).toBe(true);
    expect(quick?.({ ...good, absent: "", maybe: "", either: "", list: [] })).toBe(true);
    for (const other of [null, undefined, 1, "", [], [good]]) expect(quick?.(other)).toBe(false);
    for (const bad of [
      { word: "c" },
      { one: 2 },
      { text: 1 },
      { yes: "true" },
      { number: "1" },
      { number: Number.NaN },
      { count: -1 },
      { count: 0.5 },
      { share: 0 },
      { list: [1] },
      { list: {} },
      { maybe: 1 },
      { absent: 1 },
      { either: {} },
      { either: { inner: 1, more: 1 } },
      { more: 1 },
    ]) {
      expect([bad, quick?.({ ...good, ...bad })]).toEqual([bad, false]);
    }
    const { text: _text, ...lacking } = good;
    expect(quick?.(lacking)).toBe(false);
  });

  it("is not made for schemas that do more than look", () => {
    for (const schema of [
      z.number().max(2),
      z.number().multipleOf(2),
      z.int32(),
      z.string().regex(/a/g),
      z.array(z.unknown()),
      z.union([z.string(), z.unknown()]),
      z.unknown().nullable(),
      z.string().transform(Number),
      z.string().default("a"),
      z.coerce.number(),
      z.string().min(2),
      z.string().trim(),
      z.record(z.string(), z.number()),
      z.object({ a: z.unknown() }),
    ]) {
      expect(quickCheckOf(schema)).toBeUndefined();
    }
  });
});

/** The value with one of its parts, anywhere in it, replaced, removed or joined by another. */
function withChange(value: unknown, where: number, how: unknown): unknown {
  const places: [object, string][] = [];
  const visit = (part: unknown) => {
    if (typeof part !== "object" || part === null) return;
    for (const key of Object.keys(part)) {
      places.push([part, key]);
      visit(Reflect.get(part, key));
    }
  };
  visit(value);
  const place = places[where % places.length];
  if (!place) return value;
  const [holder, key] = place;
  if (how === "remove") Reflect.deleteProperty(holder, key);
  else if (how === "add") Reflect.set(holder, `${key}Too`, 1);
  else Reflect.set(holder, key, how);
  return value;
}
