import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { EntryLike, EntryLookup } from "../../../reducers/entries/entry.ts";
import { readSessionFile } from "../../../reducers/entries/session-file.ts";
import { redactedLookup } from "../../../reducers/redact.ts";
import { sessionFileOf } from "../../cli/input/session-files.ts";
import { surroundings } from "../../cli/input/surroundings.ts";
import { recordingsDir } from "../../pi/recording/session-recorder.ts";

/** The session file that a recording is of: among Pi's sessions, or those of the agent directory that the recording lies in. */
export function sessionOfRecording(file: string, sessionId: string): string | undefined {
  const here = surroundings();
  const found = sessionFileOf(sessionId, here);
  const folder = dirname(resolve(file));
  const agentDir = resolve(folder, "../..");
  if (found !== undefined || recordingsDir(agentDir) !== folder) return found;
  return sessionFileOf(sessionId, { ...here, agentDir, env: {} });
}

/**
 * Finds the entries of a session file, their secrets replaced, whichever branch they are on. Pi may be writing to the file: it is
 * read again when an entry is asked for that it did not hold.
 */
export function sessionTexts(file: string): EntryLookup {
  let size = -1;
  let entries = new Map<string, EntryLike>();
  const readAnew = (): void => {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (!stats || stats.size === size) return;
    size = stats.size;
    try {
      entries = new Map(readSessionFile(readFileSync(file, "utf8")).all.map((entry) => [entry.id, entry]));
    } catch {
      // It was a session when it was opened; what was read then stays.
    }
  };
  return redactedLookup((id) => {
    if (!entries.has(id)) readAnew();
    return entries.get(id);
  });
}
