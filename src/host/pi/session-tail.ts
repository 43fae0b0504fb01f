import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { EntryLike } from "../../reducers/entries/entry.ts";

/** The part of Pi's session manager that knows what it has written. */
export interface WrittenSession {
  /** Undefined for a session that is not kept */
  getSessionFile(): string | undefined;
  /** All entries of the file in its order */
  getEntries(): EntryLike[];
}

/**
 * Whether a session's file ends with something else than the last entry that this Pi has read or written. Pi never looks at
 * the file again, so an entry appended now would stand beside what somebody else has written there, and as the file's
 * last entry it would decide which of both the next Pi opens. A file that cannot be read has not been extended.
 */
export function isExtendedElsewhere(session: WrittenSession): boolean {
  const file = session.getSessionFile();
  if (file === undefined) return false;
  try {
    const last = lastRecord(file);
    // A session without an entry has a header alone, and that has an id of its own.
    if (last === undefined || last.type === "session") return false;
    return last.id !== session.getEntries().at(-1)?.id;
  } catch {
    return false;
  }
}

interface SessionRecord {
  type?: unknown;
  id?: unknown;
}

const READ_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/** The last line of a file that is a record; like Pi, it goes past what is none. Reads from the end. */
function lastRecord(file: string): SessionRecord | undefined {
  const fd = openSync(file, "r");
  try {
    let tail: Buffer = Buffer.alloc(0);
    for (let start = fstatSync(fd).size; start > 0; ) {
      // As much again each time: one line may have many megabytes.
      const length = Math.min(Math.max(READ_BYTES, tail.length), start);
      start -= length;
      const part = Buffer.alloc(length);
      readSync(fd, part, 0, length, start);
      tail = Buffer.concat([part, tail]);
      const whole = start === 0 ? 0 : tail.indexOf(LINE_FEED) + 1;
      if (start > 0 && whole === 0) continue;
      const record = recordIn(tail.toString("utf8", whole));
      if (record) return record;
      tail = tail.subarray(0, whole);
    }
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** The last record among whole lines. */
function recordIn(text: string): SessionRecord | undefined {
  return text
    .split("\n")
    .reverse()
    .map(parsed)
    .find((record) => record !== undefined);
}

function parsed(line: string): SessionRecord | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
