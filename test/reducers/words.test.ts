import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { getStateNodes } from "xstate/graph";
import { compactionLane } from "../../src/machines/lanes/compaction-lane.ts";
import { observerLane } from "../../src/machines/lanes/observer-lane.ts";
import { reflectDropLane } from "../../src/machines/lanes/reflect-drop-lane.ts";
import {
  clipped,
  compact,
  countOf,
  duration,
  grouped,
  listed,
  stateWords,
} from "../../src/reducers/words.ts";

describe("numbers for people", () => {
  it("have their thousands apart as people write them", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }), (count) => {
        expect(grouped(count)).toBe(count.toLocaleString("en-US"));
      }),
    );
  });

  it("take five characters at most where there is little room, and never grow smaller", () => {
    const amountOf = (text: string) =>
      Number.parseFloat(text) * (text.endsWith("M") ? 1e6 : text.endsWith("k") ? 1e3 : 1);
    fc.assert(
      fc.property(fc.nat(99_000_000), fc.nat(99_000_000), (a, b) => {
        expect(compact(a).length).toBeLessThanOrEqual(5);
        expect(amountOf(compact(Math.max(a, b)))).toBeGreaterThanOrEqual(amountOf(compact(Math.min(a, b))));
      }),
    );
  });

  it("are of one thing or of several", () => {
    expect([countOf(1, "run"), countOf(0, "run"), countOf(2000, "entry", "entries")]).toEqual([
      "1 run",
      "0 runs",
      "2,000 entries",
    ]);
  });

  it("tell a span of time in the unit that fits it", () => {
    expect([340, 1000, 1240, 30_000, 119_400, 180_000].map(duration)).toEqual([
      "340 ms",
      "1 s",
      "1.2 s",
      "30 s",
      "119 s",
      "3 min",
    ]);
  });
});

describe("words for people", () => {
  it.each([
    ["observer", observerLane],
    ["reflectDrop", reflectDropLane],
    ["compaction", compactionLane],
  ] as const)("tell each state of the %s lane without the chart's own name for it", (lane, chart) => {
    const states = getStateNodes(chart).filter(({ type }) => type === "atomic");
    expect(states.length).toBeGreaterThan(5);
    for (const { path } of states) expect(stateWords(lane, path.join("."))).not.toMatch(/[a-z][A-Z]|\./);
  });

  it("come as a list, and cut to a width", () => {
    expect([listed([]), listed(["a"]), listed(["a", "b", "c"])]).toEqual(["", "a", "a, b and c"]);
    expect([clipped("four", 4), clipped("fours", 4)]).toEqual(["four", "fou…"]);
  });
});
