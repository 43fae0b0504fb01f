import { Command } from "commander";
import { givenMemoryId } from "../../reducers/ledger/memory-id.ts";
import { isFound, type Recalled, recallFrom } from "../../reducers/ledger/recall.ts";
import { isMemoryId } from "../../reducers/ledger/records.ts";
import { type RecallPage, renderRecall } from "../../reducers/recall/recall-text.ts";
import { clipped } from "../../reducers/words.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import { examples, ordinalOf, SESSION_ARGUMENT, SESSION_LEAF_OPTION } from "./options.ts";
import { loadBranch } from "./replay/replay-source.ts";

interface RecallOptions {
  page: number;
  query?: string;
  leaf?: string;
  json?: boolean;
}

export function recallCommand(io: Io, exit: (code: number) => void): Command {
  return new Command("recall")
    .description("Show the exact source behind one memory id of a Pi session")
    .argument("[session]", SESSION_ARGUMENT[1])
    .argument(
      "[id]",
      "the 12 hex digits at the start of a memory line, or a message's id; alone it is of the default session",
    )
    .option("--query <words>", "only the passages of the sources that have some of these words")
    .option("--page <n>", "which page of a long result", ordinalOf, 1)
    .option(...SESSION_LEAF_OPTION)
    .option("--json", "one JSON object: the record and its sources, whole, and what --query finds")
    .addHelpText(
      "after",
      examples(
        ["recall 0a1b2c3d4e5f", "the messages behind that line, in the latest session"],
        ['recall 4f2a9c 0a1b2c3d4e5f --query "port"', "only what of them has this word"],
      ),
    )
    .action(async (first: string | undefined, second: string | undefined, options: RecallOptions) => {
      const id = second ?? first;
      if (id === undefined)
        throw new UsageError("name a memory id: the 12 hex digits at the start of a memory line");
      exit(await recall(io, second === undefined ? undefined : first, id, options));
    });
}

async function recall(io: Io, file: string | undefined, id: string, options: RecallOptions): Promise<number> {
  const wanted = givenMemoryId(id);
  const { session, lookup, breakOff } = await loadBranch(io, file, options.leaf);
  const recalled = recallFrom(session, lookup, wanted);
  const found = isFound(recalled);
  if (!found && !isMemoryId(wanted)) {
    throw new UsageError(
      `"${clipped(id, LONGEST_ECHO)}": a memory id is 12 hex digits, as at the start of a memory line, and no message has this id`,
    );
  }
  if (options.json) {
    const passages = options.query === undefined ? {} : { passages: pageOf(recalled, options).text };
    io.json({ type: "recall", found, ...(breakOff && { breakOff }), ...recalled, ...passages });
    return found ? EXIT.ok : EXIT.difference;
  }
  if (!found) {
    io.complain(renderRecall(recalled).text);
    return EXIT.difference;
  }
  const { text, page, pages } = pageOf(recalled, options);
  // The agent is told to call the tool again; a user turns pages differently.
  io.line(pages === 1 ? text : text.replace(/\n\n\[Page \d+ of \d+\. [^\n]*\]$/, ""));
  if (page < pages) io.line(`\nPage ${page} of ${pages}; --page ${page + 1} shows the next.`);
  else if (pages > 1) io.line(`\nPage ${page} of ${pages}, the last.`);
  return EXIT.ok;
}

/** Characters of what the user gave that an error repeats */
const LONGEST_ECHO = 40;

function pageOf(recalled: Recalled, { page, query }: RecallOptions): RecallPage {
  try {
    return renderRecall(recalled, { page, query });
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--page ${page}: ${error.message}`);
    throw error;
  }
}
