import { type Branch, idAt, NOWHERE, positionOf, tipOf } from "../../reducers/branch.ts";
import { describeEntry } from "../../reducers/entries/describe-entry.ts";
import { type EntryLike, type EntryLookup, textOf } from "../../reducers/entries/entry.ts";
import type { EntryFact } from "../../reducers/entries/entry-fact.ts";
import { type EntryAt, entriesOf } from "../../reducers/ledger/record-text.ts";
import type { SessionState } from "../../reducers/session.ts";

/** The part of Pi's session manager that finding out about new entries needs. */
export interface BranchSource {
  getLeafId(): string | null;
  getEntry(id: string): EntryLike | undefined;
  getBranch(): EntryLike[];
  /** All entries of the file in its order */
  getEntries?(): EntryLike[];
  /** How many different ids they have. Extensions are not promised this, and Pi before 1.0 lacks it. */
  getEntryCount?(): number;
}

type BranchChange =
  | { type: "none" }
  | { type: "extended"; entries: EntryFact[] }
  | { type: "replaced"; branch: EntryFact[] };

/**
 * What happened to Pi's branch since `session` was current. Pi's `getBranch()` is linear in session length, so
 * this walks from the leaf to the known tip and costs the new entries only; a leaf that does not descend from
 * the tip (tree navigation) reads the whole branch once.
 */
export function branchChange(source: BranchSource, session: SessionState): BranchChange {
  const tip = tipOf(session.branch);
  const added: EntryLike[] = [];
  for (let id = source.getLeafId(); idAsDescribed(id) !== tip; ) {
    const entry = id === null ? undefined : source.getEntry(id);
    if (!entry || positionOf(session.branch, textOf(entry.id)) !== NOWHERE) {
      return { type: "replaced", branch: describeBranch(source) };
    }
    added.push(entry);
    id = entry.parentId ?? null;
  }
  if (added.length === 0) return { type: "none" };
  return { type: "extended", entries: describeAll(added.reverse(), source) };
}

/** An entry of a damaged file may have no id, or another kind of one; see `describeEntry`. */
function idAsDescribed(id: string | null): string | null {
  return id === null ? null : textOf(id);
}

/** The facts of the whole current branch, root first. */
export function describeBranch(source: BranchSource): EntryFact[] {
  return describeAll(branchEntries(source), source);
}

/**
 * What Pi's `getBranch()` gives, in less than half its time, which is a fifth of opening a long session: an entry's parent
 * nearly always stands just before it, and need not be looked up by its id. Where ids repeat, or a parent stands elsewhere
 * than before its child, Pi is asked.
 */
export function branchEntries(source: BranchSource): EntryLike[] {
  const entries = source.getEntries?.() ?? [];
  if (entries.length === 0 || source.getEntryCount?.() !== entries.length) return source.getBranch();
  const path = new Array<EntryLike>(entries.length);
  let first = entries.length;
  let wanted = source.getLeafId();
  for (let at = entries.length - 1; at >= 0 && wanted; at--) {
    const entry = entries[at];
    if (entry?.id !== wanted) continue;
    path[--first] = entry;
    wanted = entry.parentId;
  }
  return wanted ? source.getBranch() : path.slice(first);
}

/** The facts of the branch that ends with `tip`, root first, wherever Pi's leaf is by now. */
export function describeThrough(source: BranchSource, tip: string | null): EntryFact[] {
  const entries: EntryLike[] = [];
  for (let id = tip; id !== null; ) {
    const entry = source.getEntry(id);
    if (!entry) break;
    entries.push(entry);
    id = entry.parentId ?? null;
  }
  return describeAll(entries.reverse(), source);
}

/**
 * The entries of a branch, for a compaction: Pi hands them over, so that most need not be looked up by id, which takes
 * twice the time. What is missing there, or is another entry by now, is looked up all the same.
 */
export function entriesAmong(
  handed: readonly EntryLike[] | undefined,
  branch: Branch,
  lookup: EntryLookup,
): EntryAt {
  const lookedUp = entriesOf(branch, lookup);
  return (position) => {
    const entry = handed?.[position];
    return entry && entry.id === idAt(branch, position) ? entry : lookedUp(position);
  };
}

function describeAll(entries: readonly EntryLike[], source: BranchSource): EntryFact[] {
  const lookup: EntryLookup = (id) => source.getEntry(id);
  return entries.map((entry) => describeEntry(entry, lookup));
}
