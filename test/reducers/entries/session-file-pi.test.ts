import {
  type FileEntry,
  migrateSessionEntries,
  parseSessionEntries,
  SessionManager,
} from "@earendil-works/pi-coding-agent";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { readSessionFile } from "../../../src/reducers/entries/session-file.ts";

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
