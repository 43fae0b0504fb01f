import { z } from "zod";

/**
 * What came of one file of a batch: a line of `--ndjson`, and of the file that `--resume` goes on from. `result` is the verb's
 * own, as its `--json` has it.
 */
export const BatchRecordSchema = z.object({
  type: z.literal("file"),
  file: z.string(),
  /** SHA-256 of its content; empty when it could not be read */
  hash: z.string(),
  /** As the verb by itself would exit: 0 all is well, 1 a difference or a finding, 2 the file is not what it should be */
  exit: z.int(),
  /** What is wrong with the file */
  error: z.string().optional(),
  result: z.unknown(),
});
export type BatchRecord = z.infer<typeof BatchRecordSchema>;

/** First line of a file for `--resume`: what it holds the records of. */
export const BatchHeaderSchema = z.object({
  type: z.literal("batch"),
  verb: z.string(),
  /** The verb's options, which decide what a record says */
  options: z.unknown(),
});
export type BatchHeader = z.infer<typeof BatchHeaderSchema>;

/** The verbs that take many files; `verify` is `replay --verify`. */
export type BatchVerb = "replay" | "verify" | "stats" | "doctor" | "export";

/** The options that every verb takes for many files. */
export interface BatchOptions {
  jobs?: number;
  ndjson?: boolean;
  json?: boolean;
  resume?: string;
}

/** What a worker thread is asked to do. */
export interface BatchTask {
  verb: BatchVerb;
  file: string;
  options: object;
}
