import { type Branch, idAt, isSourceAt, kindAt, NOWHERE, positionOf } from "../branch.ts";
import type { EntryLookup } from "../entries/entry.ts";
import { type ContextEdit, contextEditOf, renderSource } from "../entries/sources.ts";
import { estimateTextTokens } from "../entries/tokens.ts";
import type { SessionState } from "../session.ts";
import { countOf } from "../words.ts";
import { type Ledger, memoryStatus, type UnshownRecord } from "./ledger.ts";
import { entriesOf, readRecords } from "./record-text.ts";
import type { Observation, Reflection } from "./records.ts";
import { renderObservation, renderReflection } from "./summary.ts";

/** One piece of evidence: its exact text, or why there is none. */
export type RecalledSource =
  | {
      entryId: string;
      status: "found" | "omitted";
      text: string;
      /** What Pi has since put in its place in the agent's context, if anything. */
      replacement?: string;
    }
  | { entryId: string; status: "missing" | "not-a-source" };

/** `dangling`: recorded for a range that is not on this branch, so no projection shows it. */
export type RecordStatus = "active" | "dropped" | "dangling";

export interface RecalledObservation {
  /** The record that memory shows: the first of its id */
  observation: Observation;
  status: RecordStatus;
  /** What superseded it, what superseded that in its turn, and so on: ids, the last one the newest. Empty for most. */
  replacedBy: string[];
  /** Those of every record of this id, each once */
  sources: RecalledSource[];
}

export interface RecalledReflection {
  reflection: Reflection;
  status: RecordStatus;
  /** What replaced it, likewise */
  replacedBy: string[];
  /** What every record of this id rests on, each once */
  supporting: RecalledObservation[];
  /** Cited observation ids that this branch does not have. */
  missingObservationIds: string[];
}

/** What an id stands for. Both parts are set when an observation and a reflection share the id. */
export interface Recalled {
  id: string;
  observation?: RecalledObservation;
  reflection?: RecalledReflection;
}

/** Looks an id up in the branch's whole ledger history, dropped and dangling records included. */
export function recallFrom(session: SessionState, lookup: EntryLookup, id: string): Recalled {
  const observation = recallObservation(session, lookup, id);
  const reflection = recallReflection(session, lookup, id);
  return { id, ...(observation && { observation }), ...(reflection && { reflection }) };
}

/** One page of a recall, at most about `maxTokens` estimated tokens of it, and how to get the next. */
export interface RecallPage {
  text: string;
  page: number;
  pages: number;
}

/** What a page has room for, in estimated tokens, unless it is asked for otherwise. */
export const RECALL_PAGE_TOKENS = 8000;
/** More than this fits no page, whoever asks: the next page has the rest. */
export const RECALL_MOST_TOKENS = 20_000;

/**
 * Renders what was recalled in words for the agent, page by page. `maxTokens`: about how many estimated tokens a page has, at
 * most `RECALL_MOST_TOKENS`. `page` counts from 1; a `RangeError` for a page that is not there names the last one.
 */
export function renderRecall(
  recalled: Recalled,
  {
    maxTokens = RECALL_PAGE_TOKENS,
    page = 1,
  }: { maxTokens?: number | undefined; page?: number | undefined } = {},
): RecallPage {
  const texts = paginate(describe(recalled), Math.min(Math.max(1, maxTokens), RECALL_MOST_TOKENS));
  const pages = texts.length;
  const text = texts[page - 1];
  if (text === undefined) {
    const last = pages === 1 ? "there is one page only, page 1" : `the last page is ${pages}`;
    throw new RangeError(`there is no page ${page} of what ${recalled.id} stands for; ${last}`);
  }
  if (pages === 1) return { text, page, pages };
  const more =
    page < pages
      ? `Call recall with { "id": "${recalled.id}", "page": ${page + 1} } for the next page.`
      : "This is the last page.";
  return { text: `${text}\n\n[Page ${page} of ${pages}. ${more}]`, page, pages };
}

