import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  buildSessionProjection,
  convertToLlm,
  estimateTokens,
  type SessionEntry,
  SessionManager,
} from "@earendil-works/pi-coding-agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readClocks, recall, renderSources } from "../../../src/index.ts";
import { isSourceAt, positionOf, tokensAt } from "../../../src/reducers/branch.ts";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { readSessionFile } from "../../../src/reducers/entries/session-file.ts";
import type { RecalledSource } from "../../../src/reducers/ledger/recall.ts";
import { sessionOfEntries } from "../../../src/reducers/memory.ts";
import { once } from "../../support/once.ts";
import { observationOf, observed } from "../../support/sessions/builders.ts";
import { ENTRY_CASES } from "../../support/sessions/entry-cases.ts";

/** One row of the table in docs/how-it-works.md. */
interface Row {
  caseId: string;
  counts: string;
  tokens: string;
  observer: string;
  recall: string;
}

const ROWS = readTable();

describe("the table of entries in how-it-works.md", () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "entry-cases-"));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it("has a row for each case, and a case for each row", () => {
    expect(ROWS.map(({ caseId }) => caseId)).toEqual(Object.keys(ENTRY_CASES));
  });

  describe.each(ROWS)("$caseId", (row) => {
    const session = once(() => {
      const build = ENTRY_CASES[row.caseId];
      if (!build) throw new Error(`no case ${row.caseId}`);
      const given = build(mkdtempSync(join(dir, `${row.caseId}-`)));
      const leaf = given.leaf === undefined ? {} : { leaf: given.leaf };
      const { entries } = readSessionFile(readFileSync(given.file, "utf8"), leaf);
      return { given, entries, about: entries.find(({ id }) => id === given.about) };
    });

    it("is read as Pi reads it", () => {
      const { given, entries } = session();
      // Before Pi opens the file, which rewrites an old one.
      const { all } = readSessionFile(readFileSync(given.file, "utf8"));
      const manager = SessionManager.open(given.file, dir);
      if (given.leaf) manager.branch(given.leaf);
      const piIds = renaming(manager.getEntries(), all);
      expect(entries).toEqual(renamed(manager.getBranch(), piIds));
    });

    it(`counts: ${row.counts}, ${row.tokens}`, () => {
      const { given, entries } = session();
      const { branch } = sessionOfEntries(entries).session;
      const at = positionOf(branch, given.about);
      expect(isSourceAt(branch, at)).toBe(row.counts === "yes");
      expect(at < 0 ? 0 : tokensAt(branch, at)).toBe(
        row.tokens === "0" ? 0 : piTokens(asPi(entries), given.about),
      );
      if (row.tokens !== "0") expect(row.tokens).toMatch(/^Pi's estimate/);
    });

    it("counts what Pi's projection has as conversation, compactions aside", () => {
      const { given, entries } = session();
      if (given.beyondPi) return expect(() => buildSessionProjection(asPi(entries))).toThrow();
      const { branch } = sessionOfEntries(entries).session;
      const ours = entries.flatMap(({ id }, at) =>
        isSourceAt(branch, at) ? [{ id, tokens: tokensAt(branch, at) }] : [],
      );
      expect(ours).toEqual(piSources(withoutCompactions(asPi(entries))));
      const kept = piSources(asPi(entries));
      expect(readClocks(entries).compact).toBe(kept.reduce((sum, { tokens }) => sum + tokens, 0));
    });

    it(`shows the observer: ${row.observer}`, () => {
      const { given, entries } = session();
      const { text } = renderSources(entries, { maxTokens: 10_000 });
      const block = text
        .split(/\n\n(?=\[Source entry id: )/)
        .find((part) => part.startsWith(headOf(given.about)));
      expect(asInTable(block?.slice(headOf(given.about).length))).toBe(row.observer);
    });

    it(`recalls: ${row.recall}`, () => {
      const { given, entries, about } = session();
      const source = recallSource(entries, given.about);
      expect(describeRecall(source, row.observer)).toBe(row.recall);
      if (source.status === "missing") expect(about).toBeUndefined();
    });
  });
});

