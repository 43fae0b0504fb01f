import { appendFileSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../../../reducers/message-of.ts";
import { tryJson } from "../input/try-json.ts";
import { UsageError } from "../io.ts";
import { type BatchHeader, BatchHeaderSchema, type BatchRecord, BatchRecordSchema } from "./batch-record.ts";

/** The records of a batch so far, in a file that outlives it. */
export interface BatchJournal {
  /** Whether it holds any from before */
  readonly isFresh: boolean;
  /** What came of a file with this content */
  recordOf(hash: string): BatchRecord | undefined;
  add(record: BatchRecord): void;
}

/**
 * Opens the file that a batch is resumed from, or makes it; without a path nothing is kept. A last line that broke off when its
 * process was killed is passed over. Throws `UsageError` for a file that is no such journal, or one of another batch.
 */
export function openJournal(path: string | undefined, header: BatchHeader): BatchJournal {
  const known = new Map<string, BatchRecord>();
  if (path === undefined) return { isFresh: true, recordOf: () => undefined, add: () => {} };
  const text = textOf(path);
  const [first = "", ...lines] = text.split("\n");
  if (text === "") append(path, header);
  else {
    const before = BatchHeaderSchema.safeParse(tryJson(first));
    if (!before.success)
      throw new UsageError(`${path}: it holds something else; name a new file for --resume`);
    // As JSON has it: what is not set is not there.
    if (!isDeepStrictEqual(before.data, JSON.parse(JSON.stringify(header)))) {
      throw new UsageError(
        `${path}: it is of another batch (${before.data.verb} ${JSON.stringify(before.data.options)}); name a new file for --resume`,
      );
    }
    for (const line of lines) {
      const record = BatchRecordSchema.safeParse(tryJson(line));
      if (record.success && record.data.hash !== "") known.set(record.data.hash, record.data);
    }
    if (!text.endsWith("\n")) append(path, undefined);
  }
  return {
    isFresh: known.size === 0,
    recordOf: (hash) => known.get(hash),
    add(record) {
      // What could not be read at all may be there the next time.
      if (record.hash === "" || known.has(record.hash)) return;
      known.set(record.hash, record);
      append(path, record);
    },
  };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw new UsageError(`${path}: it cannot be read: ${messageOf(error)}`);
  }
}

/** Adds a line, or ends one that broke off. */
function append(path: string, value: unknown): void {
  try {
    appendFileSync(path, value === undefined ? "\n" : `${JSON.stringify(value)}\n`, { mode: 0o600 });
  } catch (error) {
    throw new UsageError(`${path}: it cannot be written: ${messageOf(error)}`);
  }
}