function recallObservation(
  session: SessionState,
  lookup: EntryLookup,
  id: string,
): RecalledObservation | undefined {
  const { branch, ledger } = session;
  const records = recordsOf<Observation>(session, lookup, "observation", id);
  const [observation] = records;
  if (!observation) return undefined;
  const sources = new Set(records.flatMap(({ sourceEntryIds }) => sourceEntryIds));
  return {
    observation,
    ...fateOf(ledger, "observations", id),
    sources: [...sources].map((entryId) => recallSource(branch, lookup, entryId)),
  };
}

function recallReflection(
  session: SessionState,
  lookup: EntryLookup,
  id: string,
): RecalledReflection | undefined {
  const records = recordsOf<Reflection>(session, lookup, "reflection", id);
  const [reflection] = records;
  if (!reflection) return undefined;
  const supporting: RecalledObservation[] = [];
  const missingObservationIds: string[] = [];
  for (const observationId of new Set(records.flatMap((one) => one.supportingObservationIds))) {
    const observation = recallObservation(session, lookup, observationId);
    if (observation) supporting.push(observation);
    else missingObservationIds.push(observationId);
  }
  return { reflection, ...fateOf(session.ledger, "reflections", id), supporting, missingObservationIds };
}

function fateOf(
  ledger: Ledger,
  kind: "observations" | "reflections",
  id: string,
): { status: RecordStatus; replacedBy: string[] } {
  const records = ledger[kind];
  if (!records.has(id)) return { status: "dangling", replacedBy: [] };
  // What others have written may go round in a circle.
  const replacedBy = new Set<string>();
  for (let next = records.get(id)?.replacedBy; next !== undefined && next !== id && !replacedBy.has(next); ) {
    replacedBy.add(next);
    next = records.get(next)?.replacedBy;
  }
  return {
    status: memoryStatus(ledger, kind, id) === "active" ? "active" : "dropped",
    replacedBy: [...replacedBy],
  };
}

/** Every record of an id on the branch: first the one that projections show, if there is one. */
function recordsOf<T extends Observation | Reflection>(
  { branch, ledger }: SessionState,
  lookup: EntryLookup,
  kind: UnshownRecord["kind"],
  id: string,
): T[] {
  const list = `${kind}s` as const;
  const shown = ledger[list].get(id);
  const unshown = ledger.unshown.get(id)?.filter((record) => record.kind === kind) ?? [];
  return readRecords<T>(shown ? [shown, ...unshown] : unshown, list, entriesOf(branch, lookup));
}

function recallSource(branch: Branch, lookup: EntryLookup, entryId: string): RecalledSource {
  const position = positionOf(branch, entryId);
  const entry = position === NOWHERE ? undefined : lookup(idAt(branch, position) ?? entryId);
  if (!entry) return { entryId, status: "missing" };
  const text = renderSource(entry, lookup);
  if (text === undefined) return { entryId, status: "not-a-source" };
  if (!isSourceAt(branch, position)) return { entryId, status: "omitted", text };
  const edit = latestEdit(branch, lookup, entryId);
  const replacement = edit && renderSource(entry, lookup, { replacement: edit.content });
  const isReplaced = replacement !== undefined && replacement !== text;
  return { entryId, status: "found", text, ...(isReplaced && { replacement }) };
}

/** The context edit that holds for an entry. Walks the branch's edits from the newest on. */
function latestEdit(branch: Branch, lookup: EntryLookup, targetId: string): ContextEdit | undefined {
  if (branch.edits.length === 0) return undefined;
  for (let at = branch.length - 1; at >= 0; at--) {
    if (kindAt(branch, at) !== "contextEdit") continue;
    const edit = contextEditOf(lookup(idAt(branch, at) ?? ""));
    if (edit?.targetId === targetId) return edit;
  }
  return undefined;
}

