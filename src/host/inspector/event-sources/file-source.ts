import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { redactedLookup } from "../../../reducers/redact.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { type Io, UsageError } from "../../cli/io.ts";
import { setWords } from "../../cli/options.ts";
import { runReplay } from "../../cli/replay/replay-run.ts";
import { openSource, type ReplaySource, readingWords } from "../../cli/replay/replay-source.ts";
import { answerWords } from "../../cli/replay/replay-text.ts";
import { settingsWords } from "../../cli/replay/session-settings.ts";
import { createEventSource, type EventSource } from "./event-source.ts";
import { openRecordingSource } from "./recording-source.ts";

export interface OpenFileOptions {
  /** Of a session file: the branch that ends with this entry */
  leaf?: string | undefined;
  /** Settings in place of the recorded ones, or of the defaults */
  patch?: Partial<Settings>;
}

/** Opens a recording, or a Pi session file, whichever it is. Throws `UsageError` for anything else. */
export async function openFileSource(
  io: Io,
  file: string | undefined,
  { leaf, patch = {} }: OpenFileOptions = {},
): Promise<EventSource> {
  const isPatched = Object.keys(patch).length > 0;
  const opened = await openSource(io, file, { leaf, twice: isPatched });
  if (opened.kind === "session" || isPatched) return replayedSource(io, opened, { leaf, patch });
  // Its first lines were looked at through a stream of their own.
  await opened.batches().return(undefined);
  if (opened.size === undefined) {
    throw new UsageError(`${opened.file}: it is read again while you look, so it must be a file on disk`);
  }
  const source = await openRecordingSource(opened.file, commandFor(opened.file));
  if (source.history.steps.length > 0) return source;
  await source.close();
  throw new UsageError(`${opened.file}: the recording holds no event; ${source.notes[0] ?? "it is empty"}`);
}

/** Events that are in no file: they are derived from a session's entries, or come of other settings. */
async function replayedSource(
  io: Io,
  opened: ReplaySource,
  { leaf, patch = {} }: OpenFileOptions,
): Promise<EventSource> {
  const isSession = opened.kind === "session";
  const byId = new Map(isSession ? opened.session.entries.map((entry) => [entry.id, entry]) : []);
  const lookup = isSession ? redactedLookup((id) => byId.get(id)) : undefined;
  const source = createEventSource(opened.kind, basename(opened.file), {
    command: commandFor(opened.file, { leaf, patch }),
    lookup,
  });
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
function commandFor(file: string, { leaf, patch = {} }: OpenFileOptions = {}): string | null {
  if (!existsSync(file)) return null;
  const set = Object.entries(patch).flatMap(([key, value]) => ["--set", setWords({ [key]: value })]);
  const words = [resolve(file), ...(leaf === undefined ? [] : ["--leaf", leaf]), ...set];
  return ["memory-lanes inspect", ...words.map(quoted)].join(" ");
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
