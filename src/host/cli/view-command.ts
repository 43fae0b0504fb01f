import { Command } from "commander";
import { isVisibleMemoryStale } from "../../reducers/ledger/projections.ts";
import { isPartial, type Spend } from "../../reducers/spend.ts";
import { spendRows } from "../../reducers/spend-words.ts";
import { memoryIn, memoryView } from "../pi/ui/memory-view.ts";
import { EXIT, type Io } from "./io.ts";
import { examples, SESSION_ARGUMENT, SESSION_LEAF_OPTION } from "./options.ts";
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
    .addHelpText(
      "after",
      examples(
        ["view", "what the agent of the latest session sees"],
        ["view 4f2a9c --full", "all that the session 4f2a9c… remembers"],
      ),
    )
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
    io.line("");
    for (const { name, value } of spendRows(session.ledger.spend)) io.line(`Spend, ${name}: ${value}`);
    return EXIT.ok;
  }
  io.json({
    type: "memory",
    view,
    /** The latest compaction was not ours: the agent sees that summary, and not this. */
    stale: !full && isVisibleMemoryStale(session.ledger),
    ...(breakOff && { breakOff }),
    ...memoryIn(session, lookup, view),
    spend: spendIn(session.ledger.spend),
  });
  return EXIT.ok;
}

/** `isPartial`: more was spent than is known. */
function spendIn(spend: Spend) {
  const { byWorker, byDay } = spend;
  return { byWorker, byDay, isPartial: isPartial(spend) };
}
