import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { type EntryLookup, fieldsOf, textOf } from "../../../reducers/entries/entry.ts";
import { redactedLookup } from "../../../reducers/redact.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { tryJson } from "../../cli/input/try-json.ts";
import { type Io, UsageError } from "../../cli/io.ts";
import { setWords } from "../../cli/options.ts";
import { runReplay } from "../../cli/replay/replay-run.ts";
import {
  openSource,
  type RecordingSource,
  type ReplaySource,
  readingWords,
  type SessionSource,
} from "../../cli/replay/replay-source.ts";
import { answerWords } from "../../cli/replay/replay-text.ts";
import { settingsWords } from "../../cli/replay/session-settings.ts";
import { createEventSource, type EventSource } from "./event-source.ts";
import { openRecordingSource } from "./recording-source.ts";
import { sessionOfRecording, sessionTexts } from "./session-texts.ts";

export interface OpenFileOptions {
  /** Of a session file: the branch that ends with this entry */
  leaf?: string | undefined;
  /** Settings in place of the recorded ones, or of the defaults */
  patch?: Partial<Settings>;
  /** Of a recording: the session's file, or how a command's argument names it. Unset: looked for by its id */
  session?: string | undefined;
}

/** Opens a recording, or a Pi session file, whichever it is. Throws `UsageError` for anything else. */
export async function openFileSource(
  io: Io,
  file: string | undefined,
  { leaf, patch = {}, session }: OpenFileOptions = {},
): Promise<EventSource> {
  const isPatched = Object.keys(patch).length > 0;
  const opened = await openSource(io, file, { leaf, twice: isPatched });
  if (opened.kind === "session" && session !== undefined) {
    throw new UsageError(`${opened.file}: it is a session itself; --session is for recordings`);
  }
  const lookup = opened.kind === "session" ? textsOf(opened) : await textsFor(io, opened, session);
  const command = commandFor(opened.file, { leaf, patch, session });
  if (opened.kind === "session" || isPatched) {
    // Beside what would have been, what was
    const real = isPatched ? (await replayedSource(io, opened, {}, { lookup })).history : undefined;
    return replayedSource(io, opened, patch, { command, lookup, real });
  }
  // Its first lines were looked at through a stream of their own.
  await opened.batches().return(undefined);
  if (opened.size === undefined) {
    throw new UsageError(`${opened.file}: it is read again while you look, so it must be a file on disk`);
  }
  const source = await openRecordingSource(opened.file, { command, lookup });
  if (source.history.steps.length > 0) return source;
  await source.close();
  throw new UsageError(`${opened.file}: the recording holds no event; ${source.notes[0] ?? "it is empty"}`);
}

/** Events that are in no file: they are derived from a session's entries, or come of other settings. */
async function replayedSource(
  io: Io,
  opened: ReplaySource,
  patch: Partial<Settings>,
  shown: Partial<Pick<EventSource, "command" | "lookup" | "real">>,
): Promise<EventSource> {
  const source = createEventSource(opened.kind, basename(opened.file), shown);
  const report = await runReplay(opened, io, {
    patch,
    onStep(step) {
      source.take(step);
      return true;
    },
  });
  source.notes = [
    introduction(opened, patch),
    ...answerWords(report),
    ...readingWords(basename(opened.file), report.reading),
  ];
  return source;
}

/** The command that shows the same again, from any folder; null for standard input. */
function commandFor(file: string, { leaf, patch = {}, session }: OpenFileOptions): string | null {
  if (!existsSync(file)) return null;
  const set = Object.entries(patch).flatMap(([key, value]) => ["--set", setWords({ [key]: value })]);
  const words = [resolve(file), ...option("--leaf", leaf), ...option("--session", session), ...set];
  return ["memory-lanes inspect", ...words.map(quoted)].join(" ");
}

function option(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, value];
}

function textsOf({ session }: SessionSource): EntryLookup {
  const byId = new Map(session.entries.map((entry) => [entry.id, entry]));
  return redactedLookup((id) => byId.get(id));
}

/** The texts for a recording, which holds none: of the session that it names, or that the user names. */
async function textsFor(
  io: Io,
  { file, batches }: RecordingSource,
  named: string | undefined,
): Promise<EntryLookup | undefined> {
  if (named !== undefined) {
    const session = await openSource(io, named);
    if (session.kind === "session") return sessionTexts(session.file);
    throw new UsageError(`${session.file}: it is a recording; --session takes the session's own file`);
  }
  for await (const { lines } of batches()) {
    const ids = lines.map((line) => textOf(fieldsOf(tryJson(line)).sessionId));
    const id = ids.find((one) => one !== "");
    const found = id === undefined ? undefined : sessionOfRecording(file, id);
    return found === undefined ? undefined : sessionTexts(found);
  }
  return undefined;
}

/** A word as a shell takes it for one. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function introduction(opened: ReplaySource, patch: Partial<Settings>): string {
  return opened.kind === "session"
    ? settingsWords(opened.settings, patch)
    : `Under ${setWords(patch)}; the other settings as recorded.`;
}
