import { ENTRY_KINDS, type EntryFact, type EntryKind } from "./entries/entry-fact.ts";
import { findPosition, indexPositions, type PositionIndex } from "./position-index.ts";

/**
 * The current branch as positions: which entry stands where, and how many source tokens lie before it.
 *
 * A branch is an immutable value, yet extending it costs only the new entries: versions of one branch share
 * an append-only log, and each version sees just its own first `length` rows. Extending a version that is
 * not the newest copies the log first, so no version ever sees another's rows.
 */
export interface Branch {
  readonly length: number;
  readonly log: BranchLog;
  /** Context edits that are in force, by position of their target. */
  readonly edits: readonly Edit[];
}

interface BranchLog {
  readonly ids: string[];
  readonly kinds: number[];
  /** Source tokens of the rows up to and including each one, before edits. */
  readonly cumulative: number[];
  readonly positions: PositionIndex;
}

interface Edit {
  readonly position: number;
  /** Effective tokens of the target; `null` when the target is omitted. */
  readonly tokens: number | null;
  /** What this edit and all edits before it (by position) add to the token count. */
  readonly deltaThrough: number;
}

/** No position: the id is not on the branch. */
export const NOWHERE = -1;

/** Set in a row's kind when the entry is conversation. */
const SOURCE_BIT = 0x80;

export function emptyBranch(): Branch {
  const ids: string[] = [];
  return { length: 0, log: { ids, kinds: [], cumulative: [], positions: indexPositions(ids) }, edits: [] };
}

/** The branch with one more entry at its tip. Amortised O(1); a context edit costs O(edits in force). */
export function extendBranch(branch: Branch, fact: EntryFact): Branch {
  const log =
    branch.log.ids.length === branch.length || isNextRow(branch, fact) ? branch.log : copyLog(branch);
  if (log.ids.length === branch.length) pushRow(log, fact);
  const extended: Branch = { length: branch.length + 1, log, edits: branch.edits };
  return fact.edit ? withEdit(extended, fact.edit) : extended;
}

/** Whether a newer version was extended by this very entry: its row serves both, as when a stretch is gone over again. */
function isNextRow({ length, log }: Branch, fact: EntryFact): boolean {
  return (
    log.ids[length] === fact.id &&
    log.kinds[length] === kindNumber(fact) &&
    log.cumulative[length] === (log.cumulative[length - 1] ?? 0) + fact.tokens
  );
}

/** The branch of these entries, root first. */
export function branchOf(facts: readonly EntryFact[]): Branch {
  // Of their full length at once: growing arrays copy themselves, and a long session has no time for that when it opens.
  const ids = new Array<string>(facts.length);
  const kinds = new Array<number>(facts.length);
  const cumulative = new Array<number>(facts.length);
  const log: BranchLog = { ids, kinds, cumulative, positions: indexPositions(ids) };
  const edits: { position: number; fact: NonNullable<EntryFact["edit"]> }[] = [];
  let tokens = 0;
  for (let position = 0; position < facts.length; position++) {
    const fact = facts[position] as EntryFact;
    tokens += fact.tokens;
    ids[position] = fact.id;
    kinds[position] = kindNumber(fact);
    cumulative[position] = tokens;
    if (fact.edit) edits.push({ position, fact: fact.edit });
  }
  const inForce = new Map<number, NewEdit>();
  for (const { position, fact } of edits) {
    const edit = newEdit({ length: position + 1, log, edits: [] }, fact);
    if (edit) inForce.set(edit.position, edit);
  }
  return { length: ids.length, log, edits: summedUp([...inForce.values()], log) };
}

function pushRow(log: BranchLog, fact: EntryFact): void {
  const position = log.ids.length;
  log.ids.push(fact.id);
  log.kinds.push(kindNumber(fact));
  log.cumulative.push((log.cumulative[position - 1] ?? 0) + fact.tokens);
}

function kindNumber({ kind, source }: EntryFact): number {
  return KIND_NUMBERS[kind] | (source ? SOURCE_BIT : 0);
}

const KIND_NUMBERS = Object.fromEntries(ENTRY_KINDS.map((kind, number) => [kind, number])) as Record<
  EntryKind,
  number
>;

