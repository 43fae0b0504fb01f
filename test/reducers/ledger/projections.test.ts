import { describe, expect, it } from "vitest";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import type { HandFact } from "../../../src/reducers/ledger/hand/hand.ts";
import {
  CUT_EVERYTHING,
  diffProjections,
  isVisibleMemoryStale,
  selectedObservations,
  selectedReflections,
  selectForCompaction,
  selectFull,
  visibleMemory,
} from "../../../src/reducers/ledger/projections.ts";
import { sessionOf } from "../../../src/reducers/session.ts";
import { fact, observation, reflection } from "../../support/sessions/builders.ts";

const { observed, reflected, dropped, superseded, compaction } = fact;
const TALK = ["e0", "e1", "e2", "e3", "e4"].map((id) => fact.user(id));

const ids = (list: readonly { id: string }[]) => list.map(({ id }) => id).join("");

describe("a selection", () => {
  const facts = [
    ...TALK,
    observed("o-e1", "e1", "a:10@e0"),
    observed("o-e4", "e4", "b:10@e1", "c:10@e3", "d:10@"),
  ];
  const { ledger: memory } = sessionOf(facts);
  const byPool = { observationsPoolMaxTokens: 1000, foldPolicy: "pool" } as const;
  const selected = (cut: number, settings = byPool) =>
    ids([...selectedObservations(selectForCompaction(memory, cut, settings))]);

  it("of full memory is all of it", () => {
    expect(ids([...selectedObservations(selectFull(memory))])).toBe("abcd");
    expect(ids([...selectedObservations(selectFull(sessionOf([]).ledger))])).toBe("");
  });

  it("for a compaction is what lies before the cut, of a batch across it by the earliest source", () => {
    // The batch whose marker is the cut itself is through it.
    expect([0, 1, 2, 3, 4, 5].map((cut) => selected(cut))).toEqual(["", "a", "ab", "ab", "abcd", "abcd"]);
    expect(selected(CUT_EVERYTHING)).toBe("abcd");
  });

  it("is folded anew from the very pool on that is the maximum, and always if that is the policy", () => {
    const fullFold = (maximum: number, foldPolicy: "pool" | "always" = "pool") =>
      selectForCompaction(memory, 2, { observationsPoolMaxTokens: maximum, foldPolicy }).fullFold;
    // Two observations of ten tokens lie before the cut.
    expect([19, 20, 21].map((maximum) => fullFold(maximum))).toEqual([true, true, false]);
    expect(fullFold(1000, "always")).toBe(true);
    const nothing = { observationsPoolMaxTokens: 0, foldPolicy: "pool" } as const;
    expect(selectForCompaction(sessionOf([]).ledger, 0, nothing).fullFold).toBe(true);
    // What the summary has room for is a maximum as well.
    expect(selectForCompaction(memory, 2, byPool, 20).fullFold).toBe(true);
  });

  it("heeds reflections and drops as of the last full fold, until it is folded anew", () => {
    const early = [
      ...TALK,
      observed("o-e2", "e2", "a:10@e0", "b:10@e1"),
      reflected("r-e0", "e0", "r:10"),
      dropped("d-e0", "e0", "a"),
    ];
    const late = [
      compaction("c", "e2", true, true),
      reflected("r-e3", "e3", "s:10"),
      dropped("d-e3", "e3", "b"),
    ];
    const { ledger: later } = sessionOf([...early, ...late]);
    const normal = selectForCompaction(later, 5, byPool);
    const anew = selectForCompaction(later, 5, { ...byPool, foldPolicy: "always" });
    expect(
      [normal, anew].map((one) => [
        ids([...selectedObservations(one)]),
        ids(selectedReflections(one)),
        one.fullFold,
      ]),
    ).toEqual([
      ["b", "r", false],
      ["", "rs", true],
    ]);
  });
});

