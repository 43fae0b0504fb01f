import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { estimateTextTokens } from "../../../src/reducers/entries/tokens.ts";
import { recallFrom } from "../../../src/reducers/ledger/recall.ts";
import { sessionOfEntries } from "../../../src/reducers/memory.ts";
import { RECALL_MOST_TOKENS, renderRecall } from "../../../src/reducers/recall/recall-text.ts";
import {
  custom,
  dropped,
  edit,
  entry,
  observation,
  observed,
  reflected,
  reflection,
  replaced,
  superseded,
  text,
  toolResult,
  user,
  WHEN,
} from "../../support/sessions/builders.ts";

const [A, B, C, R] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "999999999999"] as const;
const line = (id: string) => `[${id}] ${WHEN} [high] content of ${id}`;

/** What the agent is told about an id. */
function told(entries: readonly EntryLike[], id: string): string {
  const { session, lookup } = sessionOfEntries(entries);
  return renderRecall(recallFrom(session, lookup, id)).text;
}

describe("recalling an observation", () => {
  const talk = [user("e1", "Hello."), user("e2", "Again.")];

  it("shows it with the exact words that it was made from", () => {
    expect(told([...talk, observed("o", [observation(A, ["e1", "e2"])], "e2")], A)).toBe(
      `Observation (active)\n${line(A)}\n\nSource e1\n[User @ ${WHEN}]\nHello.\n\nSource e2\n[User @ ${WHEN}]\nAgain.`,
    );
  });

  it("says when it was dropped, and when its range is not here", () => {
    const gone = [...talk, observed("o", [observation(A, ["e1"])], "e2"), dropped("d", [A], "e2")];
    expect(told(gone, A)).toBe(
      `Observation (dropped from active memory)\n${line(A)}\n\nSource e1\n[User @ ${WHEN}]\nHello.`,
    );
    expect(told([...talk, observed("o", [observation(A, ["e1"])], "elsewhere")], A)).toMatch(
      /^Observation \(not part of this branch's memory: the range it covers is on another branch\)\n/,
    );
  });

  it("says what superseded it, and what superseded that, also where it goes round in a circle", () => {
    const noted = [...talk, observed("o", [observation(A, ["e1"]), observation(B, ["e1"])], "e2")];
    const once = [...noted, superseded("s", { [A]: B }, "e2")];
    expect(told(once, A)).toMatch(new RegExp(`^Observation \\(superseded by \\[${B}\\]\\)\n`));
    expect(told(once, B)).toMatch(/^Observation \(active; supersedes/);
    const twice = [
      ...once,
      observed("o2", [observation(C, ["e2"])], "e2"),
      superseded("s2", { [B]: C }, "e2"),
    ];
    expect(told(twice, A)).toContain(`superseded by [${B}], which was superseded by [${C}])`);
    expect(told([...twice, superseded("s3", { [C]: A }, "e2")], A)).toContain(
      `(superseded by [${B}], which was superseded by [${C}]; supersedes [${C}])`,
    );
    // The first drop that says what by
    const dropped3 = [...noted, dropped("d", [A], "e2"), superseded("s", { [A]: C }, "e2")];
    expect(told([...dropped3, superseded("s2", { [A]: B }, "e2")], A)).toContain(`(superseded by [${C}])`);
  });

  it("says what it superseded itself, whose sources are behind these ids, in a query's answer as well", () => {
    const noted = [
      ...talk,
      observed("o", [observation(A, ["e1"]), observation(B, ["e1"])], "e2"),
      observed("o2", [observation(C, ["e2"])], "e2"),
    ];
    const both = [...noted, superseded("s", { [A]: C, [B]: C }, "e2")];
    const words = `Observation (active; supersedes [${A}], [${B}])\n${line(C)}\n`;
    expect(told(both, C).startsWith(words)).toBe(true);
    const { session, lookup } = sessionOfEntries(both);
    for (const query of ["Again", "nothing of it"]) {
      expect(renderRecall(recallFrom(session, lookup, C), { query }).text.startsWith(words)).toBe(true);
    }
    const chain = [...noted, superseded("s", { [A]: B }, "e2"), superseded("s2", { [B]: C }, "e2")];
    expect(told(chain, B)).toContain(`Observation (superseded by [${C}]; supersedes [${A}])`);
    // Of what the user has made memory forget, nothing leads there.
    const forgotten = [...both, custom("f", "om.memory.forgotten", { ids: [A] })];
    expect(told(forgotten, C)).toContain(`(active; supersedes [${B}])`);
  });

  it("says what has become of a source", () => {
    const entries = [
      ...[user("e1", "Hello."), user("e2", "Long."), user("e3", "Wrong.")],
      ...[
        edit("edit-e2", "e2", { content: "Shorter." }),
        edit("edit-e3", "e3", null),
        entry("label", "label"),
      ],
      observed("o", [observation(A, ["e1", "e2", "e3", "label", "gone"])], "e3"),
    ];
    expect(told(entries, A).split("\n\n").slice(1)).toEqual([
      `Source e1\n[User @ ${WHEN}]\nHello.`,
      `Source e2\n[User @ ${WHEN}]\nLong.`,
      `Source e2, as Pi has shown it to the agent since it replaced the content\n[User @ ${WHEN}]\nShorter.`,
      `Source e3 (an attempt that Pi has since taken out of the conversation)\n[User @ ${WHEN}]\nWrong.`,
      "Source label is not part of the conversation, so it is no evidence.",
      "Source gone is not on this branch: it may belong to another branch, or the session file lost it.",
    ]);
  });

  it("takes a source on another branch for missing, though the session file has it", () => {
    const entries = [...talk, observed("o", [observation(A, ["e1", "elsewhere"])], "e2")];
    const { session, lookup } = sessionOfEntries(entries);
    const everywhere = (id: string) => (id === "elsewhere" ? user(id, "Not here.") : lookup(id));
    const { observation: recalled } = recallFrom(session, everywhere, A);
    expect(recalled?.sources.map(({ status }) => status)).toEqual(["found", "missing"]);
  });

  it("shows the latest replacement of several, and none that says the same or is of another entry", () => {
    const entries = [
      user("e0", "First."),
      user("e1", "Hello."),
      observed("o", [observation(A, ["e1"])], "e1"),
    ];
    const replaced = (...edits: EntryLike[]) =>
      told([...entries, ...edits], A).split("replaced the content\n")[1];
    const says = (content: string, target = "e1") => edit(`edit: ${content}`, target, { content });
    expect(replaced(says("One."), says("Two."))).toBe(`[User @ ${WHEN}]\nTwo.`);
    expect(replaced(says("One."), says("Two.", "e0"))).toBe(`[User @ ${WHEN}]\nOne.`);
    expect(replaced(says("Hello."))).toBeUndefined();
    expect(replaced(says("Two.", "e0"))).toBeUndefined();
    expect(replaced()).toBeUndefined();
  });
});

describe("recalling a reflection", () => {
  const memory = [
    user("e1", "Hello."),
    observed("o", [observation(A, ["e1"]), observation(B, ["e1"])], "e1"),
  ];

  it("shows what it rests on, and what of that is not here", () => {
    expect(told([...memory, reflected("r", [reflection(R, [A, C, B, "dddddddddddd"])], "e1")], R)).toBe(
      [
        `Reflection\n[${R}] meaning of ${R}`,
        "It rests on 2 observations:",
        `Observation (active)\n${line(A)}`,
        `Source e1 (also behind [${B}])\n[User @ ${WHEN}]\nHello.`,
        `Observation (active)\n${line(B)}`,
        `Source e1: shown above, under [${A}]`,
        `Cited but not on this branch: ${C}, dddddddddddd`,
      ].join("\n\n"),
    );
    expect(told([...memory, reflected("r", [reflection(R, [B])], "e1")], R)).toBe(
      `Reflection\n[${R}] meaning of ${R}\n\nIt rests on 1 observation:\n\nObservation (active)\n${line(B)}\n\nSource e1\n[User @ ${WHEN}]\nHello.`,
    );
  });

  it("says what replaced it", () => {
    const S = "888888888888";
    const both = reflected("r", [reflection(R, [B]), reflection(S, [B])], "e1");
    expect(told([...memory, both, replaced("x", [R], S, "e1")], R)).toMatch(
      new RegExp(`^Reflection \\(replaced by \\[${S}\\]\\)\n`),
    );
    expect(told([...memory, both, replaced("x", [R], S, "e1")], S)).toMatch(
      new RegExp(`^Reflection \\(active; replaces \\[${R}\\]\\)\n`),
    );
    expect(told([...memory, both, custom("x", "om.reflections.dropped", { reflectionIds: [R] })], R)).toBe(
      told([...memory, both], R),
    );
  });

  it("says when nothing that it rests on is here", () => {
    expect(told([...memory, reflected("r", [reflection(R, [C])], "e1")], R)).toBe(
      `Reflection\n[${R}] meaning of ${R}\n\nNone of its supporting observations is on this branch.\n\nCited but not on this branch: ${C}`,
    );
  });

  it("finds one whose range is not on this branch", () => {
    expect(told([...memory, reflected("r", [reflection(R, [A])], "elsewhere")], R)).toContain(
      `[${R}] meaning of`,
    );
  });

  it("shows both when an observation has the same id, in whatever way either is here", () => {
    const both = `The id ${A} stands for an observation and for a reflection; both follow.\n\nObservation (`;
    expect(told([...memory, reflected("r", [reflection(A, [B])], "e1")], A)).toContain(both);
    expect(told([...memory, reflected("r", [reflection(A, [B])], "elsewhere")], A)).toContain(both);
    const elsewhere = [
      user("e1", "Hello."),
      observed("o", [observation(A, ["e1"])], "elsewhere"),
      reflected("r", [reflection(A, [B])], "e1"),
    ];
    expect(told(elsewhere, A)).toContain(both);
  });
});

describe("recalling what was recorded more than once", () => {
  const talk = [user("e1", "Hello."), user("e2", "Again."), user("e3", "Bye.")];
  const sourceOf = (text: string) => text.split("\n").filter((one) => one.startsWith("Source "));

  it("shows the sources of every record, each once, under the record that memory shows", () => {
    const entries = [
      ...talk,
      observed("o0", [{ ...observation(A, ["e3"]), timestamp: "2020-01-01 00:00" }], "elsewhere"),
      observed("o1", [observation(A, ["e1", "e1"]), observation(A, ["e2"])], "e2"),
      observed("o2", [{ ...observation(A, ["e2", "e1"]), relevance: "low" }], "e3"),
    ];
    const text = told(entries, A);
    expect(text).toContain(`Observation (active)\n${line(A)}\n`);
    expect(sourceOf(text)).toEqual(["Source e1", "Source e3", "Source e2"]);
  });

  it("shows what every record of a reflection rests on, each once", () => {
    const entries = [
      ...talk,
      observed("o1", [observation(A, ["e1"]), observation(B, ["e2"])], "e2"),
      reflected("r1", [reflection(R, [A, A, C, C])], "e2"),
      reflected("r2", [reflection(R, [B, A, C])], "e2"),
    ];
    const text = told(entries, R);
    expect(text).toContain("It rests on 2 observations:");
    expect(sourceOf(text)).toEqual(["Source e1", "Source e2"]);
    expect(text.endsWith(`Cited but not on this branch: ${C}`)).toBe(true);
  });

  it("finds both kinds where neither's range is on this branch", () => {
    const entries = [
      ...talk,
      observed("o1", [observation(A, ["e1"])], "elsewhere"),
      reflected("r1", [reflection(A, [B])], "elsewhere"),
    ];
    expect(told(entries, A)).toContain("both follow");
  });
});

describe("recalling an id that stands for nothing", () => {
  it("says so, and where ids come from", () => {
    expect(told([user("e1", "Hello.")], C)).toBe(
      `No memory with the id ${C} on this branch. Ids are the 12 hex digits in brackets at the start of a memory line; memory recorded on another branch or in another session cannot be recalled here.`,
    );
  });

  it("does not take a dangling record of one kind for one of the other", () => {
    const entries = [
      user("e1", "Hello."),
      observed("o", [observation(A, ["e1"])], "elsewhere"),
      reflected("r", [reflection(R, [A])], "elsewhere"),
    ];
    const { session, lookup } = sessionOfEntries(entries);
    expect(Object.keys(recallFrom(session, lookup, A))).toEqual(["id", "observation"]);
    expect(Object.keys(recallFrom(session, lookup, R))).toEqual(["id", "reflection"]);
  });
});

describe("the pages of a recall", () => {
  const recalledOf = (text: string) => {
    const { session, lookup } = sessionOfEntries([
      user("e1", text),
      observed("o", [observation(A, ["e1"])], "e1"),
    ]);
    return recallFrom(session, lookup, A);
  };
  const MARK = /\n\n\[Page (\d+) of (\d+)\. (.*)\]$/;
  /** What a page begins with to be read by itself */
  const OPENING =
    /^Page \d+ of \d+\n\n(?:(?:\[a{12}\][^\n]*\n\n)?[^\n]* \(continued\)(?:\n|$)|\[a{12}\][^\n]*(?:\n\n|$))?/;
  const bodyOf = (page: string) => page.replace(MARK, "").replace(OPENING, "");

  it("are one, without a word about pages, when it all fits", () => {
    const { text, page, pages } = renderRecall(recalledOf("Hello."));
    expect([page, pages]).toEqual([1, 1]);
    expect(text).not.toContain("Page");
    expect(() => renderRecall(recalledOf("Hello."), { page: 3 })).toThrow(
      new RangeError(`there is no page 3 of what ${A} stands for; there is one page only, page 1`),
    );
  });

  it("say how to get the next, and which is the last", () => {
    const recalled = recalledOf("One line of many.\n".repeat(100));
    const all = renderRecall(recalled, { maxTokens: 100 });
    expect(all.pages).toBeGreaterThan(3);
    const markOf = (page: number) =>
      MARK.exec(renderRecall(recalled, { maxTokens: 100, page }).text)?.slice(1);
    expect(markOf(1)).toEqual([
      "1",
      `${all.pages}`,
      `Call recall with { "id": "${A}", "page": 2 } for the next page.`,
    ]);
    expect(markOf(2)?.[2]).toBe(`Call recall with { "id": "${A}", "page": 3 } for the next page.`);
    expect(markOf(all.pages)).toEqual([`${all.pages}`, `${all.pages}`, "This is the last page."]);
    for (const page of [0, -5, 1.5, all.pages + 1, 1e9]) {
      expect(() => markOf(page)).toThrow(RangeError);
      expect(() => markOf(page)).toThrow(`there is no page ${page} `);
      expect(() => markOf(page)).toThrow(`the last page is ${all.pages}`);
    }
  });

  it("begin with their number, the record, and the source that they go on with", () => {
    const { session, lookup } = sessionOfEntries([
      user("e1", "One line of many.\n".repeat(100)),
      ...[observed("o", [observation(A, ["e1"])], "e1"), reflected("r", [reflection(R, [A])], "e1")],
    ]);
    const page = (id: string, nth: number) =>
      renderRecall(recallFrom(session, lookup, id), { maxTokens: 200, page: nth }).text;
    expect(page(A, 1)).toMatch(/^Page 1 of \d\n\nObservation \(active\)\n\[aaaaaaaaaaaa\] /);
    expect(page(A, 2)).toMatch(
      new RegExp(
        `^Page 2 of \\d\n\n\\[${A}\\] [^\n]*\n\nSource e1 \\[User @ ${WHEN}\\] \\(continued\\)\nOne line`,
      ),
    );
    expect(page(R, 2).split("\n").slice(2, 4)).toEqual([`[${R}] meaning of ${R}`, line(A)]);
  });

  it("have an upper bound, whatever is asked for", () => {
    const recalled = recalledOf("One line of many.\n".repeat(20_000));
    const most = renderRecall(recalled, { maxTokens: RECALL_MOST_TOKENS });
    expect(most.pages).toBeGreaterThan(2);
    for (const maxTokens of [RECALL_MOST_TOKENS + 1, 1e9, Number.POSITIVE_INFINITY]) {
      expect(renderRecall(recalled, { maxTokens })).toEqual(most);
    }
  });

  it("go over a line of a megabyte once, however many pages it fills", () => {
    const recalled = recalledOf("x y ".repeat(250_000));
    const sought = vi.spyOn(String.prototype, "indexOf");
    let characters = 0;
    try {
      renderRecall(recalled, { maxTokens: 100 });
      characters = sought.mock.results.reduce((sum, { value }, at) => {
        const text: unknown = sought.mock.contexts[at];
        const from = sought.mock.calls[at]?.[1] ?? 0;
        return sum + (value === -1 ? String(text).length : Number(value) + 1) - from;
      }, 0);
    } finally {
      sought.mockRestore();
    }
    expect(characters).toBeGreaterThan(0);
    expect(characters).toBeLessThan(1_100_000);
  });

  it("break between lines, and keep each line whole", () => {
    const recalled = recalledOf(Array.from({ length: 300 }, (_, n) => `line ${n} of the source`).join("\n"));
    const { pages } = renderRecall(recalled, { maxTokens: 200 });
    const lines = Array.from({ length: pages }, (_, n) =>
      bodyOf(renderRecall(recalled, { maxTokens: 200, page: n + 1 }).text).split("\n"),
    ).flat();
    expect(lines.slice(-300)).toEqual(Array.from({ length: 300 }, (_, n) => `line ${n} of the source`));
  });

  it("hold everything once, in order and whole, and no more than they may, whatever the text", () => {
    const text = fc.oneof(
      fc.string({ maxLength: 3000, unit: "binary" }),
      fc
        .array(fc.constantFrom("a", "word ", "\n", "😀", "é", "x".repeat(70)), { maxLength: 400 })
        .map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 300 }), (given, maxTokens) => {
        const recalled = recalledOf(given);
        const whole = renderRecall(recalled, { maxTokens: RECALL_MOST_TOKENS }).text;
        const { pages } = renderRecall(recalled, { maxTokens });
        const shown = Array.from({ length: pages }, (_, n) =>
          renderRecall(recalled, { maxTokens, page: n + 1 }),
        );
        const bodies = shown.map(({ text }) => (pages === 1 ? text : bodyOf(text)));
        const bare = (written: string) => written.replace(/\s+/g, "");
        expect(bare(bodies.join(""))).toBe(bare(whole));
        for (const body of bodies) {
          expect(body.isWellFormed()).toBe(true);
          // A piece has a thousand characters at the most, and one stands on each page whatever it costs.
          const longest = Math.max(1, Math.min(1000, maxTokens >> 2));
          if (body.length > longest + 1)
            expect(estimateTextTokens(body)).toBeLessThanOrEqual(maxTokens + body.length / 20 + 5);
        }
        expect(shown.map(({ page }) => page)).toEqual(shown.map((_, n) => n + 1));
      }),
      { numRuns: 300 },
    );
  });
});

