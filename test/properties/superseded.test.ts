import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPinned } from "../../src/reducers/ledger/hand/hand.ts";
import type { Dropped, Ledger } from "../../src/reducers/ledger/ledger.ts";
import {
  CUT_EVERYTHING,
  type Selection,
  selectedObservations,
  selectedReflections,
  selectForCompaction,
} from "../../src/reducers/ledger/projections.ts";
import { emptySession, extendSession, sessionOf } from "../../src/reducers/session.ts";
import { fact } from "../support/sessions/builders.ts";
import { RECORD_IDS, supersedingBranch } from "../support/sessions/random-branch.ts";

const RUNS = { numRuns: 2000 };
/** What a selection shows of each kind, among all that there is of it. `firm`: what the user has made it show */
function kindsIn(selection: Selection) {
  const { ledger } = selection;
  const kind = (
    records: ReadonlyMap<string, Dropped>,
    shown: Iterable<{ id: string }>,
    firm: readonly string[] = [],
  ) => ({
    records,
    shown: new Set([...shown].map(({ id }) => id)),
    firm,
  });
  const pinned = RECORD_IDS.filter((id) => isPinned(ledger.hand, id));
  return [
    kind(ledger.observations, selectedObservations(selection), pinned),
    kind(ledger.reflections, selectedReflections(selection)),
  ];
}

/** The same ledger, had nobody dropped anything */
function withoutDrops(ledger: Ledger): Ledger {
  const without = <T extends Dropped>(records: ReadonlyMap<string, T>) =>
    new Map(
      [...records].map(([id, record]) => [id, { ...record, droppedAt: undefined, replacedBy: undefined }]),
    );
  return { ...ledger, observations: without(ledger.observations), reflections: without(ledger.reflections) };
}

/** What stands in a record's place, what in the place of that, and so on; each once. */
function successorsOf(records: ReadonlyMap<string, Dropped>, id: string): string[] {
  const chain: string[] = [];
  let at = records.get(id)?.replacedBy;
  for (; at !== undefined && !chain.includes(at); at = records.get(at)?.replacedBy) chain.push(at);
  return chain;
}

describe("what is superseded", () => {
  it("never stands beside what supersedes it in a full fold, save what is pinned", () => {
    fc.assert(
      fc.property(supersedingBranch, fc.nat(32), (facts, cut) => {
        const { ledger } = sessionOf(facts);
        for (const { shown, records, firm } of kindsIn({ ledger, cut, foldedThrough: cut })) {
          const loose = [...shown].filter((id) => !firm.includes(id));
          expect(loose.filter((id) => shown.has(records.get(id)?.replacedBy ?? ""))).toEqual([]);
        }
      }),
      RUNS,
    );
  });

  it("leaves a fold that its drop has not reached only for what comes after it, shown or dropped in its turn", () => {
    fc.assert(
      fc.property(supersedingBranch, fc.nat(32), fc.nat(32), (facts, cut, foldedThrough) => {
        const { ledger } = sessionOf(facts);
        const selection = { ledger, cut, foldedThrough };
        const had = kindsIn({ ...selection, ledger: withoutDrops(ledger) });
        for (const [at, { records, shown }] of kindsIn(selection).entries()) {
          const isReached = (id: string) => (records.get(id)?.droppedAt ?? CUT_EVERYTHING) <= foldedThrough;
          for (const id of had[at]?.shown ?? []) {
            if (shown.has(id) || isReached(id)) continue;
            expect(successorsOf(records, id).filter((one) => shown.has(one) || isReached(one))).not.toEqual(
              [],
            );
          }
        }
      }),
      RUNS,
    );
  });

  it("is the same in a live fold as in a cold one, and stays as a full fold has left it", () => {
    fc.assert(
      fc.property(supersedingBranch, fc.nat(32), (facts, cut) => {
        const cold = sessionOf(facts);
        let live = emptySession();
        for (const one of facts) live = extendSession(live, [one]);
        const shown = (session: typeof cold, at: number, foldPolicy: "always" | "pool") =>
          kindsIn(
            selectForCompaction(session.ledger, at, { foldPolicy, observationsPoolMaxTokens: 1e6 }),
          ).map((kind) => [...kind.shown]);
        for (const policy of ["always", "pool"] as const)
          expect(shown(live, cut, policy)).toEqual(shown(cold, cut, policy));
        const kept = facts[cut];
        if (!kept) return;
        const folded = extendSession(cold, [fact.compaction("c", kept.id, true, true)]);
        expect(shown(folded, cut, "pool")).toEqual(shown(cold, cut, "always"));
      }),
      RUNS,
    );
  });
});
