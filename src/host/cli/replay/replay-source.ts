import { RecordingLineError } from "../../../machines/recording/recording-line.ts";
import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import {
  type BreakOff,
  readSessionFile,
  type SessionFile,
  SessionFileError,
} from "../../../reducers/entries/session-file.ts";
import { sessionOfEntries } from "../../../reducers/memory.ts";
import { redactedLookup } from "../../../reducers/redact.ts";
import type { SessionState } from "../../../reducers/session.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { countOf, grouped, listed } from "../../../reducers/words.ts";
import { type Input, type LineBatch, openInput } from "../input/input.ts";
import { fileFor } from "../input/session-files.ts";
import { tryJson } from "../input/try-json.ts";
import { type Io, UsageError } from "../io.ts";
import { settingsFor } from "./session-settings.ts";

/** How reading went. */
export interface Reading {
  /** How many lines could not be read */
  badLines: number;
  /** The first of them */
  firstBadLines: { line: number; why: string }[];
  /** The last line broke off, as when its process was killed or the file is still being written. */
  truncatedLastLine: boolean;
  /** Where the branch of a session breaks off; undefined for a whole one, and for a recording. */
  breakOff?: BreakOff | undefined;
}

const BAD_LINES_KEPT = 20;
const BAD_LINES_NAMED = 5;

function newReading(truncatedLastLine = false): Reading {
  return { badLines: 0, firstBadLines: [], truncatedLastLine };
}

function noteBadLine(reading: Reading, line: number, why: string): void {
  reading.badLines++;
  if (reading.firstBadLines.length < BAD_LINES_KEPT) reading.firstBadLines.push({ line, why });
}

/** Names the lines that could not be read; empty when all could. */
export function badLinesIn({ badLines, firstBadLines }: Reading): string {
  if (badLines === 0) return "";
  const named = firstBadLines.slice(0, BAD_LINES_NAMED).map(({ line, why }) => `line ${line} (${why})`);
  const more = badLines - named.length;
  const all = more > 0 ? [...named, `${grouped(more)} more`] : named;
  return `${countOf(badLines, "line")} could not be read: ${listed(all)}`;
}

/** What of a file could not be read: lines, and for a session what lies before the place where its branch breaks off. */
export function readingWords(file: string, reading: Reading): string[] {
  return [
    ...(reading.badLines === 0 ? [] : [`${file}: ${badLinesIn(reading)}`]),
    ...(reading.breakOff ? [`${file}, ${breakOffWords(reading.breakOff)}`] : []),
  ];
}

/** Where a branch breaks off, how much lies before, and how to see it: `line 7: the branch breaks off at entry …`. */
export function breakOffWords({ line, entryId, parentId, entriesBefore, leaf }: BreakOff): string {
  const what =
    entryId === undefined
      ? "the last entry has no id, so that Pi opens the session at no entry"
      : `the branch breaks off at entry ${entryId}: its parent ${parentId} cannot be read`;
  const before =
    leaf === undefined
      ? "nothing before it can be read"
      : `${countOf(entriesBefore, "entry lies", "entries lie")} before it; --leaf ${leaf} shows them`;
  return `line ${line}: ${what}; ${before}`;
}

/** The same on stderr. */
export function complainOfLines(io: Io, file: string, reading: Reading): void {
  for (const words of readingWords(file, reading)) io.complain(words);
}

export interface SessionSource {
  kind: "session";
  file: string;
  session: SessionFile;
  /** What it is replayed under: its file does not tell which were in force. */
  settings: Settings;
  reading: Reading;
}

export interface RecordingSource extends Input {
  kind: "recording";
}

export type ReplaySource = SessionSource | RecordingSource;

interface SourceOptions {
  leaf?: string | undefined;
  /** A recording's lines will be asked for twice. */
  twice?: boolean;
}

/**
 * Finds out what a file is: the one that a command's argument means (`givenFile`), which is told on stderr when it was not named
 * by its path. Throws `UsageError` for anything but a Pi session or a recording.
 */
export async function openSource(
  io: Io,
  argument: string | undefined,
  options: SourceOptions = {},
): Promise<ReplaySource> {
  const { leaf, twice = false } = options;
  const input = openInput(fileFor(io, argument), twice);
  const first = await firstOf(input.batches());
  if (!first) throw new UsageError(`${input.file}: it is empty`);
  if (isSession(first, input.file)) return sessionSource(input.file, await textOf(input.batches()), leaf);
  if (leaf === undefined) return { kind: "recording", ...input };
  throw new UsageError(`${input.file}: it is a recording, which has no leaves; --leaf is for Pi sessions`);
}

