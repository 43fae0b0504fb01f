import { mkdirSync } from "node:fs";
import { Command } from "commander";
import { fieldsOf, textOf } from "../../../reducers/entries/entry.ts";
import { harmlessText } from "../../../reducers/harmless-text.ts";
import { runBatch } from "../batch/batch.ts";
import { batchFiles, isBatch } from "../batch/batch-files.ts";
import { asksForBatch, splitOptions, withBatchOptions } from "../batch/batch-options.ts";
import type { BatchOptions } from "../batch/batch-record.ts";
import { EXIT, type Io, UsageError } from "../io.ts";
import { writeNewFile } from "../new-file.ts";
import { examples, SESSION_ARGUMENT, SESSION_LEAF_OPTION } from "../options.ts";
import { loadBranch } from "../replay/replay-source.ts";
import { exportedMemory } from "./exported-memory.ts";
import { memoryDocument } from "./memory-document.ts";

export interface ExportOptions {
  md?: boolean;
  json?: boolean;
  sources?: boolean;
  all?: boolean;
  leaf?: string;
  output?: string;
}

export function exportCommand(io: Io, exit: (code: number) => void): Command {
  const command = new Command("export")
    .description(
      "Write the memory of a Pi session as a document to read: what holds, and what happened by day",
    )
    .argument("[sessions...]", `${SESSION_ARGUMENT[1]}; of several files, folders or globs a document each`)
    .option("--md", "Markdown, which is also what it writes by default")
    .option("--sources", "with what each line rests on, as footnotes")
    .option("--all", "with what was dropped or replaced, struck out")
    .option(...SESSION_LEAF_OPTION)
    .option(
      "-o, --output <out>",
      "into this file, which must not be there yet (default: standard output); of many, into this folder",
    )
    .option("--json", "one JSON object instead")
    .addHelpText(
      "after",
      examples(
        ["export -o memory.md", "the latest session's memory as a document"],
        ["export 4f2a9c --sources", "with what each line rests on"],
      ),
    )
    .action(async (args: string[], options: ExportOptions & BatchOptions) =>
      exit(await exportAll(io, args, options)),
    );
  return withBatchOptions(command);
}

async function exportAll(
  io: Io,
  args: readonly string[],
  options: ExportOptions & BatchOptions,
): Promise<number> {
  const { batch, own } = splitOptions(options);
  if (!isBatch(args) && !asksForBatch(options)) return exportMemory(io, args[0], own);
  if (own.output === undefined) throw new UsageError("many documents need a folder: name it with -o");
  mkdirSync(own.output, { recursive: true });
  return runBatch(io, {
    ...{ verb: "export", files: batchFiles(args), options: own },
    // Here --json is how the documents are written.
    batch: { ...batch, ndjson: options.ndjson === true },
    lineOf: ({ file, error, result }) => `${file}: ${error ?? `→ ${textOf(fieldsOf(result).written)}`}`,
  });
}

/** Carries the command out; resolves to its exit code. */
export async function exportMemory(
  io: Io,
  argument: string | undefined,
  { md = false, json = false, sources = false, all = false, leaf, output }: ExportOptions,
): Promise<number> {
  if (md && json) throw new UsageError("--md and --json: it is one of the two");
  const { breakOff, ...loaded } = await loadBranch(io, argument, leaf);
  const memory = { ...exportedMemory(loaded, { all, sources }), ...(breakOff && { breakOff }) };
  if (output !== undefined) {
    writeNewFile(output, `${json ? JSON.stringify(memory) : harmlessText(memoryDocument(memory))}\n`);
    io.complain(`Wrote ${output}`);
  } else if (json) io.json(memory);
  else io.line(memoryDocument(memory));
  return EXIT.ok;
}
