import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSessionSearch } from "../../../src/effects/session-search.ts";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { givenMemoryId } from "../../../src/reducers/ledger/memory-id.ts";
import { isFound, recallFrom } from "../../../src/reducers/ledger/recall.ts";
import { sessionOfEntries } from "../../../src/reducers/memory.ts";
import { dropped, observation, observed, user } from "../../support/sessions/builders.ts";

const A = "aaaaaaaaaaaa";

async function found(entries: readonly EntryLike[], query: string) {
  const { session, lookup } = sessionOfEntries(entries);
  return createSessionSearch(lookup).search(session, query);
}

const idsOf = async (entries: readonly EntryLike[], query: string) =>
  (await found(entries, query)).hits.map(({ id }) => id);

describe("a search of a session", () => {
  it.each([
    ["CRÈME", "A crème brûlée."],
    ["creme", "A crème brûlée."],
    ["天気", "東京都の天気です。"],
    ["서울", "서울에서 만나요."],
    ["target", "The deployTarget is set."],
    ["deploytarget", "The deployTarget is set."],
    ["src/host/cli.ts", "It is in src/host/cli.ts now."],
    ["ts2345", "error TS2345: not assignable"],
    ["ENOENT", "failed with ENOENT: no such file"],
    ["привет", "ПРИВЕТ, мир"],
    [".*(target)[", "The deployTarget is set."],
  ])("finds %s in %s", async (query, text) => {
    expect(await idsOf([user("e1", "Nothing."), user("e2", text)], query)).toEqual(["e2"]);
  });

  it("finds what stands at the end of a huge message", async () => {
    const huge = user("e1", `${"filler words ".repeat(40_000)}needle`);
    expect(await idsOf([huge, user("e2", "Other.")], "needle")).toEqual(["e1"]);
  });

  it("puts what holds first, and says what was dropped", async () => {
    const talk = [
      user("e1", "a harbour"),
      observed("o", [observation(A, ["e1"], { content: "harbour" })], "e1"),
    ];
    const { hits } = await found([...talk, dropped("d", [A], "e1")], "harbour");
    expect(hits.map(({ id, standing }) => [id, standing])).toEqual([
      ["e1", "holds"],
      [A, "dropped"],
    ]);
  });

  it("stays within this branch when another was indexed", async () => {
    const [root, left, here] = [user("e1", "root"), user("e2", "lighthouse"), user("e3", "plain")];
    const all = sessionOfEntries([root, left, here]);
    const search = createSessionSearch(all.lookup);
    expect((await search.search(sessionOfEntries([root, left]).session, "lighthouse")).found).toBe(1);
    expect((await search.search(sessionOfEntries([root, here]).session, "lighthouse")).found).toBe(0);
  });

  const texts = fc.array(fc.string({ unit: "grapheme", maxLength: 60 }), { minLength: 1, maxLength: 12 });

  it("answers alike whether indexed at once or as entries come, and each hit can be recalled", async () => {
    await fc.assert(
      fc.asyncProperty(texts, fc.nat(11), async (contents, pick) => {
        const entries = contents.map((content, at) => user(`E${at}`, content));
        const whole = sessionOfEntries(entries);
        const query = contents[pick % contents.length] ?? "";
        const piecewise = createSessionSearch(whole.lookup);
        for (let upTo = 1; upTo < entries.length; upTo++)
          await piecewise.search(sessionOfEntries(entries.slice(0, upTo)).session, query);
        const result = await piecewise.search(whole.session, query);
        expect(result).toEqual(await found(entries, query));
        for (const { id } of result.hits)
          expect(isFound(recallFrom(whole.session, whole.lookup, givenMemoryId(`[${id}]`)))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("finds a record by each of its words", async () => {
    const word = fc.stringMatching(/^[a-z]{3,12}$/);
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 8 }), fc.nat(7), async (words, pick) => {
        const entries = [
          user("e1", "0"),
          observed("o", [observation(A, ["e1"], { content: words.join(" ") })], "e1"),
        ];
        expect(await idsOf(entries, words[pick % words.length] ?? "")).toContain(A);
      }),
      { numRuns: 60 },
    );
  });
});
