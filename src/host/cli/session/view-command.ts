import { Command } from "commander";
import {
  isVisibleMemoryStale,
  resolveSelection,
  selectFull,
  visibleMemory,
} from "../../../reducers/ledger/projections.ts";
import { memoryView } from "../../pi/ui/memory-view.ts";
import { EXIT, type Io } from "../io.ts";
import { loadBranch, SESSION_LEAF_OPTION } from "./session-options.ts";

interface ViewOptions {
  full?: boolean;
  leaf?: string;
  json?: boolean;
}

export function viewCommand(io: Io, exit: (code: number) => void): Command {
  return new Command("view")
    .description("Show the memory of a Pi session: what the agent sees since the last compaction")
    .argument("<file>", "a Pi session (.jsonl, versions 1 to 3), or - for standard input")
    .option("--full", "the whole ledger at the branch tip instead")
    .option(...SESSION_LEAF_OPTION)
    .option("--json", "one JSON object: observations and reflections")
    .action(async (file: string, options: ViewOptions) => exit(await view(io, file, options)));
}

async function view(
  io: Io,
  file: string,
  { full = false, leaf, json = false }: ViewOptions,
): Promise<number> {
  const { session, lookup, breakOff } = await loadBranch(io, file, leaf);
  const { branch, ledger } = session;
  if (!json) {
    io.line(memoryView(session, lookup, full ? "full" : "visible"));
    return EXIT.ok;
  }
  const { observations, reflections } = full
    ? resolveSelection(selectFull(ledger), branch, lookup)
    : visibleMemory(branch, ledger, lookup);
  io.json({
    type: "memory",
    view: full ? "full" : "visible",
    /** A later compaction was not ours: the agent no longer sees this. */
    stale: !full && isVisibleMemoryStale(ledger),
    ...(breakOff && { breakOff }),
    observations,
    reflections,
  });
  return EXIT.ok;
}
