import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import {
  buildSessionContext,
  estimateTokens,
  migrateSessionEntries,
  parseSessionEntries,
  SessionManager,
} from "@earendil-works/pi-coding-agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NOWHERE, tokensAfter } from "../../../src/reducers/branch.ts";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import {
  parseSession,
  readSessionFile,
  SessionFileError,
} from "../../../src/reducers/entries/session-file.ts";
import { sessionOfEntries } from "../../../src/reducers/memory.ts";

const HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T14:00:00.000Z","cwd":"/work"}';

function line(id: string, parentId: string | null, more: object = {}): string {
  const timestamp = "2026-01-15T14:30:00.000Z";
  return JSON.stringify({
    type: "message",
    id,
    parentId,
    timestamp,
    message: { role: "user", content: id },
    ...more,
  });
}

function file(...lines: string[]): string {
  return lines.map((one) => `${one}\n`).join("");
}

function idsOf(entries: readonly EntryLike[]): string[] {
  return entries.map(({ id }) => id);
}

/** A tree: a ─ b ─┬─ c ─ d, and e beside c. */
const TREE = file(HEADER, line("a", null), line("b", "a"), line("c", "b"), line("d", "c"), line("e", "b"));

describe("parseSession", () => {
  it("gives the branch of the last entry, root first, or that of a given leaf", () => {
    expect(idsOf(parseSession(TREE))).toEqual(["a", "b", "e"]);
    expect(idsOf(parseSession(TREE, { leaf: "d" }))).toEqual(["a", "b", "c", "d"]);
    expect(idsOf(parseSession(TREE, { leaf: "a" }))).toEqual(["a"]);
  });

  it("is empty for a session without entries", () => {
    expect(parseSession(file(HEADER))).toEqual([]);
  });

  it("gives the entries as they are, unknown fields and types included", () => {
    const odd = line("a", null, { type: "hologram", depth: { of: 3 } });
    expect(parseSession(file(HEADER, odd))).toEqual([JSON.parse(odd)]);
  });
});