function headOf(id: string): string {
  return `[Source entry id: ${id}]\n`;
}

/** Text as the table has it: in backticks, without times and line breaks; `nothing` for none. */
function asInTable(text: string | undefined): string {
  if (text === undefined) return "nothing";
  return `\`${text.replace(/@ \d{4}-\d\d-\d\d \d\d:\d\d\]/g, "@ …]").replaceAll("\n", " ⏎ ")}\``;
}

function describeRecall(source: RecalledSource, observer: string): string {
  if (!("text" in source)) {
    return source.status === "missing"
      ? "that it is not on this branch"
      : "that it is no part of the conversation";
  }
  const { status, text, replacement } = source;
  const own = asInTable(text);
  if (status === "omitted") return `${own}, and that Pi has taken it out`;
  if (replacement !== undefined) return `${own}, and what replaced it`;
  return own === observer ? "the same" : own;
}

/** What recall says of an entry that a memory cites. */
function recallSource(entries: EntryLike[], about: string): RecalledSource {
  const observation = observationOf("It was so.", { sourceEntryIds: [about] });
  const recorded = observed("recorded", [observation], entries.at(-1)?.id ?? "");
  const source = recall([...entries, recorded], observation.id).observation?.sources[0];
  if (!source) throw new Error("the observation was not recalled");
  return source;
}

interface Counted {
  id: string;
  tokens: number;
}

/** The entries that Pi's projection has as conversation for a model, with Pi's estimate of each. */
function piSources(entries: SessionEntry[]): Counted[] {
  return buildSessionProjection(entries).entries.flatMap(({ sourceEntry, messages }) => {
    if (sourceEntry.type === "compaction") return [];
    const spoken = messages.filter(({ role }) => role !== "system");
    if (convertToLlm(spoken).length === 0) return [];
    return [
      { id: sourceEntry.id, tokens: spoken.reduce((sum, message) => sum + estimateTokens(message), 0) },
    ];
  });
}

function piTokens(entries: SessionEntry[], id: string): number {
  const counted = piSources(withoutCompactions(entries)).find((source) => source.id === id);
  if (!counted) throw new Error(`Pi's projection has no ${id}`);
  return counted.tokens;
}

function withoutCompactions(entries: SessionEntry[]): SessionEntry[] {
  const kept = entries.filter(({ type }) => type !== "compaction");
  return kept.map((entry, at) => ({ ...entry, parentId: kept[at - 1]?.id ?? null }));
}

function asPi(entries: EntryLike[]): SessionEntry[] {
  return entries as SessionEntry[];
}

/** Pi gives the entries of the oldest files random ids: maps them to ours by their place in the file. */
function renaming(theirs: readonly EntryLike[], ours: readonly EntryLike[]): Map<string, string> {
  return new Map(theirs.map(({ id }, at) => [id, ours[at]?.id ?? id]));
}

function renamed(entries: readonly EntryLike[], ids: ReadonlyMap<string, string>): unknown {
  const json = JSON.stringify(entries);
  return JSON.parse(
    json.replace(/"([^"]+)"/g, (all, id: string) => (ids.has(id) ? `"${ids.get(id)}"` : all)),
  );
}

function readTable(): Row[] {
  const page = readFileSync(new URL("../../../docs/how-it-works.md", import.meta.url), "utf8");
  const lines = page.slice(page.indexOf("## Every kind of entry")).split("\n");
  return lines.flatMap((line) => {
    const cells = line.split("|").map((cell) => cell.trim());
    const [, , caseId, counts, tokens, observer, recalled] = cells;
    if (!caseId?.startsWith("`") || cells.length !== 8) return [];
    return [
      {
        caseId: caseId.slice(1, -1),
        counts: counts ?? "",
        tokens: tokens ?? "",
        observer: observer ?? "",
        recall: recalled ?? "",
      },
    ];
  });
}
