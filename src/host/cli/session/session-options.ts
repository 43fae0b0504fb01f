import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import type { BreakOff } from "../../../reducers/entries/session-file.ts";
import { sessionOfEntries } from "../../../reducers/memory.ts";
import type { SessionState } from "../../../reducers/session.ts";
import type { Io } from "../io.ts";
import { openSession } from "../replay/replay-source.ts";
import { readingWords } from "../replay/replay-summary.ts";

/** For commands that take nothing but sessions */
export const SESSION_LEAF_OPTION = [
  "--leaf <id>",
  "the branch that ends with this entry (default: the file's last entry)",
] as const;

export const LEAF_OPTION = ["--leaf <id>", `Pi session: ${SESSION_LEAF_OPTION[1]}`] as const;

export const SET_OPTION = [
  "--set <key=value>",
  "run it under another setting (repeatable)",
  collect,
] as const;

/** Gathers the values of a repeatable option. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

/**
 * A session file's branch, folded, with its entries by id. Lines that cannot be read, and the place where the branch breaks
 * off, are named on stderr.
 */
export async function loadBranch(
  io: Io,
  file: string,
  leaf: string | undefined,
): Promise<{ session: SessionState; lookup: EntryLookup; breakOff: BreakOff | undefined }> {
  const { file: name, session, reading } = await openSession(file, leaf);
  for (const words of readingWords(name, reading)) io.complain(words);
  return { ...sessionOfEntries(session.entries), breakOff: session.breakOff };
}
