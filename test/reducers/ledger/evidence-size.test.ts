import { describe, expect, it } from "vitest";
import { planCompaction } from "../../../src/index.ts";
import {
  assistant,
  bash,
  observation,
  observed,
  reflected,
  reflection,
  text,
  toolResult,
  user,
} from "../../support/sessions/builders.ts";

const [A, B, C, R] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "999999999999"] as const;

describe("how much stands behind a line", () => {
  const entries = [
    user("small", "Hello."),
    toolResult("file", [text("x".repeat(20_000))], { toolName: "read" }),
    toolResult("output", [text("x".repeat(9000))], { toolName: "bash" }),
    bash("own", "ls", "x".repeat(12_000)),
    assistant("said", [text("x".repeat(12_000))]),
    observed(
      "o",
      [
        observation(A, ["small", "file", "file", "gone"]),
        observation(B, ["output", "own"]),
        observation(C, ["small"]),
      ],
      "said",
    ),
    reflected("r", [reflection(R, [A, B, C, "dddddddddddd"])], "said"),
  ];
  const summaryOf = (settings = {}) =>
    planCompaction(entries, "", { foldPolicy: "always", ...settings })?.summary ?? "";

  it("is said in tokens, after the kind of the largest, where it is much", () => {
    const lines = summaryOf().split("\n");
    const line = (id: string) => lines.find((one) => one.startsWith(`[${id}]`));
    expect(line(A)).toMatch(/content of aaaaaaaaaaaa · file, 5\.0k$/);
    expect(line(B)).toMatch(/ · output, 5\.3k$/);
    expect(line(C)?.endsWith("content of cccccccccccc")).toBe(true);
    expect(summaryOf()).toContain("A line that ends like `· file, 6.8k` rests on about so many tokens");
  });

  it("is said of a reflection by what its observations rest on first", () => {
    expect(summaryOf()).toContain(`[${R}] meaning of ${R} · output, 2.3k\n`);
  });

  it("is not explained where no line says it", () => {
    const few = [user("e1", "Hello."), observed("o", [observation(A, ["e1"])], "e1")];
    expect(planCompaction(few, "")?.summary).not.toContain("tokens");
  });
});
