import { Command } from "commander";
import { harmlessText } from "../../../reducers/harmless-text.ts";
import { EXIT, type Io, UsageError } from "../io.ts";
import { writeNewFile } from "../new-file.ts";
import { SESSION_ARGUMENT, SESSION_LEAF_OPTION } from "../options.ts";
import { loadBranch } from "../replay/replay-source.ts";
import { exportedMemory } from "./exported-memory.ts";
import { memoryDocument } from "./memory-document.ts";

interface ExportOptions {
  md?: boolean;
  json?: boolean;
  sources?: boolean;
  all?: boolean;
  leaf?: string;
  output?: string;
}

export function exportCommand(io: Io, exit: (code: number) => void): Command {
  return new Command("export")
    .description(
      "Write the memory of a Pi session as a document to read: what holds, and what happened by day",
    )
    .argument(...SESSION_ARGUMENT)
    .option("--md", "Markdown, which is also what it writes by default")
    .option("--sources", "with what each line rests on, as footnotes")
    .option("--all", "with what was dropped or replaced, struck out")
    .option(...SESSION_LEAF_OPTION)
    .option("-o, --output <out>", "into this file, which must not be there yet (default: standard output)")
    .option("--json", "one JSON object instead")
    .action(async (argument: string | undefined, options: ExportOptions) =>
      exit(await exportMemory(io, argument, options)),
    );
}

async function exportMemory(
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