describe("by the default policy a fold", () => {
  const pressure = { observationsPoolMaxTokens: 1000, foldPolicy: "pressure" } as const;
  const isFull = (...facts: EntryFact[]) =>
    selectForCompaction(sessionOf([...TALK, ...facts]).ledger, CUT_EVERYTHING, pressure).fullFold;
  // A hundred tokens in sight after a full fold
  const folded = [
    observed("o-e2", "e2", "a:80@e0", "b:10@e1", "c:1@e1", "x:4@e1", "y:5@e1"),
    compaction("c1", "e2", true, true),
  ];

  it("is full the first time that we fold on the branch, whoever compacted before", () => {
    expect(isFull(observed("o-e2", "e2", "a:80@e0"))).toBe(true);
    expect(isFull(observed("o-e2", "e2", "a:80@e0"), compaction("c1", "e2", false))).toBe(true);
    expect(isFull(...folded)).toBe(false);
    expect(isFull(...folded, compaction("c2", "e3", false))).toBe(false);
  });

  it("is full once more than a tenth of it no longer holds", () => {
    expect(isFull(...folded, dropped("d", "e3", "b"))).toBe(false);
    expect(isFull(...folded, dropped("d", "e3", "b", "c"))).toBe(true);
  });

  it("is full once it would hide more than a tenth that holds", () => {
    expect(isFull(...folded, reflected("r", "e3", "r:10"))).toBe(false);
    expect(isFull(...folded, reflected("r", "e3", "r:11"))).toBe(true);
    expect(isFull(...folded, reflected("r", "e3", "r:7"), dropped("d", "e3", "x"))).toBe(true);
  });

  it("is not full for the sake of what a full fold would not change either", () => {
    const facts = [...TALK, ...folded, reflected("r", "e4", "r:50"), dropped("d", "e4", "a")];
    const { ledger } = sessionOf(facts);
    // Both have read further than this cut.
    expect([3, 4].map((cut) => selectForCompaction(ledger, cut, pressure).fullFold)).toEqual([false, true]);
  });

  it("is not full where it would go back behind the last full fold", () => {
    const facts = [
      observed("o", "e2", "a:10@e0"),
      reflected("r", "e2", "r:10"),
      compaction("c1", "e3", true, true),
    ];
    const { ledger } = sessionOf([...TALK, ...facts]);
    const earlier = selectForCompaction(ledger, 1, pressure);
    expect([earlier.fullFold, ids(selectedReflections(earlier))]).toEqual([false, "r"]);
  });

  it("that shows nothing is full for anything at all that it would hide", () => {
    const facts = [
      observed("o", "e0", "a:10@e0"),
      dropped("d", "e0", "a"),
      compaction("c1", "e1", true, true),
    ];
    expect(isFull(...facts)).toBe(false);
    expect(isFull(...facts, reflected("r", "e3", "r:1"))).toBe(true);
  });
});

describe("a marker exactly at the cut", () => {
  const policy = { observationsPoolMaxTokens: 1000, foldPolicy: "always" } as const;
  const facts = [
    ...TALK,
    observed("o-e1", "e1", "a:10@e0", "b:10@e0"),
    reflected("r-e3", "e3", "r:10"),
    dropped("d-e3", "e3", "a"),
  ];

  it("is through it: its reflections and drops are folded, and stay folded", () => {
    const { ledger } = sessionOf(facts);
    const folded = (cut: number) => {
      const selection = selectForCompaction(ledger, cut, policy);
      return [ids([...selectedObservations(selection)]), ids(selectedReflections(selection))];
    };
    expect([2, 3].map(folded)).toEqual([
      ["ab", ""],
      ["b", "r"],
    ]);
    const { ledger: later } = sessionOf([...facts, compaction("c", "e3", true, true), fact.user("e5")]);
    const next = selectForCompaction(later, 7, { ...policy, foldPolicy: "pool" });
    expect(next.fullFold).toBe(false);
    expect([ids([...selectedObservations(next)]), ids(selectedReflections(next))]).toEqual(["b", "r"]);
  });

  it("at a compaction that kept nothing was not there yet when it was folded", () => {
    const all = [...TALK, observed("o-e1", "e1", "a:10@e0"), compaction("c", "gone", true, true)];
    const { ledger } = sessionOf([...all, reflected("r-c", "c", "r:10"), dropped("d-c", "c", "a")]);
    const next = selectForCompaction(ledger, CUT_EVERYTHING, { ...policy, foldPolicy: "pool" });
    expect([ids([...selectedObservations(next)]), ids(selectedReflections(next))]).toEqual(["a", ""]);
  });
});