/** Where the entry stands on this branch, or `NOWHERE`. */
export function positionOf(branch: Branch, id: string): number {
  const position = findPosition(branch.log.positions, id);
  return position !== undefined && position < branch.length ? position : NOWHERE;
}

export function idAt(branch: Branch, position: number): string | undefined {
  return position < branch.length ? branch.log.ids[position] : undefined;
}

export function kindAt(branch: Branch, position: number): EntryKind | undefined {
  if (position < 0 || position >= branch.length) return undefined;
  return ENTRY_KINDS[(branch.log.kinds[position] ?? 0) & ~SOURCE_BIT];
}

/** Whether the entry is conversation that stands: an entry that a context edit omits does not. */
export function isSourceAt(branch: Branch, position: number): boolean {
  if (position < 0 || position >= branch.length) return false;
  if (((branch.log.kinds[position] ?? 0) & SOURCE_BIT) === 0) return false;
  return branch.edits.length === 0 || editAt(branch, position)?.tokens !== null;
}

/** Source tokens from the root up to and including `position`, context edits applied. */
export function tokensThrough(branch: Branch, position: number): number {
  if (position < 0) return 0;
  const last = Math.min(position, branch.length - 1);
  if (last < 0) return 0;
  return (branch.log.cumulative[last] ?? 0) + deltaThrough(branch, last);
}

/** Source tokens of the entries after `position`; all of them for `NOWHERE`. */
export function tokensAfter(branch: Branch, position: number): number {
  return tokensThrough(branch, branch.length - 1) - tokensThrough(branch, position);
}

/** Source tokens of the entry at `position`. */
export function tokensAt(branch: Branch, position: number): number {
  return tokensThrough(branch, position) - tokensThrough(branch, position - 1);
}

export function tipOf(branch: Branch): string | null {
  return branch.length === 0 ? null : (branch.log.ids[branch.length - 1] ?? null);
}

/** The first conversation entry after `position`, or `NOWHERE`. Costs the distance to it. */
export function nextSource(branch: Branch, position: number): number {
  for (let at = position + 1; at < branch.length; at++) if (isSourceAt(branch, at)) return at;
  return NOWHERE;
}

function copyLog(branch: Branch): BranchLog {
  const ids = branch.log.ids.slice(0, branch.length);
  return {
    ids,
    kinds: branch.log.kinds.slice(0, branch.length),
    cumulative: branch.log.cumulative.slice(0, branch.length),
    positions: indexPositions(ids),
  };
}

type NewEdit = Omit<Edit, "deltaThrough">;

/** What an edit at the tip does; undefined when its target is not there, or is no conversation. */
function newEdit(branch: Branch, { targetId, tokens }: NonNullable<EntryFact["edit"]>): NewEdit | undefined {
  const position = positionOf(branch, targetId);
  if (position === NOWHERE || ((branch.log.kinds[position] ?? 0) & SOURCE_BIT) === 0) return undefined;
  return { position, tokens };
}

function withEdit(branch: Branch, fact: NonNullable<EntryFact["edit"]>): Branch {
  const edit = newEdit(branch, fact);
  if (!edit) return branch;
  const others = branch.edits.filter(({ position }) => position !== edit.position);
  return { ...branch, edits: summedUp([...others, edit], branch.log) };
}

function summedUp(edits: readonly NewEdit[], log: BranchLog): Edit[] {
  let deltaThrough = 0;
  return edits
    .toSorted((a, b) => a.position - b.position)
    .map(({ position, tokens }) => {
      const raw = (log.cumulative[position] ?? 0) - (log.cumulative[position - 1] ?? 0);
      deltaThrough += (tokens ?? 0) - raw;
      return { position, tokens, deltaThrough };
    });
}

/** Index of the last edit at or before `position`, or -1. */
function lastEditThrough(branch: Branch, position: number): number {
  let low = 0;
  let high = branch.edits.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((branch.edits[middle]?.position ?? Infinity) <= position) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function deltaThrough(branch: Branch, position: number): number {
  if (branch.edits.length === 0) return 0;
  return branch.edits[lastEditThrough(branch, position)]?.deltaThrough ?? 0;
}

function editAt(branch: Branch, position: number): Edit | undefined {
  const edit = branch.edits[lastEditThrough(branch, position)];
  return edit?.position === position ? edit : undefined;
}
