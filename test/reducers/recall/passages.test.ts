import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { passagesOf } from "../../../src/reducers/recall/passages.ts";
import { comparable, matchersOf } from "../../../src/reducers/recall/query-words.ts";

const matches = (query: string, text: string) => matchersOf(query).some((has) => has(comparable(text)));

describe("the words of a query", () => {
  it.each([
    ["missing LEVEL", "the level is null"],
    ["ecole", "À l'École"],
    ["Straße", "STRASSE"],
    ["όδος", "ΟΔΟΣ"],
    ["ёлка", "Елка"],
    ["水位", "缺失的水位必须为空"],
    ["水位缺失", "缺失的水位"],
    ["データベース", "新しいデータベースを使う"],
    ["ﾃﾞｰﾀ", "データ"],
    ["서버", "서버가 멈췄다"],
    ["แมว", "มีแมวอยู่"],
    ["كتاب", "كِتَابٌ"],
    ["tokens", "maxTokens: 5"],
    ["18", "more than 18 cm"],
    ["=>", "(a) => b"],
    ["naïve café", "cafe\u0301"],
  ])("%s are found in: %s", (query, text) => {
    expect(matches(query, text)).toBe(true);
  });

  it.each([
    ["18", "in 2018"],
    ["is", "this"],
    ["か", "が"],
    ["水位", "水和位"],
    ["port", "a host"],
    ["  ", "anything"],
    ["=>", "a = b"],
  ])("%s are not found in: %s", (query, text) => {
    expect(matches(query, text)).toBe(false);
  });
});

describe("the passages of texts", () => {
  const lines = Array.from({ length: 100 }, (_, n) => `line ${n} says nothing of note here`);
  const text = lines.with(50, "the harbour master wants 18 cm").join("\n");

  it("are the lines that match, with those around them and the size of what is left out", () => {
    const { texts, unmatched, leftOut } = passagesOf([text, "other"], "HARBOUR", 800);
    expect(texts[0]?.split("\n")).toEqual([
      `[… 1,${`${lines.slice(0, 48).join("\n")}\n`.length - 1000} characters left out …]`,
      ...text.split("\n").slice(48, 53),
      `[… 1,${`\n${lines.slice(53).join("\n")}`.length - 1001} characters left out …]`,
    ]);
    expect([texts[1], [...unmatched], leftOut]).toEqual([undefined, [1], 0]);
  });

  it("are those with the most and the rarest words, as many as there is room for", () => {
    const { texts, leftOut } = passagesOf([text], "line harbour", 60);
    expect(texts[0]).toContain("the harbour master");
    expect(leftOut).toBe(95);
  });

  it("are pieces of a long line", () => {
    const long = `${"lorem ipsum dolor ".repeat(200)}the needle is here ${"sit amet ".repeat(300)}`;
    const [found = ""] = passagesOf([long], "needle", 800).texts;
    expect(found).toContain("the needle is here");
    expect(found.length).toBeLessThan(1500);
    const unspaced = `${"无关内容".repeat(300)}缺失水位${"其他".repeat(300)}`;
    expect(passagesOf([unspaced], "缺失水位", 800).texts[0]).toContain("缺失水位");
  });

  it("hold nothing that is not there, and each line that matches or its count", () => {
    const word = fc.constantFrom("port", "Port", "host", "dock 7", "水位", "", "é", "x".repeat(300));
    const texts = fc.array(
      fc.array(word, { maxLength: 30 }).map((parts) => parts.join("\n")),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(
        texts,
        fc.constantFrom("port", "水位 dock", "e", "zzz"),
        fc.nat(200),
        (given, query, max) => {
          const found = passagesOf(given, query, max);
          let shown = 0;
          for (const [at, passages] of found.texts.entries()) {
            const all = (given[at] ?? "").split("\n");
            const has = all.filter((line) => matches(query, line));
            expect(found.unmatched.has(at)).toBe(has.length === 0);
            shown += (passages ?? "").split("\n").filter((line) => matches(query, line)).length;
            for (const line of (passages ?? "").split("\n")) {
              if (!line.startsWith("[… ")) expect(given[at]).toContain(line);
            }
          }
          const matching = given.flatMap((one) => one.split("\n")).filter((line) => matches(query, line));
          expect(shown + found.leftOut).toBe(matching.length);
        },
      ),
    );
  });
});