describe("what supersedes an observation", () => {
  const all = { observationsPoolMaxTokens: 1000, foldPolicy: "always" } as const;
  const byPool = { ...all, foldPolicy: "pool" } as const;
  /** One run has read to e4, beyond every cut below; what it noted rests on different places. */
  const run = (...records: string[]) => observed("o-e4", "e4", ...records);
  const shown = (facts: EntryFact[], cut: number, policy: Parameters<typeof selectForCompaction>[2] = all) =>
    ids([...selectedObservations(selectForCompaction(sessionOf([...TALK, ...facts]).ledger, cut, policy))]);
  const old = observed("o-e1", "e1", "a:10@e0");

  it("takes its place as soon as it is shown itself, also where its run straddles the cut", () => {
    const facts = [old, run("b:10@e2", "c:10@e3"), superseded("d", "e4", { a: "b" })];
    // Before it is shown, the old one stays: it would leave a hole.
    expect([2, 3, 4].map((cut) => shown(facts, cut))).toEqual(["a", "b", "bc"]);
  });

  it("may have been superseded in its turn: the last that is shown stands alone", () => {
    const chain = [superseded("d1", "e4", { a: "b" }), superseded("d2", "e4", { b: "c" })];
    const facts = (...records: string[]) => [old, run(...records), ...chain];
    expect([2, 3, 4].map((cut) => shown(facts("b:10@e2", "c:10@e3"), cut))).toEqual(["a", "b", "c"]);
    // The end of the chain may come into sight before its middle.
    expect([3, 4].map((cut) => shown(facts("b:10@e3", "c:10@e2"), cut))).toEqual(["c", "c"]);
  });

  it("does not count where it was never recorded, or where the user has taken it out", () => {
    const facts = [old, run("b:10@e2"), superseded("d", "e4", { a: "b" })];
    const hand = (act: HandFact["act"], ...about: string[]): EntryFact => ({
      ...fact.other(`h-${act}`),
      hand: { act, ids: about },
    });
    expect(shown([old, superseded("d", "e4", { a: "b" })], 3)).toBe("a");
    expect(shown([...facts, hand("forgotten", "b")], 3)).toBe("a");
    expect(shown([...facts, hand("forgotten", "b"), hand("restored", "b")], 3)).toBe("b");
    // What is pinned is shown wherever the cut is, and stands beside what supersedes it.
    expect(shown([...facts, hand("pinned", "b")], 1)).toBe("b");
    expect(shown([...facts, hand("pinned", "a")], 3)).toBe("ab");
  });

  it("does not take all of a circle out of sight", () => {
    const circle = [superseded("d1", "e4", { a: "b" }), superseded("d2", "e4", { b: "a" })];
    expect(shown([old, run("b:10@e2"), ...circle], 3)).toBe("b");
  });

  it("waits in a normal fold for the next full one, and stays as that has left it", () => {
    const facts = [old, run("b:10@e2"), superseded("d", "e4", { a: "b" })];
    expect(shown([...facts, compaction("c", "e2", true, true)], 4, byPool)).toBe("ab");
    expect(shown([...facts, compaction("c", "e3", true, true)], 4, byPool)).toBe("b");
  });

  it("costs one look at each record, however long a chain they are", () => {
    const many = Array.from({ length: 500 }, (_, n) => `x${n}`);
    const chain = many.slice(1).map((id, n) => [many[n], id] as const);
    const { ledger } = sessionOf([
      ...TALK,
      observed("o-e2", "e2", ...many.map((id) => `${id}:1@e1`)),
      superseded("d", "e4", Object.fromEntries(chain)),
    ]);
    let looks = 0;
    class Counted<K, V> extends Map<K, V> {
      override get(key: K) {
        looks++;
        return super.get(key);
      }
    }
    const counted = { ...ledger, observations: new Counted(ledger.observations) };
    // None of them counts for a fold that is to stay as it was before them.
    expect([...selectedObservations({ ledger: counted, cut: 4, foldedThrough: 0 })]).toHaveLength(500);
    expect(looks).toBeLessThanOrEqual(1000);
  });
});

describe("visible memory", () => {
  const stale = (...facts: EntryFact[]) => isVisibleMemoryStale(sessionOf([...TALK, ...facts]).ledger);

  it("is none before the first compaction of ours, whatever else was compacted", () => {
    for (const facts of [TALK, [...TALK, compaction("c", "e1", false)]]) {
      const { branch, ledger: memory } = sessionOf(facts);
      const anything = () => ({ type: "compaction", id: "c", parentId: null, timestamp: "" });
      expect(visibleMemory(branch, memory, anything)).toEqual({ observations: [], reflections: [] });
    }
  });

  it("is stale once a compaction that was not ours came after it", () => {
    const [ours, theirs] = [compaction("c", "e1", true), compaction("d", "e2", false)];
    expect(stale()).toBe(false);
    expect(stale(theirs)).toBe(false);
    expect(stale(ours)).toBe(false);
    expect(stale(ours, theirs)).toBe(true);
    expect(stale(theirs, ours)).toBe(false);
  });

  it("is said to be out of sight though nothing was ever folded, as soon as there is any", () => {
    const observed = fact.observed("o", "e1", "0123456789ab:1");
    expect(stale(observed)).toBe(false);
    expect(stale(observed, compaction("c", "e2", false))).toBe(true);
    expect(stale(compaction("c", "e2", false), observed)).toBe(true);
  });

  it("drifts from full memory by what is to appear and what is to leave", () => {
    const projection = (observations: string, reflections: string) => ({
      observations: [...observations].map((id) => observation(id)),
      reflections: [...reflections].map((id) => reflection(id)),
    });
    const drift = diffProjections(projection("abc", "rs"), projection("bcd", "st"));
    expect(Object.values(drift).map(ids)).toEqual(["d", "a", "t", "r"]);
    expect(Object.keys(drift)).toEqual([
      "observationsToAppear",
      "observationsToLeave",
      "reflectionsToAppear",
      "reflectionsToLeave",
    ]);
  });
});
