import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../../reducers/message-of.ts";
import { countOf, grouped } from "../../../reducers/words.ts";
import { EXIT, type Io } from "../io.ts";
import { openJournal } from "./batch-journal.ts";
import type { BatchOptions, BatchRecord, BatchTask, BatchVerb } from "./batch-record.ts";
import { fileHash } from "./file-hash.ts";

interface Batch {
  verb: BatchVerb;
  files: readonly string[];
  /** The verb's own */
  options: object;
  batch: BatchOptions;
  /** A file's record as a person reads it */
  lineOf: (record: BatchRecord) => string;
  /** Sees each record as it comes */
  take?: (record: BatchRecord) => void;
  /** What it all came to, below the lines */
  summary?: () => string[];
}

/** As many files may be under way or done ahead of the one that is next to be told: memory stays the same however many there are. */
const AHEAD = 4;

/**
 * Runs a verb over many files in worker threads, and tells of each in the order of `files`, whoever is done first. A file at
 * fault is a record with its error and stops nobody. Resolves to 1 if there was one, or a difference or a finding, else to 0.
 */
export async function runBatch(io: Io, { verb, files, options, batch, ...shown }: Batch): Promise<number> {
  const asJson = batch.ndjson === true || batch.json === true;
  const journal = openJournal(batch.resume, { type: "batch", verb, options });
  const jobs = batch.jobs ?? Math.max(1, availableParallelism() - 1);
  const { Tinypool } = await import("tinypool");
  const pool = new Tinypool({
    filename: workerFile(),
    minThreads: 1,
    maxThreads: jobs,
    // Node's own way of reading TypeScript, and no inspector, in a checkout too.
    execArgv: [],
  });
  const counts = { done: 0, well: 0, different: 0, broken: 0 };
  const tell = (record: BatchRecord) => {
    counts.done++;
    if (record.error !== undefined) counts.broken++;
    else if (record.exit === EXIT.ok) counts.well++;
    else counts.different++;
    shown.take?.(record);
    if (asJson) io.json(record);
    else io.line(shown.lineOf(record));
  };
  const begin = async (file: string): Promise<BatchRecord> => {
    const known = journal.isFresh ? undefined : journal.recordOf(await fileHash(file).catch(() => ""));
    if (known) return { ...known, file };
    const task: BatchTask = { verb, file, options };
    try {
      return await pool.run(task);
    } catch (error) {
      // The thread died of the file: most of all for want of memory.
      const exit = EXIT.difference;
      return { type: "file", file, hash: "", exit, error: messageOf(error), result: null };
    }
  };
  try {
    const underWay: Promise<BatchRecord>[] = [];
    for (let next = 0; next < files.length || underWay.length > 0; ) {
      while (next < files.length && underWay.length < jobs * AHEAD) underWay.push(begin(files[next++] ?? ""));
      const record = await underWay.shift();
      if (!record) break;
      journal.add(record);
      tell(record);
      await io.ready();
      if (io.closed) break;
      io.progress(() => `${counts.done} of ${files.length} files`);
    }
  } finally {
    await pool.destroy();
  }
  if (!asJson) {
    const { well, different, broken } = counts;
    const parts = [
      `${grouped(well)} well`,
      ...(different > 0 ? [`${grouped(different)} with a difference or a finding`] : []),
      ...(broken > 0 ? [`${grouped(broken)} at fault`] : []),
    ];
    for (const line of [
      "",
      `${countOf(counts.done, "file")}: ${parts.join(", ")}.`,
      ...(shown.summary?.() ?? []),
    ])
      io.line(line);
  }
  return counts.different + counts.broken > 0 ? EXIT.difference : EXIT.ok;
}

function workerFile(): string {
  // The source in a checkout; of a build, this may be a chunk.
  const places = ["./batch-worker.ts", "./batch-worker.js", "../batch-worker.js"];
  const files = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return files.find((file) => existsSync(file)) ?? "";
}
