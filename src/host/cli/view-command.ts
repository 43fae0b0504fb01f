import { Command } from "commander";
import { isVisibleMemoryStale } from "../../reducers/ledger/projections.ts";
import { memoryIn, memoryView } from "../pi/ui/memory-view.ts";
import { EXIT, type Io } from "./io.ts";
import { SESSION_ARGUMENT, SESSION_LEAF_OPTION } from "./options.ts";
import { loadBranch } from "./replay/replay-source.ts";

interface ViewOptions {
  full?: boolean;
  leaf?: string;
  json?: boolean;
}

export function viewCommand(io: Io, exit: (code: number) => void): Command {
  return new Command("view")
    .description("Show the memory of a Pi session: what the agent sees since the last compaction")
    .argument(...SESSION_ARGUMENT)
    .option("--full", "the whole ledger at the branch tip instead")
    .option(...SESSION_LEAF_OPTION)
    .option("--json", "one JSON object: observations and reflections")
    .action(async (file: string | undefined, options: ViewOptions) =>
      exit(await showMemory(io, file, options)),
    );
}

async function showMemory(
  io: Io,
  file: string | undefined,
  { full = false, leaf, json = false }: ViewOptions,
): Promise<number> {
  const { session, lookup, breakOff } = await loadBranch(io, file, leaf);
  const view = full ? "full" : "visible";
  if (!json) {
    io.line(memoryView(session, lookup, view));
    return EXIT.ok;
  }
  io.json({
    type: "memory",
    view,
    /** The latest compaction was not ours: the agent sees that summary, and not this. */
    stale: !full && isVisibleMemoryStale(session.ledger),
    ...(breakOff && { breakOff }),
    ...memoryIn(session, lookup, view),
  });
  return EXIT.ok;
}
