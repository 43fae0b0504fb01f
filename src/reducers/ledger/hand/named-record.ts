import type { EntryLookup } from "../../entries/entry.ts";
import { harmlessText } from "../../harmless-text.ts";
import type { SessionState } from "../../session.ts";
import { clipped } from "../../words.ts";
import { givenMemoryId } from "../memory-id.ts";
import { readProjection, resolveSelection, selectFull } from "../projections.ts";
import { entriesOf } from "../record-text.ts";
import { isMemoryId } from "../records.ts";
import { renderObservation, renderReflection } from "../summary.ts";
import { isTakenOut } from "./hand.ts";

/** A line of memory as a user picks it. */
export interface MemoryLine {
  id: string;
  kind: "observation" | "reflection";
  /** As in a summary */
  text: string;
  /** What it says, without id, time and relevance */
  content: string;
}

/** What an id that a user gave stands for on a branch: a line, or one of each kind where both have one text. */
export interface NamedRecord {
  id: string;
  lines: MemoryLine[];
}

/** Every line of full memory: observations in the order of what they rest on, then reflections. */
export function memoryLines({ branch, ledger }: SessionState, lookup: EntryLookup): MemoryLine[] {
  return linesOf(resolveSelection(selectFull(ledger), branch, lookup));
}

/** The beginning of an id is enough from so many digits on, where only one id has it. */
const SHORTEST_ID = 4;

/** The records that an id given by a user stands for, dropped and taken out ones included; undefined for none. */
export function namedRecord(
  session: SessionState,
  lookup: EntryLookup,
  given: string,
): NamedRecord | undefined {
  const { observations, reflections } = session.ledger;
  const beginning = givenMemoryId(given);
  const isWhole = isMemoryId(beginning);
  if (!isWhole && !/^[0-9a-f]{4,11}$/.test(beginning)) return undefined;
  const known = (id: string) => observations.has(id) || reflections.has(id);
  const ids = isWhole
    ? [beginning].filter(known)
    : [...new Set([...observations.keys(), ...reflections.keys()])].filter((id) => id.startsWith(beginning));
  const [id] = ids;
  if (id === undefined || ids.length > 1) return undefined;
  const [observation, reflection] = [observations.get(id), reflections.get(id)];
  const records = {
    observations: observation ? [observation] : [],
    reflections: reflection ? [reflection] : [],
  };
  return { id, lines: linesOf(readProjection(records, entriesOf(session.branch, lookup))) };
}

/** The lines that have all of these words somewhere, the latest first. */
export function linesWith(lines: readonly MemoryLine[], words: string): MemoryLine[] {
  const wanted = words
    .toLowerCase()
    .split(/[\s[\]]+/)
    .filter((word) => word !== "");
  return lines.filter(({ text }) => wanted.every((word) => text.toLowerCase().includes(word))).toReversed();
}

const MOST_SUGGESTED = 5;
const LONGEST_SUGGESTION = 100;

/** What a user may have meant by something that is no id here: a sentence, with the nearest lines below it. */
export function unknownIdWords(
  session: SessionState,
  lookup: EntryLookup,
  given: string,
  isElsewhere: (id: string) => boolean,
): string {
  const asked = `"${clipped(harmlessText(given), 40)}"`;
  const id = givenMemoryId(given.trim().split(/\s/, 1)[0] ?? "");
  if (isMemoryId(id) && isElsewhere(id)) {
    return `${asked} is memory of another branch of this session; go there (/tree) to change it.`;
  }
  const lines = memoryLines(session, lookup).filter((line) => !isTakenOut(session.ledger.hand, line.id));
  if (lines.length === 0) return `${asked} is no memory id: this branch has no memory yet.`;
  const near = lines.filter((line) => isNear(id, line.id)).toReversed();
  const meant = (near.length > 0 ? near : linesWith(lines, given)).slice(0, MOST_SUGGESTED);
  if (meant.length === 0) {
    return `${asked} is no memory id of this branch, and no line has these words. /om:view full lists all lines with their ids.`;
  }
  return [
    `${asked} is no memory id of this branch. Did you mean:`,
    ...meant.map(({ text }) => clipped(text, LONGEST_SUGGESTION)),
  ].join("\n");
}

const MOST_WRONG_DIGITS = 2;

/** Whether one id may be meant by another: it begins like it, or differs in a digit or two. */
function isNear(given: string, id: string): boolean {
  if (given.length < SHORTEST_ID) return false;
  if (id.startsWith(given) || given.startsWith(id)) return true;
  if (given.length !== id.length) return false;
  return [...given].filter((digit, at) => digit !== id[at]).length <= MOST_WRONG_DIGITS;
}

function linesOf({ observations, reflections }: ReturnType<typeof readProjection>): MemoryLine[] {
  return [
    ...observations.map((one) => lineOf("observation", one, renderObservation(one))),
    ...reflections.map((one) => lineOf("reflection", one, renderReflection(one))),
  ];
}

function lineOf(
  kind: MemoryLine["kind"],
  { id, content }: { id: string; content: string },
  text: string,
): MemoryLine {
  return { id, kind, text, content };
}
