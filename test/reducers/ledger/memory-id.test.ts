import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryId, oneLine } from "../../../src/reducers/ledger/memory-id.ts";

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({
    unit: fc.constantFrom(
      "a",
      " ",
      "\n",
      "\t",
      "\r",
      "\u0000",
      "\u001b",
      "\u0085",
      "\u00a0",
      "\u2028",
      "\ufeff",
      "\ud83d",
      "\ude00",
      "\u202e",
      "\u061c",
      "\u{e0041}",
      "\u200b",
      "\u200d",
    ),
  }),
);

describe("memoryId", () => {
  it("is the first 12 hex digits of SHA-256 of the UTF-8 text", () => {
    fc.assert(
      fc.property(anyText, (content) => {
        expect(memoryId(content)).toBe(
          createHash("sha256").update(content, "utf8").digest("hex").slice(0, 12),
        );
      }),
    );
  });

  it("keeps to a published digest", () => {
    expect(memoryId("abc")).toBe("ba7816bf8f01");
    expect(memoryId("")).toBe("e3b0c44298fc");
  });
});

describe("oneLine", () => {
  it.each([
    ["  User   prefers\n\ttabs. ", "User prefers tabs."],
    ["one\r\ntwo\u2028three\u2029four\u0085five", "one two three four five"],
    ["a\u0000b\u001b[31mc\u007fd", "a b [31mc d"],
    ["narrow\u00a0and\u3000wide", "narrow and wide"],
    ["half \ud83d of a pair", "half \ufffd of a pair"],
    ["a family 👨‍👩‍👧 stays", "a family 👨‍👩‍👧 stays"],
    ["sent \u200f\u202eback\u202c\u2066\u2069 wards", "sent back wards"],
    ["tagged\u{e0001}\u{e0061}\u{e007f}.", "tagged."],
    ["\n \t", ""],
  ])("%j becomes %j", (content, line) => {
    expect(oneLine(content)).toBe(line);
  });

  it("leaves one clean line, and doing it again changes nothing", () => {
    fc.assert(
      fc.property(anyText, (content) => {
        const line = oneLine(content);
        expect(oneLine(line)).toBe(line);
        expect(line).not.toMatch(/\p{Cc}|[\u2028\u2029]|\s\s|^\s|\s$/u);
        expect(line).not.toMatch(/[\p{Bidi_Control}\u{e0000}-\u{e007f}]/u);
        expect(line.isWellFormed()).toBe(true);
      }),
    );
  });

  it("gives text without bidi controls and tags the id that it always had", () => {
    const before = (content: string) =>
      content
        .toWellFormed()
        .replace(/[\s\p{Cc}\u2028\u2029]+/gu, " ")
        .trim();
    fc.assert(
      fc.property(anyText, (text) => {
        const plain = text.toWellFormed().replace(/[\p{Bidi_Control}\u{e0000}-\u{e007f}]/gu, "");
        expect(oneLine(plain)).toBe(before(plain));
      }),
    );
  });
});
