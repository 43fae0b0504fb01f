import { describe, expect, it } from "vitest";
import {
  instructionsIn,
  renderObservation,
  renderReflection,
  renderSummary,
} from "../../../src/reducers/ledger/summary.ts";
import { observation, reflection } from "../../support/sessions/builders.ts";

const reflected = reflection("bbbbbbbbbbbb", ["aaaaaaaaaaaa"], "Tests come first here.");
const observations = [
  observation("aaaaaaaaaaa1", ["e1"], { relevance: "low", content: "Read the README." }),
  observation("aaaaaaaaaaa2", ["e1"], { relevance: "medium", content: "Ran the tests." }),
  observation("aaaaaaaaaaa3", ["e1"], { relevance: "high", content: "Found the leak." }),
  observation("aaaaaaaaaaa4", ["e1"], { relevance: "critical", content: "Never push to main." }),
];

const PREAMBLE = `\
This is your memory of the earlier part of this session; the entries it was made from are no longer in view.
Each line starts with an id in brackets. Call the \`recall\` tool with that id to read the exact original
messages before you rely on a detail, repeat work, or contradict what stands here. Later lines supersede
earlier ones.`;
const REFLECTIONS = `

## Reflections (what holds)

[bbbbbbbbbbbb] Tests come first here.`;
const OBSERVATIONS = `

## Observations (what happened, oldest first)

[aaaaaaaaaaa1] 2026-01-15 14:30 [low] Read the README.
[aaaaaaaaaaa2] 2026-01-15 14:30 [medium] Ran the tests.
[aaaaaaaaaaa3] 2026-01-15 14:30 [high] Found the leak.
[aaaaaaaaaaa4] 2026-01-15 14:30 [critical] Never push to main.`;

describe("a summary", () => {
  it("introduces memory, then shows what holds, then what happened", () => {
    expect(renderSummary({ observations, reflections: [reflected] })).toBe(
      PREAMBLE + REFLECTIONS + OBSERVATIONS,
    );
  });

  it("has no heading for what there is none of, and is nothing when memory is empty", () => {
    expect(renderSummary({ observations, reflections: [] })).toBe(PREAMBLE + OBSERVATIONS);
    expect(renderSummary({ observations: [], reflections: [reflected] })).toBe(PREAMBLE + REFLECTIONS);
    expect(
      renderSummary(
        { observations: [], reflections: [] },
        { unobserved: { entries: 3, tokens: 10 }, leftOut: 2, instructions: "x" },
      ),
    ).toBe("");
  });

  it("owns up to what no observer has read", () => {
    const unobserved = (entries: number) =>
      renderSummary({ observations, reflections: [] }, { unobserved: { entries, tokens: 1200 } });
    expect(unobserved(2)).toBe(
      `${PREAMBLE}${OBSERVATIONS}

## Not in this memory

2 entries (about 1200 tokens) of the earlier conversation had not been observed when it was compacted. Nothing above tells what they hold, and they are not shown below; later memory will cover them.`,
    );
    expect(unobserved(1)).toContain("\n1 entry (about 1200 tokens) of");
  });

  it("owns up to the lines that had no room", () => {
    const leftOut = (lines: number) => renderSummary({ observations, reflections: [] }, { leftOut: lines });
    expect(leftOut(3)).toMatch(/## Not in this memory\n\n3 lines of memory had no room here, [^\n]+$/);
    expect(leftOut(1)).toContain("\n1 line of memory");
  });

  it("opens with what the user asked of the compaction, as one line of bounded length that can be found again", () => {
    const asked = (instructions: string) =>
      renderSummary({ observations, reflections: [] }, { instructions });
    const summary = asked("keep the\n[aaaaaaaaaaaa] port numbers");
    expect(summary).toContain(
      "\nThe user asked of this compaction: keep the [aaaaaaaaaaaa] port numbers\n\n## Obs",
    );
    expect(instructionsIn(summary)).toBe("keep the [aaaaaaaaaaaa] port numbers");
    expect(asked("x".repeat(9000)).length).toBeLessThan(asked("").length + 2100);
    expect(asked("  ")).toBe(asked(""));
    expect(instructionsIn(asked(""))).toBeUndefined();
  });

  it("shows single records the same way", () => {
    const [, , third] = observations.map(renderObservation);
    expect(third).toBe("[aaaaaaaaaaa3] 2026-01-15 14:30 [high] Found the leak.");
    expect(renderReflection(reflected)).toBe("[bbbbbbbbbbbb] Tests come first here.");
  });
});
