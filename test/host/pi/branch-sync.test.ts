import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { branchChange, branchEntries } from "../../../src/host/pi/branch-sync.ts";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { emptySession, extendSession, sessionOf } from "../../../src/reducers/session.ts";

/** What Pi's session manager makes of a file: it indexes entries by whatever stands where an id should. */
function sourceOf(ids: readonly unknown[]) {
  const entries = ids.map((id, at) => ({
    ...{ type: "message", id, parentId: ids[at - 1] ?? null, timestamp: "" },
    message: { role: "user", content: "hello" },
  })) as EntryLike[];
  const byId = new Map<unknown, EntryLike>(entries.map((entry) => [entry.id, entry]));
  return {
    getLeafId: () => entries.at(-1)?.id as string,
    getEntry: (id: string) => byId.get(id),
    getBranch: () => entries,
  };
}

it.each([undefined, 7, {}, true])("an entry whose id is %j is read once, and no error", (id) => {
  const source = sourceOf(["a", "b", id]);
  const first = branchChange(source, emptySession());
  if (first.type === "none") expect.unreachable();
  const session =
    first.type === "extended" ? extendSession(emptySession(), first.entries) : sessionOf(first.branch);
  expect(session.branch.length).toBeGreaterThanOrEqual(2);
  expect(branchChange(source, session).type).toBe("none");
});

describe("the entries of a branch", () => {
  const dir = mkdtempSync(join(tmpdir(), "memory-lanes-branch-"));
  afterAll(() => rmSync(dir, { recursive: true }));

  /** A tree of entries by the indexes of their parents; -1 is a root, and an index beyond the last a parent that is missing. */
  const tree = fc.array(fc.record({ parent: fc.integer({ min: -1, max: 12 }), id: fc.nat(11) }), {
    minLength: 1,
    maxLength: 12,
  });

  /** Whether Pi would follow parents for ever: it takes the last entry of an id. */
  function goesInCircles(entries: readonly EntryLike[]): boolean {
    const byId = new Map(entries.map((entry) => [entry.id, entry]));
    return entries.some((entry) => {
      let at: EntryLike | undefined = entry;
      for (let steps = 0; at; steps++) {
        if (steps > entries.length) return true;
        at = at.parentId === null ? undefined : byId.get(at.parentId);
      }
      return false;
    });
  }

  it.each([
    ["have ids of their own", false],
    ["may repeat ids", true],
  ])("are those that Pi gives, from every leaf, where entries %s", (_, mayRepeat) => {
    fc.assert(
      fc.property(tree, (nodes) => {
        const idOf = (index: number) => `e${mayRepeat ? (nodes[index]?.id ?? index) : index}`;
        const entries = nodes.map(({ parent }, index) => ({
          ...{ type: "message", id: idOf(index), timestamp: "2026-01-15T09:00:00.000Z" },
          parentId: parent < 0 ? null : idOf(parent),
          message: { role: "user", content: `#${index}`, timestamp: 0 },
        }));
        fc.pre(!goesInCircles(entries));
        const file = join(dir, "session.jsonl");
        const header = { type: "session", version: 3, id: "s", timestamp: "", cwd: dir };
        writeFileSync(file, [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""));
        const manager = SessionManager.open(file, dir);
        for (const { id } of entries) {
          manager.branch(id);
          expect(branchEntries(manager)).toEqual(manager.getBranch());
        }
      }),
      { numRuns: 200 },
    );
  });

  it("are found without asking for the branch when each stands behind its parent", () => {
    const { getBranch: _, ...source } = sourceOf(["a", "b", "c"]);
    const entries = ["a", "b", "c"].map((id) => source.getEntry(id) as EntryLike);
    const given = branchEntries({
      ...source,
      getBranch: () => expect.unreachable(),
      getEntries: () => entries,
      getEntryCount: () => 3,
    });
    expect(given).toEqual(entries);
  });
});