function describe({ id, observation, reflection }: Recalled): string {
  if (!observation && !reflection) {
    return `No memory with the id ${id} on this branch. Ids are the 12 hex digits in brackets at the start of a memory line; memory recorded on another branch or in another session cannot be recalled here.`;
  }
  const parts: string[] = [];
  if (observation && reflection)
    parts.push(`The id ${id} stands for an observation and for a reflection; both follow.`);
  if (observation) parts.push(describeObservation(observation));
  if (reflection) parts.push(describeReflection(reflection));
  return parts.join("\n\n");
}

const STATUS_WORDS: Record<RecordStatus, string> = {
  active: "active",
  dropped: "dropped from active memory",
  dangling: "not part of this branch's memory: the range it covers is on another branch",
};

/** `superseded by [id], which was superseded by [id]` */
function fateWords(
  { status, replacedBy }: Pick<RecalledObservation, "status" | "replacedBy">,
  verb: string,
): string {
  if (status !== "dropped" || replacedBy.length === 0) return STATUS_WORDS[status];
  return replacedBy.map((id) => `${verb} by [${id}]`).join(", which was ");
}

function describeObservation(recalled: RecalledObservation): string {
  const { observation, sources } = recalled;
  const head = `Observation (${fateWords(recalled, "superseded")})\n${renderObservation(observation)}`;
  return [head, ...sources.map(describeSource)].join("\n\n");
}

function describeReflection(recalled: RecalledReflection): string {
  const { reflection, status, supporting, missingObservationIds } = recalled;
  const fate = status === "active" ? "" : ` (${fateWords(recalled, "replaced")})`;
  const parts = [`Reflection${fate}\n${renderReflection(reflection)}`];
  if (supporting.length === 0) parts.push("None of its supporting observations is on this branch.");
  else parts.push(`It rests on ${countOf(supporting.length, "observation")}:`);
  parts.push(...supporting.map(describeObservation));
  if (missingObservationIds.length > 0) {
    parts.push(`Cited but not on this branch: ${missingObservationIds.join(", ")}`);
  }
  return parts.join("\n\n");
}

const SOURCE_WORDS = {
  found: "",
  omitted: " (an attempt that Pi has since taken out of the conversation)",
  missing: " is not on this branch: it may belong to another branch, or the session file lost it.",
  "not-a-source": " is not part of the conversation, so it is no evidence.",
} as const;

function describeSource(source: RecalledSource): string {
  // Not the observer's block header: a recalled text may be observed in its turn, and must not look like a source.
  const head = `Source ${source.entryId}${SOURCE_WORDS[source.status]}`;
  if (!("text" in source)) return head;
  const text = `${head}\n${source.text}`;
  if (source.replacement === undefined) return text;
  return `${text}\n\nSource ${source.entryId}, as Pi has shown it to the agent since it replaced the content\n${source.replacement}`;
}

/** Splits text at line ends where it can, so that each page is at most about `maxTokens` tokens. Reads the text once. */
function paginate(text: string, maxTokens: number): string[] {
  const pages: string[] = [];
  let start = 0;
  let tokens = 0;
  for (const [pieceStart, piece] of piecesOf(text, Math.max(1, Math.min(LONGEST_PIECE, maxTokens >> 2)))) {
    const cost = estimateTextTokens(piece);
    if (tokens > 0 && tokens + cost > maxTokens) {
      pages.push(text.slice(start, pieceStart).trimEnd());
      start = pieceStart;
      tokens = 0;
    }
    tokens += cost;
  }
  pages.push(text.slice(start));
  return pages;
}

/** In UTF-16 units */
const LONGEST_PIECE = 1000;

/** The text's lines with their line ends, long ones in pieces, each with its start. No piece splits a character. */
function* piecesOf(text: string, longest: number): Generator<[start: number, piece: string]> {
  let lineEnd = 0;
  for (let start = 0; start < text.length; ) {
    // Once a line, not once a piece: the end of a line of fifty megabytes is far to seek.
    if (lineEnd <= start) lineEnd = text.indexOf("\n", start) + 1 || text.length;
    let end = Math.min(lineEnd, start + longest);
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end++;
    yield [start, text.slice(start, end)];
    start = end;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
