import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseSession } from "../../../src/reducers/entries/session-file.ts";
import { openMemory } from "../../../src/reducers/memory.ts";
import { readAsV3, type SessionLine } from "../../support/sessions/v3-reader.ts";
import { fixtureText } from "../../support/sessions/v3-sessions.ts";

/**
 * One session that holds every entry that memory writes, by hand or by a worker. Those who know no more than V3's three kinds must
 * see of it what they would see if the others were not there.
 */
const TEXT = fixtureText("every-ledger-entry");
const [HEADER = "", ...LINES] = TEXT.trimEnd().split("\n");
const ENTRIES = LINES.map((line) => JSON.parse(line) as SessionLine);

/** Kinds of ledger entries that V3 does not know */
const NEWER = [
  "om.cost",
  "om.observations.pinned",
  "om.observations.unpinned",
  "om.memory.forgotten",
  "om.memory.restored",
  "om.reflections.dropped",
];
/** What V3's own entries have besides, since then */
const NEWER_FIELDS = ["origin", "reason", "supersededBy"];

/** The same session as if nobody had ever written them: whoever had one for a parent has its parent. */
function withoutNewer(entries: readonly SessionLine[]): SessionLine[] {
  const parents = new Map(entries.map(({ id, parentId }) => [id, parentId]));
  const gone = new Set(entries.filter(isNewer).map(({ id }) => id));
  const parentOf = (id: string | null): string | null =>
    id !== null && gone.has(id) ? parentOf(parents.get(id) ?? null) : id;
  const kept = entries
    .filter((entry) => !isNewer(entry))
    .map((entry) => ({ ...entry, parentId: parentOf(entry.parentId) }));
  return JSON.parse(JSON.stringify(kept), (name, value) => (NEWER_FIELDS.includes(name) ? undefined : value));
}

const isNewer = ({ customType }: SessionLine) => NEWER.includes(String(customType));

const textOf = (entries: readonly SessionLine[]) =>
  [HEADER, ...entries.map((entry) => JSON.stringify(entry))].map((line) => `${line}\n`).join("");

describe("a session with every entry that memory writes", () => {
  it("has each of them", () => {
    const kinds = new Set(ENTRIES.map(({ customType }) => customType));
    for (const kind of NEWER) expect(kinds).toContain(kind);
    for (const field of NEWER_FIELDS) expect(TEXT).toContain(`"${field}":`);
    expect(TEXT.match(/"(?:reason|kind)":"promoted"/g)).toHaveLength(2);
  });

  it("is to a reader of V3 what it would be without them", () => {
    const view = readAsV3(ENTRIES);
    expect(view).toEqual(readAsV3(withoutNewer(ENTRIES)));
    expect(view.observations.map((line) => line.slice(15))).toEqual([
      "2026-03-02 09:01 [critical] User requires that ferries leave at half past the hour.",
      "2026-03-02 09:02 [medium] The schedule is kept in SQLite.",
      "2026-03-02 09:05 [high] User had bay 5 closed until noon.",
      "2026-03-02 09:05 [critical] The harbour master is called Ines.",
    ]);
    expect(view.reflections).toHaveLength(3);
    expect(view.visible.observations).toHaveLength(3);
    expect(view.clocks.observe).toBeGreaterThan(0);
    expect(view.clocks.observe).toBe(view.clocks.compact);
  });

  it("stays so wherever the newer entries stand", () => {
    const newer = ENTRIES.filter(isNewer);
    const known = withoutNewer(ENTRIES);
    for (let at = 0; at <= known.length; at++) {
      const mixed = [...known.slice(0, at), ...newer, ...known.slice(at)].map((entry, place, all) => ({
        ...entry,
        parentId: all[place - 1]?.id ?? null,
      }));
      expect({ ...readAsV3(mixed), at }).toEqual({ ...readAsV3(known), at });
    }
  });

  it("is to us what the user's hand has made of it", () => {
    const { full, ledger, visible } = openMemory(parseSession(TEXT));
    expect(full.observations.map(({ content }) => content)).toEqual([
      "User requires that ferries leave at half past the hour.",
      "User had bay 5 closed until noon.",
      "The harbour master is called Ines.",
    ]);
    expect(full.reflections.map(({ content }) => content)).toEqual([
      "User wants coarse, round times in minutes.",
    ]);
    expect(visible.observations).toEqual(full.observations);
    expect(ledger.ignored).toMatchObject({ malformed: 0, dangling: 0 });
  });
});

describe("Pi", () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "memory-lanes-every-entry-"));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it("sends a model what it would send without them", () => {
    const context = (name: string, text: string) => {
      const file = join(dir, name);
      writeFileSync(file, text);
      return SessionManager.open(file).buildSessionContext();
    };
    const { messages } = context("all.jsonl", TEXT);
    expect(messages).toEqual(context("known.jsonl", textOf(withoutNewer(ENTRIES))).messages);
    expect(messages.length).toBeGreaterThan(0);
  });
});