describe("readSessionFile", () => {
  it("gives the header, every entry, and what it could not read", () => {
    const text = `${file(HEADER, line("a", null), "oops", "[]", "7", "", line("b", "a"))}{"type":"mess`;
    const read = readSessionFile(text);
    expect(read.header).toEqual({ id: "s", version: 3, cwd: "/work" });
    expect(idsOf(read.all)).toEqual(["a", "b"]);
    expect(read.problems).toEqual([
      { line: 3, text: "oops" },
      { line: 4, text: "[]" },
      { line: 5, text: "7" },
    ]);
    expect(read.truncatedLastLine).toBe(true);
  });

  it("reads a last line without a line end, Windows line ends and a byte order mark", () => {
    const read = readSessionFile(`\ufeff${HEADER}\r\n${line("a", null)}\r\n${line("b", "a")}`);
    expect(idsOf(read.entries)).toEqual(["a", "b"]);
    expect(read).toMatchObject({ problems: [], truncatedLastLine: false });
  });

  it("calls a broken last line a problem when the line was finished", () => {
    expect(readSessionFile(file(HEADER, '{"type":'))).toMatchObject({
      problems: [{ line: 2, text: '{"type":' }],
      truncatedLastLine: false,
    });
  });

  it.each<[string, string[], string[]]>([
    ["a missing parent makes a root", [line("a", null), line("b", "lost"), line("c", "b")], ["b", "c"]],
    ["a second root", [line("a", null), line("b", null), line("c", "b")], ["b", "c"]],
    ["a parent that is no id", [line("a", null), line("b", null, { parentId: 7 })], ["b"]],
    ["an entry that is its own parent", [line("a", "a"), line("b", "a")], ["a", "b"]],
    ["a circle is cut", [line("a", "c"), line("b", "a"), line("c", "b")], ["a", "b", "c"]],
    ["a circle by a repeated id", [line("a", null), line("b", "a"), line("a", "b")], ["b", "a"]],
    [
      "a repeated id: the later entry stands",
      [line("a", null), line("a", null, { x: 1 }), line("b", "a")],
      ["a", "b"],
    ],
    ["a parent further down in the file", [line("b", "a"), line("a", null), line("c", "b")], ["a", "b", "c"]],
    [
      "no id, so nobody's parent",
      [line("a", null), line("b", "a", { id: undefined }), line("c", "a")],
      ["a", "c"],
    ],
    ["no id at the end, so no branch", [line("a", null), line("b", "a", { id: undefined })], []],
    ["no parent field", [line("a", null), line("b", "a", { parentId: undefined })], ["b"]],
  ])("survives %s", (_case, lines, ids) => {
    expect(idsOf(readSessionFile(file(HEADER, ...lines)).entries)).toEqual(ids);
  });

  it.each<[string, string[], object]>([
    [
      "glued lines",
      [line("a", null), line("b", "a"), line("c", "b") + line("d", "c"), line("e", "d"), line("f", "e")],
      { line: 5, entryId: "e", parentId: "d", entriesBefore: 2, leaf: "b" },
    ],
    [
      "a NUL inside a record",
      [line("a", null), line("b", "a").replace("b", "\0"), line("c", "b")],
      { line: 4, entryId: "c", parentId: "b", entriesBefore: 1, leaf: "a" },
    ],
    [
      "nothing readable before it",
      [line("b", "a"), line("c", "b")],
      { line: 2, entryId: "b", parentId: "a", entriesBefore: 0, leaf: undefined },
    ],
    [
      "a last record without an id",
      [line("a", null), line("b", "a"), '{"type":"leaf","leafId":"b"}'],
      { line: 4, entryId: undefined, parentId: undefined, entriesBefore: 2, leaf: "b" },
    ],
  ])("tells where a branch breaks off: %s", (_case, lines, breakOff) => {
    const text = file(HEADER, ...lines);
    expect(readSessionFile(text).breakOff).toEqual(breakOff);
    const told: unknown[] = [];
    parseSession(text, { onBreakOff: (one) => told.push(one) });
    expect(told).toEqual([breakOff]);
  });

  it("takes no second root, header or broken last line for a break", () => {
    for (const lines of [
      [line("a", null), line("b", null)],
      ["7", line("a", null), HEADER],
      [line("a", null), '{"type":'],
      [],
    ]) {
      expect(readSessionFile(file(HEADER, ...lines)).breakOff).toBeUndefined();
    }
  });

  it.each([
    ["3", 3],
    ["2", 2],
    [null, 1],
    [undefined, 1],
    ["new", 3],
  ])("reads a header of version %j as %i", (version, number) => {
    const header = JSON.stringify({ ...JSON.parse(HEADER), version });
    expect(readSessionFile(file(header, line("a", null))).header.version).toBe(number);
  });

  it("reads version 1: ids from line numbers, a list for a tree, cuts by index", () => {
    const bare = (more: object) => JSON.stringify({ timestamp: "2025-01-01T00:00:00.000Z", ...more });
    const said = (content: string) => bare({ type: "message", message: { role: "user", content } });
    const text = file(
      '{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}',
      said("one"),
      "",
      "broken",
      said("two"),
      bare({ type: "compaction", summary: "s", firstKeptEntryIndex: 2 }),
      bare({ type: "compaction", summary: "s", firstKeptEntryIndex: 0 }),
      bare({ type: "compaction", summary: "s", firstKeptEntryIndex: 99 }),
      bare({ type: "message", message: { role: "hookMessage", content: "h" } }),
    );
    const { header, entries } = readSessionFile(text);
    expect(header.version).toBe(1);
    expect(idsOf(entries)).toEqual(["line2", "line5", "line6", "line7", "line8", "line9"]);
    expect(entries.map(({ parentId }) => parentId)).toEqual([
      null,
      "line2",
      "line5",
      "line6",
      "line7",
      "line8",
    ]);
    expect(entries[2]).toMatchObject({ firstKeptEntryId: "line5" });
    for (const at of [2, 3, 4]) expect(entries[at]).not.toHaveProperty("firstKeptEntryIndex");
    for (const at of [3, 4]) expect(entries[at]).not.toHaveProperty("firstKeptEntryId");
    expect(entries[5]).toMatchObject({ message: { role: "custom", content: "h" } });
    expect(readSessionFile(text)).toEqual(readSessionFile(text));
  });

  it("reads version 2: a hook's message is an extension's", () => {
    const header = HEADER.replace('"version":3', '"version":2');
    const hook = line("a", null, { message: { role: "hookMessage", customType: "x", content: "y" } });
    expect(parseSession(file(header, hook))[0]).toMatchObject({
      message: { role: "custom", customType: "x" },
    });
    expect(parseSession(file(HEADER, hook))[0]).toMatchObject({ message: { role: "hookMessage" } });
  });
});

