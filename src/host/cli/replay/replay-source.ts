import { RecordingLineError } from "../../../machines/recording/recording-line.ts";
import {
  type BreakOff,
  readSessionFile,
  type SessionFile,
  SessionFileError,
} from "../../../reducers/entries/session-file.ts";
import { type Input, type LineBatch, openInput } from "../input/input.ts";
import { UsageError } from "../io.ts";

/** A line that could not be read. */
export interface BadLine {
  line: number;
  why: string;
}

/** How reading went. */
export interface Reading {
  /** How many lines could not be read */
  bad: number;
  /** The first of them */
  badLines: BadLine[];
  /** The last line broke off, as when its process was killed or the file is still being written. */
  truncated: boolean;
  /** Where the branch of a session breaks off; undefined for a whole one, and for a recording. */
  breakOff?: BreakOff | undefined;
}

const NAMED_BAD_LINES = 20;

export function newReading(): Reading {
  return { bad: 0, badLines: [], truncated: false };
}

function noteBadLine(reading: Reading, line: BadLine): void {
  reading.bad++;
  if (reading.badLines.length < NAMED_BAD_LINES) reading.badLines.push(line);
}

export interface SessionSource {
  kind: "session";
  file: string;
  session: SessionFile;
  reading: Reading;
}

export interface RecordingSource {
  kind: "recording";
  file: string;
  size: number | undefined;
  batches(): AsyncGenerator<LineBatch>;
}

export type ReplaySource = SessionSource | RecordingSource;

export interface SourceOptions {
  leaf?: string | undefined;
  /** A recording's lines will be asked for twice. */
  twice?: boolean;
}

/** Finds out what a file is. Throws `UsageError` for anything but a Pi session or a recording. */
export async function openSource(file: string, options: SourceOptions = {}): Promise<ReplaySource> {
  const { leaf, twice = false } = options;
  const input = openInput(file, { twice });
  const opened = input.batches();
  const first = await opened.next();
  if (first.done) throw new UsageError(`${input.file}: it is empty`);
  if (isSession(first.value, input.file)) {
    return sessionSource(input, await textOf(first.value, opened), leaf);
  }
  if (leaf !== undefined) {
    throw new UsageError(`${input.file}: it is a recording, which has no leaves; --leaf is for Pi sessions`);
  }
  let unread: AsyncGenerator<LineBatch> | undefined = rejoin(first.value, opened);
  return {
    kind: "recording",
    file: input.file,
    size: input.size,
    batches() {
      const batches = unread ?? input.batches();
      unread = undefined;
      return batches;
    },
  };
}

/** Reads a file that must be a Pi session. */
export async function openSession(file: string, leaf: string | undefined): Promise<SessionSource> {
  const source = await openSource(file, { leaf });
  if (source.kind === "session") return source;
  throw new UsageError(
    `${source.file}: it is a recording, which holds no text; name the Pi session's own file`,
  );
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

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function* rejoin(first: LineBatch, rest: AsyncGenerator<LineBatch>): AsyncGenerator<LineBatch> {
  yield first;
  yield* rest;
}

async function textOf(first: LineBatch, rest: AsyncGenerator<LineBatch>): Promise<string> {
  const parts: string[] = [];
  for await (const { lines, endsOpen } of rejoin(first, rest))
    parts.push(lines.join("\n"), endsOpen ? "" : "\n");
  return parts.join("");
}

function sessionSource(input: Input, text: string, leaf: string | undefined): SessionSource {
  try {
    const session = readSessionFile(text, leaf === undefined ? {} : { leaf });
    const reading = { ...newReading(), truncated: session.truncatedLastLine, breakOff: session.breakOff };
    for (const { line } of session.problems) noteBadLine(reading, { line, why: "it is not a JSON object" });
    return { kind: "session", file: input.file, session, reading };
  } catch (error) {
    if (error instanceof SessionFileError) throw new UsageError(`${input.file}: ${error.message}`);
    throw error;
  }
}

/**
 * Hands a batch's lines to `read` one by one, until it gives false. A line that it cannot read is noted, and `onLost`
 * is told; but the last line of a file may break off.
 */
export function readBatch(
  { lines, first, endsOpen }: LineBatch,
  reading: Reading,
  { read, onLost }: { read: (line: string) => boolean; onLost: () => void },
): boolean {
  let number = first - 1;
  for (const line of lines) {
    number++;
    if (line.trim() === "") continue;
    try {
      if (!read(line)) return false;
    } catch (error) {
      if (!(error instanceof RecordingLineError)) throw error;
      if (endsOpen && line === lines.at(-1)) reading.truncated = true;
      else {
        noteBadLine(reading, { line: number, why: error.message });
        onLost();
      }
    }
  }
  return true;
}
