import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { LiveSession } from "../../../effects/live-session.ts";
import type { EntryLike } from "../../../reducers/entries/entry.ts";
import { fieldsOf } from "../../../reducers/entries/entry.ts";
import { harmlessText } from "../../../reducers/harmless-text.ts";
import { isPinned } from "../../../reducers/ledger/hand/hand.ts";
import {
  forget,
  type HandAnswer,
  type HandledMemory,
  note,
  pin,
  undo,
  unpin,
} from "../../../reducers/ledger/hand/hand-entries.ts";
import { linesWith, type MemoryLine, memoryLines } from "../../../reducers/ledger/hand/named-record.ts";
import { asCleanLine } from "../../../reducers/ledger/memory-id.ts";
import { OBSERVATIONS_RECORDED, REFLECTIONS_RECORDED } from "../../../reducers/ledger/records.ts";
import { clipped } from "../../../reducers/words.ts";
import { createPromotion } from "../promote/promotion.ts";
import type { Show } from "../session-ui.ts";

const COMMANDS = { pin, unpin, forget, note, undo } as const;
export type HandCommand = keyof typeof COMMANDS | "promote";

interface HandCommandsOptions {
  session: LiveSession;
  /** All entries of the session, of every branch */
  entries: () => readonly EntryLike[];
  show: Show;
}

/** A line that a command's argument may be completed to. */
export interface HandCompletion {
  value: string;
  label: string;
  description: string;
}

const SEVERAL_IDS = /^(?:\[?[0-9a-f]{12}\]?[\s,]+)*/;
const MOST_COMPLETIONS = 20;
const LONGEST_DESCRIPTION = 120;

/** The user's hand on memory: the commands `/om:pin`, `unpin`, `forget`, `note`, `promote` and `undo`. */
export function createHandCommands({ session, entries, show }: HandCommandsOptions) {
  let lines: { of: unknown; found: MemoryLine[] } | undefined;

  /** Memory's lines, read once for as long as the ledger stays the same: a completion comes with each key. */
  function linesNow(): MemoryLine[] {
    const { session: memory } = session.state();
    if (lines?.of !== memory.ledger)
      lines = { of: memory.ledger, found: memoryLines(memory, session.lookup) };
    return lines.found;
  }

  function handled(): HandledMemory {
    const { session: memory, settings } = session.state();
    return {
      session: memory,
      lookup: session.lookup,
      redactSecrets: settings.redactSecrets,
      isElsewhere: (id) => entries().some((entry) => recordsId(entry, id)),
    };
  }

  const promote = createPromotion({ session, handled, show });

  return {
    /** Carries a command out: appends what it comes to, and tells the user; a promotion asks the user first. */
    async act(command: HandCommand, args: string, ctx: ExtensionContext): Promise<void> {
      session.sync();
      if (session.isExtendedElsewhere()) {
        show(
          ctx,
          "Another program has written to this session's file; open the session again, then say it again.",
        );
        return;
      }
      if (command === "promote") return promote(args, ctx);
      const { entries: made, words }: HandAnswer = COMMANDS[command](handled(), args);
      if (made.length > 0) session.append(made);
      show(ctx, words);
    },

    /** The lines of memory that have the words typed so far, the latest first. */
    completions(command: HandCommand, typed: string): HandCompletion[] | null {
      session.sync();
      const { hand, observations } = session.state().session.ledger;
      // What follows the id to forget is the reason; other commands take several ids.
      const picked = command === "forget" ? "" : (SEVERAL_IDS.exec(typed)?.[0] ?? "");
      const words = typed.slice(picked.length);
      const isMeant = ({ id, kind }: MemoryLine) =>
        command === "forget" ||
        command === "promote" ||
        (kind === "observation" && observations.has(id) && isPinned(hand, id) === (command === "unpin"));
      const found = linesWith(
        linesNow().filter((line) => isMeant(line) && !picked.includes(line.id)),
        words,
      );
      if (found.length === 0 || found.some(({ id }) => words.startsWith(id))) return null;
      return found.slice(0, MOST_COMPLETIONS).map(({ id, content }) => ({
        value: picked + id,
        label: id,
        description: clipped(harmlessText(asCleanLine(content)), LONGEST_DESCRIPTION),
      }));
    },
  };
}

/** Whether an entry records a line of this id. */
function recordsId(entry: EntryLike, id: string): boolean {
  const { customType, data } = fieldsOf(entry);
  const list =
    customType === OBSERVATIONS_RECORDED
      ? fieldsOf(data).observations
      : customType === REFLECTIONS_RECORDED
        ? fieldsOf(data).reflections
        : undefined;
  return Array.isArray(list) && list.some((record) => fieldsOf(record).id === id);
}
