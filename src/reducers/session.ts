import { produce } from "immer";
import { type Branch, emptyBranch, extendBranch } from "./branch.ts";
import { type Clocks, clocksOf } from "./clocks.ts";
import type { EntryFact } from "./entries/entry-fact.ts";
import { applyEntry, emptyLedger, type Ledger } from "./ledger/ledger.ts";

/** What is true of the current branch: where entries are and what its ledger folds to. No text. */
export interface SessionState {
  readonly branch: Branch;
  readonly ledger: Ledger;
}

export function emptySession(): SessionState {
  return { branch: emptyBranch(), ledger: emptyLedger() };
}

/** The session after entries were appended at the tip of its branch. Costs the new entries only. */
export function extendSession(session: SessionState, facts: readonly EntryFact[]): SessionState {
  const branch = extendBranch(session.branch, facts);
  // Most entries are conversation, of which the ledger holds nothing.
  if (!facts.some(concernsLedger)) return { branch, ledger: session.ledger };
  const ledger = produce(session.ledger, (draft) => {
    facts.forEach((fact, index) => {
      if (concernsLedger(fact)) applyEntry(draft, fact, branch, session.branch.length + index);
    });
  });
  return { branch, ledger };
}

/** The session of a whole branch, root first. */
export function sessionOf(facts: readonly EntryFact[]): SessionState {
  return extendSession(emptySession(), facts);
}

/** Whether the fold must look at this entry at all; nearly all entries of a session say no. */
function concernsLedger({ ledger, hand, compaction, cost, ignored }: EntryFact): boolean {
  return (ledger ?? hand ?? compaction ?? cost ?? ignored) !== undefined;
}

export function clocksOfSession(session: SessionState): Clocks {
  return clocksOf(session.branch, session.ledger);
}

/** Whether there is anything that a fold could put before the agent. */
export function hasMemory({ ledger: { counts } }: SessionState): boolean {
  return counts.active > 0 || counts.reflections > 0;
}

/** Whether observations cover source entries that no reflection has taken into account yet. */
export function hasUnreflected({ ledger }: SessionState): boolean {
  return ledger.watermarks.observe > ledger.watermarks.reflect;
}
