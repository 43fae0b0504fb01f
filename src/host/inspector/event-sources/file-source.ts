import { basename } from "node:path";
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
  if (opened.kind === "session" || isPatched) return replayedSource(io, opened, patch);
  // Its first lines were looked at through a stream of their own.
  await opened.batches().return(undefined);
  if (opened.size === undefined) {
    throw new UsageError(`${opened.file}: it is read again while you look, so it must be a file on disk`);
  }
  const source = await openRecordingSource(opened.file);
  if (source.history.steps.length > 0) return source;
  await source.close();
  throw new UsageError(`${opened.file}: the recording holds no event; ${source.notes[0] ?? "it is empty"}`);
}

/** Events that are in no file: they are derived from a session's entries, or come of other settings. */
async function replayedSource(io: Io, opened: ReplaySource, patch: Partial<Settings>): Promise<EventSource> {
  const isSession = opened.kind === "session";
  const byId = new Map(isSession ? opened.session.entries.map((entry) => [entry.id, entry]) : []);
  const lookup = isSession ? redactedLookup((id) => byId.get(id)) : undefined;
  const source = createEventSource(opened.kind, basename(opened.file), lookup);
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

function introduction(opened: ReplaySource, patch: Partial<Settings>): string {
  return opened.kind === "session"
    ? settingsWords(opened.settings, patch)
    : `Under ${setWords(patch)}; the other settings as recorded.`;
}
