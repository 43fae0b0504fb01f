import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { createLineSplitter } from "../../../src/host/cli/input/line-splitter.ts";

const line = fc.oneof(
  fc.string(),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("", "\uFEFF", "\r", "\0"),
);

/** The bytes of a text in pieces that begin at these shares of it */
function inPieces(bytes: Buffer, shares: readonly number[]): Buffer[] {
  const cuts = [0, ...shares.map((share) => Math.floor(share * bytes.length)).sort((a, b) => a - b)];
  return cuts.map((cut, index) => bytes.subarray(cut, cuts[index + 1]));
}

describe("the lines of a file", () => {
  it("are those of its text, wherever it was cut into pieces", () => {
    const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), shares, (texts, cuts) => {
        const text = texts.join("\n").replace(/^\uFEFF+/, "");
        const bytes = Buffer.from(text);
        const splitter = createLineSplitter();
        const found = inPieces(bytes, cuts).flatMap((piece) => splitter.take(piece));
        const rest = splitter.peekRest();
        const last = splitter.takeRest();
        const lines = text.split("\n").map((each) => Buffer.from(each).toString());
        expect(found).toEqual(lines.slice(0, -1));
        expect(last).toEqual(lines.slice(-1).filter((each) => each !== ""));
        expect(rest).toBe(lines.at(-1));
      }),
    );
  });

  it("cost what is new, not what is kept: a long line is not gone through again with each piece of it", () => {
    const splitter = createLineSplitter();
    const sought = vi.spyOn(String.prototype, "includes");
    let characters = 0;
    try {
      for (let n = 0; n < 64; n++) splitter.take(Buffer.alloc(1000, "x"));
      splitter.take(Buffer.from("\n"));
      characters = sought.mock.contexts.reduce<number>((sum, text) => sum + String(text).length, 0);
    } finally {
      sought.mockRestore();
    }
    expect(characters).toBeLessThan(65_000);
    expect(splitter.take(Buffer.from("y\n"))).toEqual(["y"]);
  });

  it("begin after a byte order mark, which is no part of the first", () => {
    const splitter = createLineSplitter();
    const lines = splitter.take(Buffer.from("\uFEFFone\n\uFEFFtwo\n"));
    expect(lines).toEqual(["one", "\uFEFFtwo"]);
  });
});
