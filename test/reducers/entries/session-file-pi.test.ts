import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type FileEntry,
  migrateSessionEntries,
  parseSessionEntries,
  SessionManager,
} from "@earendil-works/pi-coding-agent";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kindAt, tokensAt } from "../../../src/reducers/branch.ts";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { readSessionFile } from "../../../src/reducers/entries/session-file.ts";
import { sessionOfEntries } from "../../../src/reducers/memory.ts";
import { sourcesOf } from "../../support/sessions/pi-oracle.ts";

/** Lines of a session file: entries in any order of parents, blank and broken lines, repeated ids, a second header. */
const randomFile = fc
  .record({
    version: fc.constantFrom(undefined, 1, 2, 3),
    lines: fc.array(
      fc.record({
        kind: fc.constantFrom(
          "message",
          "message",
          "hook",
          "compaction",
          "blank",
          "broken",
          "null",
          "header",
        ),
        parent: fc.constantFrom("previous", "previous", "root", "earlier", "lost"),
        repeatsId: fc.boolean(),
        pick: fc.nat(40),
      }),
      { maxLength: 25 },
    ),
  })
  .map(({ version, lines }) => {
    const text = [
      JSON.stringify({ type: "session", version, id: "s", timestamp: "2026-01-15T14:00:00Z", cwd: "/w" }),
    ];
    const ids: string[] = [];
    for (const [n, { kind, parent, repeatsId, pick }] of lines.entries()) {
      if (kind === "blank") text.push("  ");
      else if (kind === "broken") text.push('{"type":"message","id":');
      else if (kind === "null") text.push("null");
      else if (kind === "header") text.push('{"type":"session","id":"again"}');
      else {
        const repeated = repeatsId && pick % 5 === 0 ? ids[pick % Math.max(1, ids.length)] : undefined;
        const parents = {
          previous: ids.at(-1),
          root: undefined,
          earlier: ids[pick % Math.max(1, ids.length)],
          lost: "lost",
        };
        const tree = {
          id: repeated ?? `e${n}`,
          // A repeated id with a parent could make a circle, in which Pi would walk for ever.
          parentId: (repeated === undefined ? parents[parent] : undefined) ?? null,
        };
        const message = { role: kind === "hook" ? "hookMessage" : "user", content: `line ${n}` };
        const cut =
          version === 2 || version === 3 ? { firstKeptEntryId: `e${pick}` } : { firstKeptEntryIndex: pick };
        const body =
          kind === "compaction" ? { type: "compaction", summary: "", ...cut } : { type: "message", message };
        text.push(
          JSON.stringify({
            timestamp: "2026-01-15T14:00:00Z",
            ...body,
            ...(version === 2 || version === 3 ? tree : {}),
          }),
        );
        ids.push(tree.id);
      }
    }
    return `${text.join("\n")}\n`;
  });

describe("a session file", () => {
  it("gives the entries and the branch that Pi gives, whatever its version and its damage", () => {
    fc.assert(
      fc.property(randomFile, (text) => {
        const entries = parseSessionEntries(text).filter((entry: FileEntry | null) => entry !== null);
        migrateSessionEntries(entries);
        const manager = SessionManager.inMemory("/w", {}, entries);
        const ours = readSessionFile(text);
        const names = new Map(manager.getEntries().map(({ id }, at) => [id, ours.all[at]?.id ?? ""]));
        expect(ours.all).toEqual(renamed(manager.getEntries(), names));
        expect(ours.entries).toEqual(renamed(manager.getBranch(), names));
      }),
      { numRuns: 500 },
    );
  });
});

/** Pi makes up random ids for a file without; ours are made from line numbers. */
function renamed(entries: readonly EntryLike[], names: ReadonlyMap<string, string>): unknown[] {
  return entries.map((entry) => {
    const cut = "firstKeptEntryId" in entry ? entry.firstKeptEntryId : undefined;
    return {
      ...entry,
      id: names.get(entry.id),
      parentId: entry.parentId === null ? null : (names.get(entry.parentId) ?? entry.parentId),
      ...(typeof cut === "string" && { firstKeptEntryId: names.get(cut) ?? cut }),
    };
  });
}

