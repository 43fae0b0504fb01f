import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EntryLike, EntryLookup } from "../../../src/reducers/entries/entry.ts";
import {
  excerpt,
  formatLocalMinute,
  renderSource,
  renderSources,
} from "../../../src/reducers/entries/sources.ts";
import { estimateTextTokens } from "../../../src/reducers/entries/tokens.ts";
import {
  assistant,
  bash,
  text as block,
  custom,
  edit,
  entry,
  message,
  toolResult,
  user,
  WHEN,
} from "../../support/sessions/builders.ts";

const NOBODY: EntryLookup = () => undefined;
/** What the entry says, without the line that says who and when. */
function words(given: EntryLike, lookup = NOBODY): string | undefined {
  return renderSource(given, lookup)?.split("\n").slice(1).join("\n");
}

function head(given: EntryLike, lookup = NOBODY): string | undefined {
  return renderSource(given, lookup)?.split("\n")[0];
}

describe("renderSource", () => {
  it.each<[EntryLike, string]>([
    [user("a", "Hello."), `[User @ ${WHEN}]\nHello.`],
    [
      assistant("a", [
        { type: "thinking", thinking: "Hm.\nWell." },
        block("I will read it."),
        { type: "toolCall", name: "read", arguments: { path: "a.ts", limit: 5 } },
        { type: "toolCall", name: "status" },
      ]),
      `[Assistant @ ${WHEN}]\n(thinking) Hm.\nWell.\nI will read it.\n(calls read)\npath: a.ts\nlimit: 5\n(calls status without arguments)`,
    ],
    [toolResult("a", [block("ok")]), `[Tool result for read @ ${WHEN}]\nok`],
    [
      message("a", "toolResult", {
        toolName: "read",
        isError: true,
        content: [block("no")],
      }),
      `[Tool result for read, an error @ ${WHEN}]\nno`,
    ],
    [
      bash("a", "ls", "", { exitCode: 2, cancelled: false }),
      `[Bash command by the user @ ${WHEN}]\n$ ls\n(exit code 2)\n(no output)`,
    ],
    [
      bash("a", "sleep 9", "z", { cancelled: true, truncated: true }),
      `[Bash command by the user @ ${WHEN}]\n$ sleep 9\n(cancelled, output truncated by Pi)\nz`,
    ],
    [
      entry("a", "custom_message", { customType: "ci", content: "Green." }),
      `[Custom (ci) @ ${WHEN}]\nGreen.`,
    ],
    [entry("a", "custom_message", { customType: "ci" }), `[Custom (ci) @ ${WHEN}]\n(no content)`],
    [entry("a", "branch_summary", { summary: "Failed." }), `[Branch summary @ ${WHEN}]\nFailed.`],
  ])("shows %j", (given, shown) => {
    expect(renderSource(given, NOBODY)).toBe(shown);
  });

  it.each<[string, object, string]>([
    ["error", { stopReason: "error", errorMessage: "503" }, "(the request failed: 503)"],
    ["error without a reason", { stopReason: "error" }, "(the request failed: no reason given)"],
    ["aborted", { stopReason: "aborted" }, "(the user stopped this reply)"],
    ["length", { stopReason: "length" }, "(this reply was cut off by the output limit)"],
    ["stop", { stopReason: "stop" }, "(no content)"],
  ])("states how a reply ended: %s", (_case, fields, shown) => {
    expect(words(assistant("a", [], fields))).toBe(shown);
  });

  it("puts a placeholder for bytes: kind and size, never the bytes", () => {
    const secret = "QUJDREVGR0g=".repeat(100);
    const content = [
      { type: "image", mimeType: "image/png", data: secret },
      { type: "thinking", thinking: "", thinkingSignature: secret, redacted: true },
      { type: "audio", data: secret },
    ];
    const shown = words(assistant("a", content)) ?? "";
    expect(shown).toBe("(image, image/png, 900 bytes)\n(thinking, redacted, 1200 characters)\n(audio)");
    expect(shown).not.toContain("QUJD");
  });

  it("names the calls that a tool made itself", () => {
    const calls = [
      { name: "read", arguments: { path: "b" }, status: "ok" },
      { name: "bash", argumentsBytes: 90_000, status: "error", error: "denied" },
    ];
    const given = message("a", "toolResult", {
      toolName: "script",
      content: [],
      nestedCalls: { calls, complete: false },
    });
    expect(words(given)?.split("\n")).toEqual([
      "(tools called inside this one)",
      "- read: ok",
      "  path: b",
      "- bash: error (denied)",
      "- more, which Pi did not record in full",
    ]);
  });

  it("shows the arguments of a call as they are read, and to the observer on one line", () => {
    const args = {
      path: "a.ts",
      edits: [
        { oldText: "let a;\n\tlet b;", newText: 'say("hi")' },
        { oldText: "c", newText: "" },
      ],
      tags: ["x", "y"],
      options: { deep: true, note: "one\ntwo" },
      none: {},
    };
    const given = assistant("a", [{ type: "toolCall", name: "edit", arguments: args }]);
    expect(words(given)?.split("\n")).toEqual([
      "(calls edit)",
      "path: a.ts",
      "edits 1:",
      "  oldText:",
      "    let a;",
      "    \tlet b;",
      '  newText: say("hi")',
      "edits 2:",
      "  oldText: c",
      "  newText: ",
      'tags: ["x","y"]',
      "options:",
      "  deep: true",
      "  note:",
      "    one",
      "    two",
      "none: {}",
    ]);
    expect(renderSources([given], { maxTokens: 1000 }).text).toContain(
      `(calls edit ${JSON.stringify(args)})`,
    );
    const plain = assistant("a", [{ type: "toolCall", name: "bash", arguments: "ls -l\ncd" }]);
    expect(words(plain)).toBe("(calls bash)\nls -l\ncd");
  });

  it("finds the name of a tool in its call when the result lacks it", () => {
    const call = assistant("call", [{ type: "toolCall", id: "c1", name: "grep", arguments: {} }]);
    const other = { ...toolResult("other", [], { toolCallId: "c0" }), parentId: "call" };
    const result = {
      ...toolResult("result", [], { toolCallId: "c1" }),
      parentId: "other",
    };
    const lookup: EntryLookup = (id) => [call, other].find((one) => one.id === id);
    expect(head(result, lookup)).toBe(`[Tool result for grep @ ${WHEN}]`);
    expect(head(result)).toBe(`[Tool result for unnamed @ ${WHEN}]`);
    const circle = { ...result, parentId: "result" };
    expect(head(circle, () => circle)).toBe(`[Tool result for unnamed @ ${WHEN}]`);
  });

  it("takes the name of the very call, not of another one or of what only looks like one", () => {
    const result = { ...toolResult("r", [], { toolCallId: "c2" }), parentId: "a" };
    const among = (...content: object[]) => {
      const call = assistant("a", content);
      return head(result, (id) => (id === "a" ? call : undefined));
    };
    const [one, two] = ["c1", "c2"].map((id) => ({ type: "toolCall", id, name: `tool ${id}` }));
    expect(among(one ?? {}, { ...two, type: "text", name: "other" }, two ?? {})).toBe(
      `[Tool result for tool c2 @ ${WHEN}]`,
    );
    expect(among(one ?? {})).toBe(`[Tool result for unnamed @ ${WHEN}]`);
    const byUser = message("a", "user", { content: [two] });
    expect(head(result, () => byUser)).toBe(`[Tool result for unnamed @ ${WHEN}]`);
    expect(head(result, (id) => (id === "a" ? assistant("a", "c2") : undefined))).toBe(
      `[Tool result for unnamed @ ${WHEN}]`,
    );
  });

  it("leaves out empty blocks, and says what it cannot show", () => {
    const shown = (...content: object[]) => words(assistant("a", content));
    expect(shown(block("a"), block(""), block("b"))).toBe("a\nb");
    // Redacted, with text all the same; not redacted, without any.
    expect(shown({ type: "thinking", thinking: "x", redacted: true, thinkingSignature: "abc" })).toBe(
      "(thinking, redacted, 3 characters)",
    );
    expect(shown({ type: "thinking", thinking: "" })).toBe("(thinking, redacted, 0 characters)");
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(shown({ type: "toolCall", name: "read", arguments: circle })).toBe(
      "(calls read (unreadable arguments))",
    );
    expect(words(bash("a", "ls", "x"))).toBe("$ ls\n(no exit code)\nx");
    const noCalls = message("a", "toolResult", {
      toolName: "x",
      content: "y",
      nestedCalls: { calls: [], complete: false },
    });
    expect(words(noCalls)).toBe("y");
  });

  it("shows names without spaces around them", () => {
    expect(head(entry("a", "custom_message", { customType: " [ci]\n", content: "x" }))).toBe(
      `[Custom (ci) @ ${WHEN}]`,
    );
  });

  it("shows a replacement in the place of the content, but lets a command stand", () => {
    const replacement = [block("(ten lines)")];
    const result = toolResult("a", "a thousand lines");
    expect(renderSource(result, NOBODY, { replacement })).toBe(
      `[Tool result for read @ ${WHEN}]\n(ten lines)`,
    );
    const command = bash("a", "ls", "x", { exitCode: 0 });
    expect(renderSource(command, NOBODY, { replacement })).toBe(renderSource(command, NOBODY));
  });

  it.each<[string, EntryLike]>([
    ["a system prompt", message("a", "system", { content: "You are" })],
    ["a hidden command", bash("a", "ls", "", { excludeFromContext: true })],
    ["an empty summary", entry("a", "branch_summary", { summary: "" })],
    [
      "a compaction",
      entry("a", "compaction", { summary: "So far", message: { role: "user", content: "x" } }),
    ],
    ["memory", custom("a", "om.observations.recorded", {})],
  ])("shows nothing of %s", (_case, given) => {
    expect(renderSource(given, NOBODY)).toBeUndefined();
  });

  it("makes harmless what a terminal, a parser or a model server stumbles over", () => {
    expect(words(user("a", "tab\tand\r\nline\rand\u0000\u001b[2J\u0085\ud83d."))).toBe(
      "tab\tand\nline\nand\ufffd\ufffd[2J\ufffd\ufffd.",
    );
    const label = entry("a", "custom_message", {
      customType: `x]\n[User @ ${"y".repeat(500)}`,
      content: "z",
    });
    expect(head(label)).toMatch(/^\[Custom \(x User @ y{60,80}\) @ 2026-01-15 14:30\]$/);
  });

  it("shows any message, whatever it holds, in text without control characters", () => {
    const junk = fc.anything({ withBigInt: true, withNullPrototype: true });
    const block = fc.oneof(
      junk,
      fc.record({
        type: fc.constantFrom("text", "thinking", "toolCall", "image"),
        text: junk,
        arguments: junk,
        name: junk,
        data: junk,
      }),
    );
    const roles = fc.constantFrom("user", "assistant", "toolResult", "custom", "bashExecution", "system", 5);
    const odd = fc.record({
      role: roles,
      content: fc.oneof(junk, fc.array(block)),
      output: junk,
      nestedCalls: fc.oneof(junk, fc.record({ calls: fc.array(junk) })),
    });
    fc.assert(
      fc.property(odd, (fields) => {
        const shown = renderSource(entry("a", "message", { message: fields }), NOBODY) ?? "";
        expect(shown).not.toMatch(/(?![\n\t])\p{Cc}/u);
        expect(shown.isWellFormed()).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe("formatLocalMinute", () => {
  it.each([
    [new Date(2026, 0, 5, 4, 3).getTime(), "2026-01-05 04:03"],
    [new Date(2025, 11, 31, 23, 59, 59).getTime(), "2025-12-31 23:59"],
    [Number.NaN, formatLocalMinute(0)],
    [9e15, formatLocalMinute(0)],
  ])("writes %d as local time", (ms, shown) => {
    expect(formatLocalMinute(ms)).toBe(shown);
  });
});

describe("excerpt", () => {
  const prose = fc.string({
    unit: fc.constantFrom("word ", "\n", "語", "😀", "xyzzy", "   ", "9"),
    maxLength: 3000,
  });

  it("is the text itself when that fits", () => {
    fc.assert(
      fc.property(prose, (text) => {
        const budget = Math.max(estimateTextTokens(text), Math.ceil(text.length / 16));
        expect(excerpt(text, budget)).toEqual({ text, excerpted: false });
      }),
    );
  });

  it("is else the head and the tail within the budget, and says exactly what is left out", () => {
    fc.assert(
      fc.property(prose, fc.integer({ min: 20, max: 300 }), (text, maxTokens) => {
        const { text: shown, excerpted } = excerpt(text, maxTokens);
        expect(estimateTextTokens(shown)).toBeLessThanOrEqual(maxTokens);
        if (!excerpted) return;
        const [, start, left, end] =
          shown.match(/^(.*?)(?:^|\n)\[… (\d+) characters left out …\](?:\n|$)(.*)$/s) ?? [];
        expect(text.startsWith(start ?? "?") && text.endsWith(end ?? "?")).toBe(true);
        expect(Number(left) + (start ?? "").length + (end ?? "").length).toBe(text.length);
        expect(shown.isWellFormed()).toBe(true);
      }),
    );
  });

  it("shows twice as much of the beginning as of the end, and splits no character", () => {
    for (const before of ["", "a"]) {
      const text = before + "😀".repeat(500);
      for (let maxTokens = 20; maxTokens < 200; maxTokens++) {
        const shown = excerpt(text, maxTokens).text;
        expect(shown.isWellFormed()).toBe(true);
        const [head = "", tail = ""] = shown.split(/\n.*\n/);
        expect(Math.abs(head.length - 2 * tail.length)).toBeLessThanOrEqual(8);
        expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
      }
    }
  });

  it("uses most of the budget", () => {
    const text = "The quick brown fox jumps over the lazy dog, again and again.\n".repeat(5000);
    expect(estimateTextTokens(excerpt(text, 2000).text)).toBeGreaterThan(1900);
  });

  it.each([1, 0, -5])("is no more than the mark for a budget of %d", (maxTokens) => {
    expect(excerpt("some words that do not fit", maxTokens).text).toBe("[… 26 characters left out …]");
  });
});

describe("renderSources", () => {
  it("shows whole entries, oldest first, each under its id", () => {
    const chunk = renderSources([user("a", "One."), entry("l", "label"), user("b", "Two.")], {
      maxTokens: 1000,
    });
    expect(chunk).toEqual({
      text: `[Source entry id: a]\n[User @ ${WHEN}]\nOne.\n\n[Source entry id: b]\n[User @ ${WHEN}]\nTwo.`,
      sourceEntryIds: ["a", "b"],
      truncated: false,
      tokens: estimateTextTokens(chunk.text),
    });
  });

  it("is empty for no conversation", () => {
    const nothing = { text: "", sourceEntryIds: [], truncated: false, tokens: 0 };
    expect(renderSources([], { maxTokens: 100 })).toEqual(nothing);
    expect(renderSources([message("s", "system", { content: "You are" })], { maxTokens: 100 })).toEqual(
      nothing,
    );
  });

  it("applies the context edits among the entries, the latest of each target", () => {
    const entries = [
      user("a", "omitted"),
      user("b", "before"),
      user("c", "restored"),
      edit("x", "a", null),
      edit("y", "b", { content: "after" }),
      edit("z", "c", null),
      edit("z2", "c", { content: "and replaced" }),
      edit("w", "d", null),
      user("d", "edited too early"),
      edit("v", "d", { content: 7 }),
    ];
    const { text, sourceEntryIds } = renderSources(entries, { maxTokens: 1000 });
    expect(sourceEntryIds).toEqual(["b", "c", "d"]);
    expect(text.match(/\]\n(?!\[)(.*)/g)).toEqual(["]\nafter", "]\nand replaced", "]\nedited too early"]);
  });

  it("stops before the first entry that does not fit", () => {
    const entries = [user("a", "Short."), user("b", "word ".repeat(500)), user("c", "Short.")];
    const { sourceEntryIds, truncated } = renderSources(entries, { maxTokens: 200 });
    expect({ sourceEntryIds, truncated }).toEqual({ sourceEntryIds: ["a"], truncated: true });
  });

  it("shows one oversized entry as a marked excerpt, and no other beside it", () => {
    const entries = [user("a", `begin ${"word ".repeat(5000)}end`), user("b", "Short.")];
    const { text, sourceEntryIds, truncated, tokens } = renderSources(entries, { maxTokens: 300 });
    expect({ sourceEntryIds, truncated }).toEqual({ sourceEntryIds: ["a"], truncated: true });
    expect(text).toMatch(
      /^\[Source entry id: a\]\n\[User @ [^\]]+\]\nbegin word[\s\S]+\n\[… \d+ characters left out …\]\n[\s\S]+ end$/,
    );
    expect(tokens).toBeLessThanOrEqual(300);
    expect(tokens).toBeGreaterThan(260);
  });

  const piece = fc.oneof(
    fc.string({ unit: "binary", maxLength: 400 }).map((text) => user("", text)),
    fc
      .string({ unit: fc.constantFrom("word ", "語", "\u0000", "[User @ x]\n", "\ud83d"), maxLength: 900 })
      .map((text) => toolResult("", [block(text)])),
    fc.constant(entry("", "label")),
  );
  const session = fc
    .array(piece, { maxLength: 12 })
    .map((list) => list.map((one, n) => ({ ...one, id: `e${n}` })));

  it("keeps to its budget, leaves no gap, and tells whether something is left", () => {
    fc.assert(
      fc.property(session, fc.integer({ min: 60, max: 800 }), (entries, maxTokens) => {
        const chunk = renderSources(entries, { maxTokens });
        expect(chunk.tokens).toBe(estimateTextTokens(chunk.text));
        expect(chunk.tokens).toBeLessThanOrEqual(maxTokens);
        const sources = entries.filter(({ type }) => type === "message").map(({ id }) => id);
        expect(chunk.sourceEntryIds).toEqual(sources.slice(0, chunk.sourceEntryIds.length));
        expect(chunk.sourceEntryIds.length > 0).toBe(sources.length > 0);
        if (chunk.sourceEntryIds.length < sources.length) expect(chunk.truncated).toBe(true);
        const shown = chunk.text.match(/^\[Source entry id: (.+)\]$/gm) ?? [];
        expect(shown).toEqual(chunk.sourceEntryIds.map((id) => `[Source entry id: ${id}]`));
        expect(chunk.text).not.toMatch(/(?![\n\t])\p{Cc}/u);
      }),
      { numRuns: 300 },
    );
  });

  it("reads no further than it shows", () => {
    const read: string[] = [];
    const watched = (id: string, text: string): EntryLike =>
      entry(id, "message", {
        message: {
          role: "user",
          get content() {
            read.push(id);
            return text;
          },
        },
      });
    const entries = Array.from({ length: 50 }, (_, n) => watched(`e${n}`, "word ".repeat(100)));
    const { sourceEntryIds } = renderSources(entries, { maxTokens: 400 });
    expect(new Set(read).size).toBe(sourceEntryIds.length + 1);
  });

  it("looks at a huge entry only as far as it shows it", () => {
    const chunkTime = (characters: number) => {
      const huge = user("a", "line of a log, with a\u0000 in it\n".repeat(characters / 32));
      const times = Array.from({ length: 5 }, () => {
        const started = performance.now();
        expect(renderSources([huge], { maxTokens: 5000 }).truncated).toBe(true);
        return performance.now() - started;
      });
      return Math.min(...times);
    };
    // A hundred times the text takes about as long; what remains is noise.
    expect(chunkTime(32_000_000)).toBeLessThan(10 * chunkTime(320_000) + 20);
  });
});

describe("the time of an entry", () => {
  const at = new Date(2026, 0, 15, 14, 30);
  it.each<[string, unknown, unknown, string]>([
    ["its own", at.toISOString(), 0, WHEN],
    ["its message's, where its own cannot be read", "yesterday", at.getTime(), WHEN],
    ["its message's, where it has none", undefined, at.toISOString(), WHEN],
    ["its message's, where its own is no time", { at: 1 }, at.getTime(), WHEN],
    ["none", "yesterday", "tomorrow", formatLocalMinute(0)],
    ["none that a calendar has", "", 1e300, formatLocalMinute(0)],
  ])("is %s", (_which, timestamp, messageTime, shown) => {
    const given = {
      ...message("e1", "user", { content: "Hi.", timestamp: messageTime }),
      timestamp,
    } as EntryLike;
    expect(head(given)).toBe(`[User @ ${shown}]`);
  });
});
