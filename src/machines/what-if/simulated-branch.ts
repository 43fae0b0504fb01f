import type { EntryFact } from "../../reducers/entries/entry-fact.ts";

/**
 * How the branch of a simulation differs from the recorded one: recorded results that did not happen are left out, and
 * modelled entries stand where they came about.
 */
export interface BranchChanges {
  /** Recorded entries that are not on the simulated branch */
  leaveOut(facts: readonly EntryFact[]): void;
  /** A modelled entry after the recorded entries of now */
  insert(fact: EntryFact): void;
  /** Recorded entries that came to the branch's tip */
  extend(facts: readonly EntryFact[]): void;
  /** The simulated branch for a recorded one that the session moves to (root first). */
  moveTo(branch: readonly EntryFact[]): EntryFact[];
}

export function createBranchChanges(): BranchChanges {
  const leftOut = new Set<string>();
  /** Modelled entries by the recorded entry before them */
  const inserted = new Map<string, EntryFact[]>();
  let tip = "";

  return {
    leaveOut(facts) {
      for (const { id } of facts) leftOut.add(id);
    },
    insert(fact) {
      inserted.set(tip, [...(inserted.get(tip) ?? []), fact]);
    },
    extend(facts) {
      tip = facts.at(-1)?.id ?? tip;
    },
    moveTo(branch) {
      const kept = branch.filter(({ id }) => !leftOut.has(id));
      tip = kept.at(-1)?.id ?? "";
      // Moving to an entry leaves behind what was appended after it.
      return kept.flatMap((fact) => [fact, ...(fact.id === tip ? [] : (inserted.get(fact.id) ?? []))]);
    },
  };
}
