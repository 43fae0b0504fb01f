import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventTime, plainTime } from "../../../src/reducers/engine/event-time.ts";

describe("an event's time", () => {
  it("is what Date.parse says, for every time there is, in any order", () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true }), (date) => {
        expect(eventTime(date.toISOString())).toBe(date.getTime());
      }),
    );
  });

  it.each([
    "2026-01-15T14:30:09.120Z",
    "2026-01-15T14:30:59.999Z",
    "2026-01-15T14:30:10.001Z",
    "2026-01-15T14:31:00.000Z",
  ])("is plain for %s", (at) => {
    expect(plainTime(at)).toBe(Date.parse(at));
  });

  it.each([
    ["a leap second", "2026-01-15T14:30:60.000Z"],
    ["a day that there is not", "2026-02-30T14:30:00.000Z"],
    ["no date at all", "2026-99-99T14:30:00.000Z"],
    ["seconds that are none", "2026-01-15T14:30:/9.000Z"],
    ["seconds that are none either", "2026-01-15T14:30:0:.000Z"],
    ["another separator before the seconds", "2026-01-15T14:30.00.000Z"],
    ["another separator before the milliseconds", "2026-01-15T14:30:00:000Z"],
    ["another zone", "2026-01-15T14:30:00.000+"],
    ["more digits", "2026-01-15T14:30:00.0000Z"],
    ["more after it", "2026-01-15T14:30:00.000Z."],
  ])("is not plain with %s", (_case, at) => {
    expect(plainTime("2026-01-15T14:30:00.000Z")).toBe(1_768_487_400_000);
    expect(plainTime(at)).toBeNaN();
    expect(eventTime(at)).toBe(Date.parse(at));
  });

  it("is read in another zone too", () => {
    expect(eventTime("2026-01-15T15:30:00+01:00")).toBe(1_768_487_400_000);
  });
});
