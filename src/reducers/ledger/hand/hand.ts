import type { Draft } from "immer";
import { z } from "zod";

/** What the user can do to records by hand. */
export const HAND_ACTS = ["pinned", "unpinned", "noted", "forgotten", "promoted", "restored"] as const;
export type HandActName = (typeof HAND_ACTS)[number];

/** A hand-made entry without its text. */
export const HandFactSchema = z.object({
  act: z.enum(HAND_ACTS),
  ids: z.array(z.string()),
  /** Id of the hand-made entry that this one takes back */
  undoes: z.string().optional(),
  /** It is one act with the entry before it: lines of both kinds are promoted in one go, by two entries. */
  withPrevious: z.boolean().optional(),
});
export type HandFact = z.infer<typeof HandFactSchema>;

/** A hand-made entry that changed something and has not been taken back. */
export interface HandAct {
  readonly entryId: string;
  /** Position on the branch */
  readonly entry: number;
  readonly act: HandActName;
  /** The records that it changed */
  readonly ids: readonly string[];
}

/** What the user has said of single records, which holds whatever workers say of them, before and after. */
export interface Hand {
  /** Observations that stay, and leave a summary last; also those that the user noted */
  readonly pinned: ReadonlySet<string>;
  /** Records that are in no projection, with the position of the entry that says so */
  readonly forgotten: ReadonlyMap<string, number>;
  /** Likewise: they stand in the project's own instructions instead */
  readonly promoted: ReadonlyMap<string, number>;
  /** The latest last */
  readonly acts: readonly HandAct[];
}

export function emptyHand(): Hand {
  return { pinned: new Set(), forgotten: new Map(), promoted: new Map(), acts: [] };
}

/** Whether the user has taken a record out of memory. */
export function isTakenOut({ forgotten, promoted }: Hand, id: string): boolean {
  return (forgotten.size > 0 && forgotten.has(id)) || (promoted.size > 0 && promoted.has(id));
}

export function isPinned({ pinned }: Hand, observationId: string): boolean {
  return pinned.size > 0 && pinned.has(observationId);
}

/** The act that `/om:undo` would take back. */
export function latestAct({ acts }: Hand): HandAct | undefined {
  return acts.at(-1);
}

/**
 * Folds a hand-made entry at position `entry`. What takes back another leaves both out of `acts`, so that the one before
 * them comes next; an entry that changes nothing is no act.
 */
export function applyHand(draft: Draft<Hand>, fact: HandFact, entryId: string, entry: number): void {
  const { act, ids, undoes, withPrevious = false } = fact;
  const undone = undoes === undefined ? undefined : draft.acts.find((one) => one.entryId === undoes);
  const changed = [...new Set(ids)].filter((id) => change(draft, act, id, entry, undone?.act));
  if (undone) draft.acts = draft.acts.filter((one) => one !== undone);
  else if (changed.length > 0) remember(draft, { entryId, entry, act, ids: changed }, withPrevious);
}

function remember(draft: Draft<Hand>, act: HandAct, withPrevious: boolean): void {
  const last = draft.acts.at(-1);
  if (withPrevious && last?.act === act.act && last.entry === act.entry - 1)
    Object.assign(last, { entry: act.entry, ids: [...last.ids, ...act.ids] });
  else draft.acts.push({ ...act, ids: [...act.ids] });
}

/** Does to one record what an act says; whether that has changed anything. */
function change(
  { pinned, forgotten, promoted }: Draft<Hand>,
  act: HandActName,
  id: string,
  entry: number,
  undone: HandActName | undefined,
): boolean {
  switch (act) {
    case "noted":
      pinned.add(id);
      return true;
    case "pinned":
      return !pinned.has(id) && pinned.add(id) !== undefined;
    case "unpinned":
      return pinned.delete(id);
    case "forgotten":
      return !forgotten.has(id) && forgotten.set(id, entry) !== undefined;
    case "promoted":
      return !promoted.has(id) && promoted.set(id, entry) !== undefined;
    case "restored":
      return (undone === "promoted" ? promoted : forgotten).delete(id);
  }
}
