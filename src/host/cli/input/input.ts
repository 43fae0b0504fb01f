import { createReadStream, type Stats, statSync } from "node:fs";
import { UsageError } from "../io.ts";
import { createLineSplitter } from "./line-splitter.ts";

/** Where lines come from. */
export interface Input {
  /** What to call it */
  file: string;
  /** Bytes; undefined when it cannot be known. */
  size: number | undefined;
  /** The lines in batches, as they are read. */
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
 * Opens a file, or standard input, which is kept in memory if it will be read `twice`. Throws `UsageError` when there is
 * no such file, or it is a folder.
 */
export function openInput(file: string, { twice = false }: { twice?: boolean } = {}): Input {
  if (file === "-") return standardInput(twice);
  const stats = statOf(file);
  return {
    file,
    size: stats.isFile() ? stats.size : undefined,
    batches: () => batchesOf(createReadStream(file, { highWaterMark: CHUNK_BYTES }), file),
  };
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
  return new UsageError(`${file}: it cannot be read: ${error instanceof Error ? error.message : error}`);
}

function standardInput(twice: boolean): Input {
  const kept: LineBatch[] = [];
  return {
    file: "standard input",
    size: undefined,
    async *batches() {
      if (kept.length > 0) {
        yield* kept;
        return;
      }
      for await (const batch of batchesOf(process.stdin, "standard input")) {
        if (twice) kept.push(batch);
        yield batch;
      }
    },
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