describe("SessionFileError", () => {
  it.each<[string, string, RegExp, string | undefined]>([
    ["an empty file", "", /not a Pi session: .*a session starts with/, undefined],
    ["text of another kind", "# Notes\n\nhello\n", /line 1 is not JSON/, undefined],
    ["JSON of another kind", '{\n"a": 1\n}\n', /not a Pi session: line 1 is not JSON/, undefined],
    ["JSON lines of another kind", '{"a":1}\n', /line 1 is JSON of another kind/, undefined],
    ["a recording", '{"v":1,"type":"header"}\n', /line 1 is the header of a recording/, undefined],
    [
      "a session without its head",
      file("", line("a", null)),
      /line 2 is an entry of type "message"/,
      undefined,
    ],
    ["an unknown leaf", TREE, /no entry has the id nobody/, "nobody"],
  ])("says what is wrong with %s", (_case, text, wrong, leaf) => {
    const read = () => readSessionFile(text, leaf === undefined ? {} : { leaf });
    expect(read).toThrow(SessionFileError);
    expect(read).toThrow(wrong);
  });
});

const SESSIONS = resolve(import.meta.dirname, "../../../../shared/sessions");

describe.skipIf(!existsSync(SESSIONS))("real sessions", () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "session-file-"));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it.each(globSync("*.jsonl", { cwd: SESSIONS }))("%s is read and counted as Pi does", (name) => {
    const text = readFileSync(join(SESSIONS, name), "utf8");
    const ours = readSessionFile(text);
    const pi = parseSessionEntries(text);
    migrateSessionEntries(pi);
    // Pi rewrites an old file when it opens it: it gets a copy.
    cpSync(join(SESSIONS, name), join(dir, name));
    const manager = SessionManager.open(join(dir, name), dir);
    const named = new Map(manager.getEntries().map(({ id }, at) => [id, ours.all[at]?.id]));
    expect(ours.all.map(withoutIds)).toEqual(pi.filter(({ type }) => type !== "session").map(withoutIds));
    expect(idsOf(ours.entries)).toEqual(manager.getBranch().map(({ id }) => named.get(id)));

    const { session } = sessionOfEntries(ours.entries.filter(({ type }) => type !== "compaction"));
    const spoken = buildSessionContext(
      manager
        .getBranch()
        .filter(({ type }) => type !== "compaction")
        .map((entry, at, all) => ({ ...entry, parentId: all[at - 1]?.id ?? null })),
    ).messages.filter(({ role }) => role !== "system");
    expect(tokensAfter(session.branch, NOWHERE)).toBe(
      spoken.reduce((sum, message) => sum + estimateTokens(message), 0),
    );
  });
});

function withoutIds(entry: object): object {
  return { ...entry, id: "", parentId: "", firstKeptEntryId: "" };
}
