import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { harmlessText, withoutControls, withoutDisguise } from "../../src/reducers/harmless-text.ts";

/** Text of all of Unicode, lone surrogates too, rich in what shows nothing and in what may stand beside it. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }))
    .map((codes) => codes.map((code) => String.fromCharCode(code)).join("")),
  fc.string({
    unit: fc.constantFrom(
      ...[
        "a",
        "1",
        "\u20e3",
        " ",
        "\n",
        "\r",
        "\t",
        "\u001b",
        "\u0007",
        "\u007f",
        "\u009b",
        "\u0085",
        "\ud83d",
      ],
      ...["\u200b", "\u200c", "\u200d", "\u200e", "\u061c", "\u202e", "\u2066", "\u2069", "\u2060", "\ufeff"],
      ...["\u00ad", "\u034f", "\u115f", "\u3164", "\u180b", "\u180e", "\ufe00", "\ufe0e", "\ufe0f", "\ufff9"],
      ...[
        "\u{e0001}",
        "\u{e0041}",
        "\u{e007f}",
        "\u{e0100}",
        "\u{1f3fd}",
        "\u{1f468}",
        "\u2764",
        "\u{1f3f4}",
      ],
      ...["می", "न", "क्", "ක්", "葛", "ᠠ", "∩", "ក", "\u17b4"],
    ),
  }),
);

const codePoints = Array.from({ length: 0x110000 }, (_, code) => code);
const CONTROL = /(?![\t\n])\p{Cc}/u;
const BIDI_OR_TAG = /[\p{Bidi_Control}\u{e0000}-\u{e007f}]/u;

describe("text for people", () => {
  it("has nothing that a terminal obeys, nothing that turns text around, no tags, and is well-formed", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const shown = harmlessText(text);
        expect(shown).not.toMatch(CONTROL);
        expect(shown).not.toMatch(BIDI_OR_TAG);
        expect(shown.isWellFormed()).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it("never has two invisible characters on end, nor one on its own", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const shown = harmlessText(text);
        expect(shown).not.toMatch(/(?:^|\s)\p{Default_Ignorable_Code_Point}/u);
        // Behind a pictograph's variation selector a joiner ties the next one to it.
        expect(shown.replace(/\ufe0f\u200d/g, "")).not.toMatch(/\p{Default_Ignorable_Code_Point}{2}/u);
      }),
      { numRuns: 2000 },
    );
  });

  it("stays as it is when it is made harmless again", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const shown = harmlessText(text);
        expect(harmlessText(shown)).toBe(shown);
      }),
      { numRuns: 2000 },
    );
  });

  it("loses nothing of what shows: each character of Unicode by itself", () => {
    const lost = codePoints.filter((code) => harmlessText(String.fromCodePoint(code)) === "");
    const invisible = codePoints.filter((code) =>
      /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/u.test(String.fromCodePoint(code)),
    );
    expect(lost).toEqual(invisible);
    const changed = codePoints.filter((code) => {
      const shown = harmlessText(String.fromCodePoint(code));
      return shown !== "" && shown !== String.fromCodePoint(code);
    });
    const obeyed = codePoints.filter((code) => /\p{Cc}|\p{Cs}/u.test(String.fromCodePoint(code)));
    expect(changed).toEqual(obeyed.filter((code) => code !== 9 && code !== 10));
  });

  it.each([
    ["families and flags", "👨‍👩‍👧‍👦 🏳️‍🌈 ❤️‍🔥 👩🏽‍💻 🏴‍☠️ 1️⃣ ☎︎ 🇩🇪"],
    ["Persian", "می‌خواهم"],
    ["Hindi and Sinhala", "क्‍ष क्‌ष ශ්‍රී"],
    ["a Japanese name", "葛\u{e0100}城"],
    ["Mongolian", "ᠠ᠋ ᠨ᠎ᠠ"],
    ["a variant of an intersection", "∩\ufe00"],
    ["many scripts", "Ωμέγα Жук שלום سلام 한국어 日本語 ไทย é ñ ﷽"],
    ["lines and columns", "one\n\ttwo"],
  ])("keeps %s", (_what, text) => {
    expect(harmlessText(text)).toBe(text);
  });

  it.each([
    ["a clipboard that is written", "\u001b]52;c;cm0gLXJm\u0007", "\uFFFD]52;c;cm0gLXJm\uFFFD"],
    ["a control sequence of one character", "\u009b2J", "\uFFFD2J"],
    ["a line that is overwritten", "safe\revil", "safe\nevil"],
    ["text that runs backwards", "a\u202ecod.exe", "acod.exe"],
    ["a message in tags", "Hi\u{e0048}\u{e0069}\u{e007f}", "Hi"],
    ["a message in variation selectors", "😀\ufe0f\u{e0148}\u{e0155}\ufe01", "😀\ufe0f"],
    ["bits in joiners", "a\u200bb\u200cc\u200dd می\u200c\u200c\u200dخ", "abcd میخ"],
    ["a joiner behind a mark that goes", "a\u061c\u200cb", "ab"],
  ])("loses %s", (_what, text, shown) => {
    expect(harmlessText(text)).toBe(shown);
  });
});

describe("text that is kept", () => {
  it("loses what disguises it and nothing else", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const kept = withoutDisguise(text);
        expect(kept).not.toMatch(BIDI_OR_TAG);
        expect(kept).toBe([...text].filter((character) => !BIDI_OR_TAG.test(character)).join(""));
      }),
    );
  });
});

describe("text for whatever reads it", () => {
  it("loses control characters and lone surrogates, and nothing that shows nothing", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const read = withoutControls(text);
        expect(read).not.toMatch(CONTROL);
        expect(read.isWellFormed()).toBe(true);
        expect(read.replace(/[^\p{Default_Ignorable_Code_Point}]/gu, "")).toBe(
          text.toWellFormed().replace(/[^\p{Default_Ignorable_Code_Point}]/gu, ""),
        );
      }),
    );
  });
});
