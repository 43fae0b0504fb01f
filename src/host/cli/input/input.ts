import { createReadStream, type Stats, statSync } from "node:fs";
import { messageOf } from "../../../reducers/message-of.ts";
import { UsageError } from "../io.ts";
import { createLineSplitter } from "./line-splitter.ts";

/** Where lines come from. */
export interface Input {
  /** What to call it */
  file: string;
  /** Bytes; undefined when it cannot be known. */
  size: number | undefined;
  /** The lines in batches, as they are read; from the beginning each time. */
  batches(): AsyncGenerator<LineBatch>;
}

export interface LineBatch {
  lines: string[];
  /** Number of the first of them, counted from 1 */
  first: number;
  /** Bytes read so far */
  bytes: number;
  /** The last line of the batch, and of the input, has no line feed: it may have broken off. */
  endsOpen: boolean;
}

const CHUNK_BYTES = 256 * 1024;

/**
 * Opens a file, or standard input. What can be read only once is kept in memory as far as it will be read again: all of it
 * if it is read `twice`, its first batch in any case. Throws `UsageError` when there is no such file, or it is a folder.
 */
export function openInput(file: string, twice = false): Input {
  if (file === "-") {
    const name = "standard input";
    return { file: name, size: undefined, batches: readOnce(batchesOf(process.stdin, name), twice) };
  }
  const stats = statOf(file);
  const open = () => batchesOf(createReadStream(file, { highWaterMark: CHUNK_BYTES }), file);
  return stats.isFile()
    ? { file, size: stats.size, batches: open }
    : { file, size: undefined, batches: readOnce(open(), twice) };
}

function statOf(file: string): Stats {
  let stats: Stats;
  try {
    stats = statSync(file);
  } catch (error) {
    throw unreadable(file, error);
  }
  if (stats.isDirectory()) throw new UsageError(`${file}: it is a folder; name a file in it`);
  return stats;
}

function unreadable(file: string, error: unknown): UsageError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") return new UsageError(`${file}: there is no such file`);
  if (code === "EACCES" || code === "EPERM") return new UsageError(`${file}: it may not be read`);
  return new UsageError(`${file}: it cannot be read: ${messageOf(error)}`);
}

/** A stream as if it began anew each time: first what was kept of it, then what has not been read. */
function readOnce(unread: AsyncGenerator<LineBatch>, keepsAll: boolean): Input["batches"] {
  const kept: LineBatch[] = [];
  return async function* () {
    yield* kept;
    for (let next = await unread.next(); !next.done; next = await unread.next()) {
      if (keepsAll || kept.length === 0) kept.push(next.value);
      yield next.value;
    }
  };
}

async function* batchesOf(stream: AsyncIterable<Buffer>, file: string): AsyncGenerator<LineBatch> {
  const splitter = createLineSplitter();
  let first = 1;
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      bytes += chunk.length;
      const lines = splitter.take(chunk);
      if (lines.length > 0) yield { lines, first, bytes, endsOpen: false };
      first += lines.length;
    }
  } catch (error) {
    throw unreadable(file, error);
  }
  const lines = splitter.takeRest();
  if (lines.length > 0) yield { lines, first, bytes, endsOpen: true };
}
