import type { EntryFact, EntryKind } from "./entries/entry-fact.ts";

/**
 * The current branch as positions: which entry is where, and how many source tokens lie before it.
 *
 * A branch is an immutable value, yet extending it costs only the new entries: versions of one branch share an append-only
 * log, and each sees just its own first `length` rows. So a turn costs the same at any session length, which a copy of a
 * plain list would not. It is a class so that Immer takes it as a whole and neither drafts nor freezes the log.
 */
export class Branch {
  readonly length: number;
  readonly log: BranchLog;
  /** Context edits that are in force, by position of their target. */
  readonly edits: readonly Edit[];

  constructor(length: number, log: BranchLog, edits: readonly Edit[]) {
    this.length = length;
    this.log = log;
    this.edits = edits;
  }
}

export interface BranchLog {
  readonly rows: Row[];
  /** A damaged file may repeat an id: the first one counts, as a watermark cannot mean two places. */
  readonly positions: Map<string, number>;
}

export interface Row {
  readonly id: string;
  readonly kind: EntryKind;
  /** Whether the entry is conversation, before edits */
  readonly source: boolean;
  /** Source tokens of the rows up to and including this one, before edits */
  readonly cumulative: number;
}

export interface Edit {
  readonly position: number;
  /** Effective tokens of the target; `null` when the target is omitted. */
  readonly tokens: number | null;
  /** What this edit and all edits before it (by position) add to the token count. */
  readonly deltaThrough: number;
}

/** No position: the id is not on the branch. */
export const NOWHERE = -1;

export function emptyBranch(): Branch {
  return new Branch(0, { rows: [], positions: new Map() }, []);
}

/** The branch with more entries at its tip. Costs the new entries, and with context edits those in force. */
export function extendBranch(branch: Branch, facts: readonly EntryFact[]): Branch {
  let { log, length } = branch;
  const edits = new Map<number, number | null>();
  for (const fact of facts) {
    if (length < log.rows.length && !isRow(log, length, fact)) log = copyLog(log, length);
    if (length === log.rows.length) pushRow(log, fact);
    length++;
    if (!fact.edit) continue;
    const position = log.positions.get(fact.edit.targetId);
    if (position !== undefined && position < length && log.rows[position]?.source)
      edits.set(position, fact.edit.tokens);
  }
  return new Branch(length, log, edits.size === 0 ? branch.edits : withEdits(branch.edits, edits, log));
}

/** Whether a newer version was extended by this very entry: its row serves both, as when a stretch is gone over again. */
function isRow(log: BranchLog, at: number, { id, kind, tokens, source = false }: EntryFact): boolean {
  const row = log.rows[at];
  return (
    row?.id === id &&
    row.kind === kind &&
    row.source === source &&
    row.cumulative === cumulativeAt(log, at - 1) + tokens
  );
}

function pushRow(log: BranchLog, { id, kind, tokens, source = false }: EntryFact): void {
  const position = log.rows.length;
  log.rows.push({ id, kind, source, cumulative: cumulativeAt(log, position - 1) + tokens });
  if (!log.positions.has(id)) log.positions.set(id, position);
}

function copyLog({ rows, positions }: BranchLog, length: number): BranchLog {
  return {
    rows: rows.slice(0, length),
    positions: new Map([...positions].filter(([, position]) => position < length)),
  };
}

function cumulativeAt({ rows }: BranchLog, position: number): number {
  return rows[position]?.cumulative ?? 0;
}

function withEdits(old: readonly Edit[], added: ReadonlyMap<number, number | null>, log: BranchLog): Edit[] {
  const all = new Map(old.map(({ position, tokens }) => [position, tokens]));
  for (const [position, tokens] of added) all.set(position, tokens);
  let deltaThrough = 0;
  return [...all]
    .sort(([a], [b]) => a - b)
    .map(([position, tokens]) => {
      const raw = cumulativeAt(log, position) - cumulativeAt(log, position - 1);
      deltaThrough += (tokens ?? 0) - raw;
      return { position, tokens, deltaThrough };
    });
}

/** Where the entry is on this branch, or `NOWHERE`. */
export function positionOf(branch: Branch, id: string): number {
  const position = branch.log.positions.get(id);
  return position !== undefined && position < branch.length ? position : NOWHERE;
}

export function idAt(branch: Branch, position: number): string | undefined {
  return position < branch.length ? branch.log.rows[position]?.id : undefined;
}

export function kindAt(branch: Branch, position: number): EntryKind | undefined {
  return position < branch.length ? branch.log.rows[position]?.kind : undefined;
}

/** Whether the entry is conversation that stands: an entry that a context edit omits does not. */
export function isSourceAt(branch: Branch, position: number): boolean {
  if (position >= branch.length || !branch.log.rows[position]?.source) return false;
  return branch.edits.length === 0 || editAt(branch, position)?.tokens !== null;
}

/** Whether a context edit of the entry at a position is in force. */
export function isEditedAt(branch: Branch, position: number): boolean {
  return branch.edits.length > 0 && editAt(branch, position) !== undefined;
}

/** Source tokens from the root up to and including `position`, context edits applied. */
export function tokensThrough(branch: Branch, position: number): number {
  const last = Math.min(position, branch.length - 1);
  if (last < 0) return 0;
  return cumulativeAt(branch.log, last) + deltaThrough(branch, last);
}

/** Source tokens of the entries after `position`; all of them for `NOWHERE`. */
export function tokensAfter(branch: Branch, position: number): number {
  return tokensThrough(branch, branch.length - 1) - tokensThrough(branch, position);
}

/** Source tokens of the entries after one position, up to and with another. */
export function tokensBetween(branch: Branch, after: number, through: number): number {
  return tokensThrough(branch, through) - tokensThrough(branch, after);
}

/** Source tokens of the entry at `position`. */
export function tokensAt(branch: Branch, position: number): number {
  return tokensThrough(branch, position) - tokensThrough(branch, position - 1);
}

export function tipOf(branch: Branch): string | null {
  return idAt(branch, branch.length - 1) ?? null;
}

/** The first conversation entry after `position`, or `NOWHERE`. Costs the distance to it. */
export function nextSource(branch: Branch, position: number): number {
  for (let at = position + 1; at < branch.length; at++) if (isSourceAt(branch, at)) return at;
  return NOWHERE;
}

/** Index of the last edit at or before `position`, or -1. */
function lastEditThrough({ edits }: Branch, position: number): number {
  let low = 0;
  let high = edits.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((edits[middle]?.position ?? Infinity) <= position) low = middle + 1;
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
