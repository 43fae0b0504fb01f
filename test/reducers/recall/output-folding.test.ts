import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createOutputFolding } from "../../../src/reducers/recall/output-folding.ts";

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => `line ${from + n}`).join("\n");

describe("what outputs of tools repeat", () => {
  it("is a count where lines follow themselves, alone or together", () => {
    const fold = createOutputFolding();
    expect(fold("a", `begin\n${"waiting\n".repeat(20)}end`)).toBe(
      "begin\nwaiting\n[… the line above 19 times more …]\nend",
    );
    expect(fold("b", `${"GET /\n200 OK\n".repeat(10)}end`)).toBe(
      "GET /\n200 OK\n[… the 2 lines above 9 times more …]\nend",
    );
  });

  it("is a count where an earlier output has shown it", () => {
    const fold = createOutputFolding();
    expect(fold("first", numbered(0, 50))).toBe(numbered(0, 50));
    const changed = `${numbered(0, 20)}\nnew\n${numbered(21, 50)}`;
    expect(fold("second", changed)).toBe(
      "[… 20 lines unchanged from source first above …]\nnew\n[… 29 lines unchanged from source first above …]",
    );
    expect(fold("third", numbered(0, 3))).toBe(numbered(0, 3));
  });

  it("can be put back, whatever the outputs", () => {
    const output = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 40 }).map((l) => l.join("\n"));
    fc.assert(
      fc.property(fc.array(output, { maxLength: 5 }), (outputs) => {
        const fold = createOutputFolding();
        for (const [at, given] of outputs.entries()) {
          const lines: string[] = [];
          let found = 0;
          for (const line of fold(`${at}`, given).split("\n")) {
            const again = /^\[… the (?:(\d+) lines|line) above (\d+) times more …\]$/.exec(line);
            const same = /^\[… (\d+) lines unchanged from source (\d+) above …\]$/.exec(line);
            if (again) {
              const period = lines.slice(-Number(again[1] ?? 1));
              for (let n = 0; n < Number(again[2]); n++) lines.push(...period);
            } else if (same) {
              const next = given.split("\n").slice(lines.length, lines.length + Number(same[1]));
              expect(outputs[Number(same[2])]).toContain(next.join("\n"));
              expect(Number(same[2])).toBeLessThan(at);
              lines.push(...next);
            } else lines.push(line);
            found++;
          }
          expect(lines.join("\n")).toBe(given);
          expect(found).toBeLessThanOrEqual(given.split("\n").length);
        }
      }),
      { numRuns: 500 },
    );
  });
});