/** What happens to files of the current version: killed processes, full disks, editors, other programs. */
const DAMAGES = [
  "whole",
  "whole",
  "whole",
  "glued",
  "nul",
  "cut",
  "noId",
  "emptyId",
  "numberId",
  "list",
  "number",
  "leaf",
  "leafWithParent",
  "plainReply",
] as const;

const damagedFile = fc
  .record({
    version: fc.constantFrom<unknown>(3, "3", "3.0", 4, "new", [3]),
    lines: fc.array(
      fc.record({ damage: fc.constantFrom(...DAMAGES), back: fc.integer({ min: 1, max: 4 }) }),
      {
        maxLength: 14,
      },
    ),
    endsOpen: fc.boolean(),
  })
  .map(({ version, lines, endsOpen }) => {
    let text = `${JSON.stringify({ type: "session", version, id: "s", cwd: "/w" })}\n`;
    for (const [n, { damage, back }] of lines.entries()) {
      const parentId = n < back ? null : lines[n - back]?.damage === "numberId" ? n - back : `e${n - back}`;
      const reply = { role: "assistant", content: "a plain reply" };
      const message = damage === "plainReply" ? reply : { role: "user", content: `said in line ${n}` };
      const entry = { type: "message", id: `e${n}`, parentId, timestamp: "2026-01-15T14:00:00Z", message };
      const whole = JSON.stringify(entry);
      const lineOf = {
        whole,
        plainReply: whole,
        glued: whole.trimEnd(),
        nul: whole.replace("said", "sa\0id"),
        cut: whole.slice(0, -20),
        noId: JSON.stringify({ ...entry, id: undefined }),
        emptyId: JSON.stringify({ ...entry, id: "" }),
        numberId: JSON.stringify({ ...entry, id: n }),
        list: "[1]",
        number: "7",
        leaf: '{"type":"leaf"}',
        leafWithParent: JSON.stringify({ type: "leaf", parentId, timestamp: "" }),
      }[damage];
      text += damage === "glued" ? lineOf : `${lineOf}\n`;
    }
    return endsOpen ? text.slice(0, -1) : text;
  });

describe("a damaged session file", () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "damaged-session-"));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  /** A session manager of Pi's that has opened the file from disk. */
  function openedByPi(text: string): SessionManager {
    const file = join(dir, "session.jsonl");
    writeFileSync(file, text);
    return SessionManager.open(file, dir);
  }

  it("has the branch and the source entries that Pi has of it", () => {
    fc.assert(
      fc.property(damagedFile, (text) => {
        const ours = readSessionFile(text);
        const manager = openedByPi(text);
        const all = manager
          .getEntries()
          .filter((entry) => typeof entry === "object" && !Array.isArray(entry));
        expect(ours.entries.map((entry) => ours.all.indexOf(entry))).toEqual(
          manager.getBranch().map((entry) => all.indexOf(entry)),
        );
        const { branch } = sessionOfEntries(ours.entries).session;
        const counted = ours.entries.map((_, at) => at).filter((at) => kindAt(branch, at) !== "other");
        expect(counted.map((at) => tokensAt(branch, at))).toEqual(
          sourcesOf(manager.getBranch()).map(({ tokens }) => tokens),
        );
      }),
      { numRuns: 400 },
    );
  });

  it("says where its branch breaks off, and of the entries before which leaf shows how many", () => {
    fc.assert(
      fc.property(damagedFile, (text) => {
        const { entries, breakOff } = readSessionFile(text);
        const manager = openedByPi(text);
        const first = manager.getBranch()[0];
        const parent = first?.parentId;
        const isWhole = first ? !parent || parent === first.id : manager.getEntryCount() === 0;
        expect(breakOff === undefined).toBe(isWhole);
        if (!breakOff) return;
        expect(breakOff).toMatchObject({ entryId: entries[0]?.id, parentId: parent && String(parent) });
        expect(text.split("\n")[breakOff.line - 1]).toContain(
          JSON.stringify(first ?? manager.getEntries().at(-1)),
        );
        if (breakOff.leaf === undefined) {
          expect(breakOff.entriesBefore).toBe(0);
          return;
        }
        const before = readSessionFile(text, { leaf: breakOff.leaf }).entries;
        expect(before).toHaveLength(breakOff.entriesBefore);
        expect(entries.map(({ id }) => id)).not.toContain(breakOff.leaf);
      }),
      { numRuns: 400 },
    );
  });
});
