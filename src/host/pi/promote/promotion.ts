import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { LiveSession } from "../../../effects/live-session.ts";
import { harmlessText } from "../../../reducers/harmless-text.ts";
import { type HandledMemory, namedIn, promoted } from "../../../reducers/ledger/hand/hand-entries.ts";
import { recallFrom } from "../../../reducers/ledger/recall.ts";
import { countOf, grouped } from "../../../reducers/words.ts";
import type { Show } from "../session-ui.ts";
import { type BlockPlan, BrokenBlockError, type Promoted, planBlock } from "./agents-block.ts";
import { type AgentsFile, AgentsFileError, readAgentsFile, writeAgentsFile } from "./agents-file.ts";

interface PromotionOptions {
  session: LiveSession;
  /** Memory as it is now */
  handled: () => HandledMemory;
  show: Show;
}

const USAGE =
  "/om:promote ID…: the ids of lines of memory that are to stand in this project's AGENTS.md. You see the change before it is made; where nobody can be asked, --yes at the end makes it.";

/** Moves lines of memory into the project's `AGENTS.md`: the command `/om:promote`. */
export function createPromotion({ session, handled, show }: PromotionOptions) {
  /** Shows the change, and makes it if the user says yes. What stands in the way is said in one sentence or two. */
  async function promote(args: string, command: ExtensionContext): Promise<void> {
    session.sync();
    if (!command.isProjectTrusted()) {
      show(command, "Pi does not trust this project (/trust), so nothing is written into its AGENTS.md.");
      return;
    }
    const words = args.split(/\s+/);
    const named = namedIn(handled(), words.filter((word) => word !== YES).join(" "), USAGE);
    if ("words" in named) return show(command, named.words);
    const ids = named.records.map(({ id }) => id);
    const lines = linesOf(ids);
    if (typeof lines === "string") return show(command, lines);
    const file = readAgentsFile(command.cwd);
    const plan = planIn(file, lines);
    const leaving = stillInMemory(ids);
    if (plan.added.length === 0 && leaving.length === 0) {
      return show(command, `${namedWords(ids)} in ${file.path} already, and no longer in memory.`);
    }
    const preview = [...doubts(ids), previewWords(file, plan, leaving.length)].join("\n");
    if (!words.includes(YES)) {
      if (!command.hasUI) {
        show(
          command,
          `${preview}\n\nNothing is written yet, since nobody can be asked here; with --yes at the end it will be.`,
        );
        return;
      }
      const title = `Promote ${countOf(ids.length, "line")} of memory to AGENTS.md?`;
      if (!(await command.ui.confirm(title, harmlessText(preview)))) {
        if (session.isOpen()) show(command, "Nothing was promoted.");
        return;
      }
      if (!session.isOpen()) return;
      session.sync();
    }
    if (stillInMemory(ids).join() !== leaving.join() || typeof linesOf(ids) === "string") {
      return show(command, "Memory has changed meanwhile, so nothing was promoted. Promote again.");
    }
    if (leaving.length > 0 && session.isExtendedElsewhere()) {
      return show(
        command,
        "Another program has written to this session's file, so nothing was promoted. Open the session again first.",
      );
    }
    if (plan.added.length > 0) writeAgentsFile(file, plan.text);
    if (leaving.length > 0) session.append(promoted(handled().session, leaving));
    show(command, doneWords(file, plan, leaving.length));
  }

  /** What is to be written, or why that cannot be. */
  function linesOf(ids: readonly string[]): Promoted[] | string {
    const { session: memory, lookup } = handled();
    const lines: Promoted[] = [];
    for (const id of ids) {
      const { forgotten, observation, reflection } = recallFrom(memory, lookup, id);
      const content = reflection?.reflection.content ?? observation?.observation.content;
      if (forgotten) return `[${id}] was forgotten by your word; take that back before you promote it.`;
      if (content === undefined) return `[${id}] is not on this branch.`;
      lines.push({ id, sessionId: session.state().sessionId, content });
    }
    return lines;
  }

  /** That some of them no longer hold */
  function doubts(ids: readonly string[]): string[] {
    const { session: memory, lookup } = handled();
    return ids.flatMap((id) => {
      const { observation, reflection } = recallFrom(memory, lookup, id);
      const { status, replacedBy = [] } = reflection ?? observation ?? {};
      const [next] = replacedBy;
      if (status !== "dropped" || next === undefined) return [];
      return [`[${id}] no longer holds by memory: [${next}] has taken its place.`];
    });
  }

  /** Those that a summary may have, as far as the user's hand is concerned */
  function stillInMemory(ids: readonly string[]): string[] {
    const { hand } = handled().session.ledger;
    return ids.filter((id) => !hand.promoted.has(id));
  }

  return async (args: string, command: ExtensionContext): Promise<void> => {
    try {
      await promote(args, command);
    } catch (error) {
      if (!(error instanceof AgentsFileError || error instanceof BrokenBlockError)) throw error;
      if (session.isOpen()) show(command, error.message);
    }
  };
}

const YES = "--yes";

function planIn(file: AgentsFile, lines: readonly Promoted[]): BlockPlan {
  try {
    return planBlock(file.text, lines);
  } catch (error) {
    if (error instanceof BrokenBlockError) throw new BrokenBlockError(`${file.path}: ${error.message}.`);
    throw error;
  }
}

/** The change line by line and as a whole, what the block costs, and what becomes of the lines in memory. */
function previewWords(file: AgentsFile, plan: BlockPlan, leaving: number): string {
  const { edits, tokens, added } = plan;
  const name = file.bytes === undefined ? `${file.path} (a new file)` : file.path;
  if (added.length === 0) return `${name} has them already. ${leavesWords(leaving)}`;
  const changes = edits.flatMap(({ at, remove, add }) => [
    `line ${at + 1}:`,
    ...remove.map((line) => `- ${line}`),
    ...add.map((line) => `+ ${line}`.trimEnd()),
  ]);
  const now = tokens.before > 0 ? ` (now ${grouped(tokens.before)})` : "";
  const cost = `The block will cost about ${countOf(tokens.after, "token")} of every request${now}.`;
  return [name, ...changes, "", cost, ...(leaving > 0 ? [leavesWords(leaving)] : [])].join("\n");
}

function leavesWords(count: number): string {
  return `${count === 1 ? "The line is" : "The lines are"} left out of summaries from the next compaction on.`;
}

function doneWords(file: AgentsFile, { added, present, tokens }: BlockPlan, leaving: number): string {
  const moved =
    added.length > 0
      ? [
          `Wrote ${countOf(added.length, "line")} into ${file.path}; Pi reads it at its next start or /reload, for about ${countOf(tokens.after, "token")} of every request.`,
        ]
      : [];
  const there = present.length > 0 ? [`${namedWords(present)} there already.`] : [];
  const left =
    leaving > 0
      ? [`${leavesWords(leaving)} /om:undo brings memory back as it was; the file stays as you make it.`]
      : [];
  return [...moved, ...there, ...left].join(" ");
}

function namedWords(ids: readonly string[]): string {
  return `${ids.map((id) => `[${id}]`).join(" ")} ${ids.length === 1 ? "stands" : "stand"}`;
}
