import { type Command, Option } from "commander";
import { ordinalOf } from "../options.ts";
import type { BatchOptions } from "./batch-record.ts";

/** Adds the options that a command takes for many files. */
export function withBatchOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--jobs <n>", "many files: so many at once (default: the processors less one)").argParser(
        ordinalOf,
      ),
    )
    .option("--ndjson", "many files: a record for each as a line of JSON")
    .option("--resume <journal>", "many files: keep the records there, and go on from those that are in it");
}

/** What commander made of a command line, told apart: the options for many files, and the command's own. */
export function splitOptions<T extends BatchOptions>(
  given: T,
): { batch: BatchOptions; own: Omit<T, "jobs" | "ndjson" | "resume"> } {
  const { jobs, ndjson, resume, ...own } = given;
  const batch: BatchOptions = {
    ...(jobs !== undefined && { jobs }),
    ...(resume !== undefined && { resume }),
    ndjson: ndjson === true || given.json === true,
  };
  return { batch, own };
}

/** Whether options ask for a batch whatever the number of files. */
export function asksForBatch({ jobs, ndjson, resume }: BatchOptions): boolean {
  return jobs !== undefined || ndjson === true || resume !== undefined;
}