/** Reads a file that must be a Pi session. */
export async function openSession(
  io: Io,
  argument: string | undefined,
  leaf: string | undefined,
): Promise<SessionSource> {
  const source = await openSource(io, argument, { leaf });
  if (source.kind === "session") return source;
  throw new UsageError(
    `${source.file}: it is a recording, which holds no text; name the Pi session's own file`,
  );
}

/**
 * A session file's branch, folded, with its entries by id, their secrets replaced, and its header. Lines that cannot be read,
 * and the place where the branch breaks off, are named on stderr.
 */
export async function loadBranch(
  io: Io,
  argument: string | undefined,
  leaf: string | undefined,
): Promise<{
  session: SessionState;
  lookup: EntryLookup;
  header: SessionFile["header"];
  breakOff: BreakOff | undefined;
}> {
  const { file: name, session, reading } = await openSession(io, argument, leaf);
  complainOfLines(io, name, reading);
  const { session: folded, lookup } = sessionOfEntries(session.entries);
  const { header, breakOff } = session;
  return { session: folded, lookup: redactedLookup(lookup), header, breakOff };
}

/** Goes by the first line that is JSON; the rest may hold anything. */
function isSession({ lines, first }: LineBatch, file: string): boolean {
  for (const line of lines) {
    const value = tryJson(line);
    if (typeof value !== "object" || value === null) continue;
    const { type, v } = value as { type?: unknown; v?: unknown };
    if (type === "session") return true;
    if (v !== undefined || type === "header" || type === "keyframe" || type === "decision") return false;
  }
  const nonBlank = lines.findIndex((line) => line.trim() !== "");
  throw new UsageError(
    `${file}, line ${first + Math.max(0, nonBlank)}: neither a Pi session nor a recording`,
  );
}

async function firstOf(batches: AsyncGenerator<LineBatch>): Promise<LineBatch | undefined> {
  for await (const batch of batches) return batch;
  return undefined;
}

async function textOf(batches: AsyncGenerator<LineBatch>): Promise<string> {
  let text = "";
  for await (const { lines, endsOpen } of batches) text += lines.join("\n") + (endsOpen ? "" : "\n");
  return text;
}

function sessionSource(file: string, text: string, leaf: string | undefined): SessionSource {
  try {
    const session = readSessionFile(text, leaf === undefined ? {} : { leaf });
    const { truncatedLastLine, breakOff } = session;
    const reading = { ...newReading(truncatedLastLine), ...(breakOff && { breakOff }) };
    for (const { line } of session.problems) noteBadLine(reading, line, "it is not a JSON object");
    return { kind: "session", file, session, settings: settingsFor(session), reading };
  } catch (error) {
    if (error instanceof SessionFileError) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
}

/**
 * Hands the lines of a recording to `take` one by one, in pieces, so that output and progress keep up, until it gives
 * false or nobody looks any more: then the reading is not whole. A line that it cannot read is noted, and `onLost` is told; but
 * the last line of a file may break off.
 */
export async function readRecording(
  { file, size, batches }: RecordingSource,
  io: Io,
  take: (line: string) => unknown,
  onLost: () => void = () => {},
): Promise<{ reading: Reading; isWhole: boolean }> {
  const reading = newReading();
  for await (const { lines, first, bytes, endsOpen } of batches()) {
    for (const [at, line] of lines.entries()) {
      if (line.trim() === "") continue;
      try {
        if (take(line) === false) return { reading, isWhole: false };
      } catch (error) {
        if (!(error instanceof RecordingLineError)) throw error;
        if (endsOpen && at === lines.length - 1) reading.truncatedLastLine = true;
        else {
          noteBadLine(reading, first + at, error.message);
          onLost();
        }
      }
    }
    await io.ready();
    if (io.closed) return { reading, isWhole: false };
    const share = size === undefined ? "" : ` (${Math.min(100, Math.round((100 * bytes) / size))} %)`;
    io.progress(() => `${file}: ${countOf(first + lines.length - 1, "line")}${share}`);
  }
  return { reading, isWhole: true };
}