describe("recalling with a query", () => {
  const long = Array.from({ length: 200 }, (_, n) => `line ${n} of a long answer`).join("\n");
  const entries = [
    user("e1", "A missing level must stay null."),
    user("e2", long),
    ...[observed("o", [observation(A, ["e1", "e2"]), observation(B, ["e2"])], "e2")],
    reflected("r", [reflection(R, [A, B])], "e2"),
  ];
  const { session, lookup } = sessionOfEntries(entries);
  const asked = (id: string, query: string) => renderRecall(recallFrom(session, lookup, id), { query }).text;

  it("gives what matches, what is left out, and what the whole would cost", () => {
    expect(asked(A, "missing LEVELS? null")).toBe(
      `Observation (active)\n${line(A)}\n\nSource e1\n[User @ ${WHEN}]\nA missing level must stay null.\n\n1 source of 2 without a match is left out. Without a query, recall gives the whole: about 1.7k tokens.`,
    );
    expect(asked(A, "line 77").length).toBeLessThan(4500);
  });

  it("gives of a reflection the observations whose sources match", () => {
    const text = asked(R, "missing");
    expect(text).toContain(`[${R}] meaning of ${R}\n\nObservation (active)\n${line(A)}\n\nSource e1`);
    expect(text).not.toContain(line(B));
  });

  it("says when nothing matches, and takes an empty query for none", () => {
    expect(asked(A, "lighthouse\n[x]")).toBe(
      `Observation (active)\n${line(A)}\n\nNothing behind ${A} matches "lighthouse [x]". Without a query, recall gives the whole: about 1.7k tokens.`,
    );
    expect(asked(A, " \n")).toBe(renderRecall(recallFrom(session, lookup, A)).text);
  });

  it("folds what outputs repeat, and nothing that people say", () => {
    const lines = `begin\n${"again\n".repeat(30)}end`;
    const repeated = [
      user("e1", lines),
      toolResult("e2", [text(lines)]),
      observed("o", [observation(A, ["e1", "e2"])], "e2"),
    ];
    const shown = told(repeated, A);
    expect(shown).toContain(`[User @ ${WHEN}]\n${lines}`);
    expect(shown).toContain(
      `[Tool result for read @ ${WHEN}]\nbegin\nagain\n[… the line above 29 times more …]\nend`,
    );
  });
});
