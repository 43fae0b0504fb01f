import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { entriesAmong } from "../../src/host/pi/branch-sync.ts";
import { describeEntry } from "../../src/reducers/entries/describe-entry.ts";
import type { EntryLike } from "../../src/reducers/entries/entry.ts";
import type { EntryFact } from "../../src/reducers/entries/entry-fact.ts";
import { planFold } from "../../src/reducers/ledger/compaction-plan.ts";
import type { Dropped } from "../../src/reducers/ledger/ledger.ts";
import {
  CUT_EVERYTHING,
  orderedObservations,
  resolveSelection,
  type Selection,
  selectedObservations,
  selectedReflections,
  selectForCompaction,
  selectFull,
} from "../../src/reducers/ledger/projections.ts";
import { recallFrom } from "../../src/reducers/ledger/recall.ts";
import { renderSummary } from "../../src/reducers/ledger/summary.ts";
import { sessionOfEntries } from "../../src/reducers/memory.ts";
import { clocksOfSession, emptySession, extendSession, sessionOf } from "../../src/reducers/session.ts";
import type { Settings } from "../../src/reducers/settings.ts";
import { randomBranch, supersedingBranch } from "../support/sessions/random-branch.ts";

const RUNS = { numRuns: 300 };

function factsOf(entries: EntryLike[]): EntryFact[] {
  return entries.map((entry) => describeEntry(entry, (id) => entries.find((other) => other.id === id)));
}

describe("folding", () => {
  it("gives the same live, in any steps, as cold", () => {
    fc.assert(
      fc.property(randomBranch, fc.array(fc.integer({ min: 1, max: 7 })), (entries, steps) => {
        const facts = factsOf(entries);
        let live = emptySession();
        for (let at = 0, n = 0; at < facts.length; n++) {
          const size = steps[n] ?? 1;
          live = extendSession(live, facts.slice(at, at + size));
          at += size;
        }
        const cold = sessionOf(facts);
        expect(live.ledger).toEqual(cold.ledger);
        expect(clocksOfSession(live)).toEqual(clocksOfSession(cold));
      }),
      RUNS,
    );
  });

  it("keeps every version of a branch what it was, though they share their rows", () => {
    fc.assert(
      fc.property(randomBranch, randomBranch, (entries, others) => {
        const facts = factsOf(entries);
        const fork = factsOf(others).map((fact) => ({ ...fact, id: `x${fact.id}` }));
        const half = facts.slice(0, Math.floor(facts.length / 2));
        const base = extendSession(emptySession(), half);
        const before = structuredClone(base);
        extendSession(base, facts.slice(half.length));
        const forked = extendSession(base, fork);
        expect(clocksOfSession(base)).toEqual(clocksOfSession(sessionOf(half)));
        expect(base.ledger).toEqual(before.ledger);
        expect(forked.ledger).toEqual(sessionOf([...half, ...fork]).ledger);
      }),
      RUNS,
    );
  });

  it("keeps the spec's rules for full memory and for compactions", () => {
    const policies = fc.constantFrom<FoldPolicy[]>("pressure", "pool", "always");
    fc.assert(
      fc.property(
        fc.oneof(randomBranch.map(factsOf), supersedingBranch),
        fc.nat(70),
        fc.integer({ min: 1, max: 3000 }),
        policies,
        (facts, cutAt, pool, foldPolicy) => {
          const { ledger } = sessionOf(facts);
          // Of a circle one stays: another test says which.
          fc.pre(!hasCircle(ledger.observations) && !hasCircle(ledger.reflections));
          const cut = cutAt >= facts.length ? CUT_EVERYTHING : cutAt;
          const naive = naiveProjection(facts);
          expect(idsSelected(selectFull(ledger))).toEqual(naive(CUT_EVERYTHING, CUT_EVERYTHING));
          const selected = selectForCompaction(ledger, cut, { observationsPoolMaxTokens: pool, foldPolicy });
          const [normal, full] = [naive(cut, ledger.fullFoldBoundary), naive(cut, cut)];
          // Behind the last full fold there is nothing to bring up to date.
          const upToDate = cut <= ledger.fullFoldBoundary ? normal : full;
          const isFull = isFullNaively(facts, normal, upToDate, pool, foldPolicy);
          expect(selected.fullFold).toBe(isFull);
          expect(idsSelected(selected)).toEqual(isFull ? full : normal);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("leaves at most a tenth of a summary to what a full fold would change, but for the pool's maximum alone", () => {
    fc.assert(
      fc.property(randomBranch, fc.nat(70), (entries, cut) => {
        const { ledger } = sessionOf(factsOf(entries));
        const selected = selectForCompaction(ledger, cut, {
          observationsPoolMaxTokens: 1_000_000,
          foldPolicy: "pressure",
        });
        const lines = (selection: Selection) => [
          ...selectedObservations(selection),
          ...selectedReflections(selection),
        ];
        const tokens = (records: { tokens: number }[]) =>
          records.reduce((sum, record) => sum + record.tokens, 0);
        const [shown, anew] = [
          lines(selected),
          lines({ ledger, cut, foldedThrough: Math.max(cut, selected.foldedThrough) }),
        ];
        const changed = [
          ...shown.filter((record) => !anew.includes(record)),
          ...anew.filter((record) => !shown.includes(record)),
        ];
        expect(tokens(changed)).toBeLessThanOrEqual(tokens(shown) / 10);
      }),
      RUNS,
    );
  });

  it("gives the active pool and counts that a projection of full memory has", () => {
    fc.assert(
      fc.property(randomBranch, (entries) => {
        const { ledger } = sessionOf(factsOf(entries));
        const full = idsSelected(selectFull(ledger));
        expect(ledger.counts.active).toBe(full.observations.length);
        expect(ledger.activeTokens).toBe(full.tokens);
        expect(ledger.counts.reflections).toBe(full.reflections.length);
      }),
      RUNS,
    );
  });
});

describe("the order of a projection", () => {
  it("is that of what its observations rest on, then that of recording", () => {
    fc.assert(
      fc.property(randomBranch, (entries) => {
        const facts = factsOf(entries);
        const { ledger } = sessionOf(facts);
        const ordered = orderedObservations(selectFull(ledger));
        const recorded = [...ledger.observations.keys()];
        const places = ordered.map(({ id, entry, watermark }) => {
          const { ledger } = facts[entry] ?? {};
          const record = ledger?.type === "observations" ? ledger.records.find((one) => one.id === id) : null;
          const cited = record?.sources.map((source) => facts.findIndex((fact) => fact.id === source)) ?? [];
          const before = cited.filter((at) => at >= 0 && at < entry);
          return [before.length > 0 ? Math.max(...before) : watermark, recorded.indexOf(id)] as const;
        });
        expect(places).toEqual(places.toSorted(([a, m], [b, n]) => a - b || m - n));
      }),
      RUNS,
    );
  });
});

describe("a summary", () => {
  it("is the same every time, and each of its lines' ids resolves", () => {
    fc.assert(
      fc.property(randomBranch, fc.nat(70), (entries, cutAt) => {
        const { session, lookup } = sessionOfEntries(entries);
        const settings = {
          observationsPoolMaxTokens: 1500,
          foldPolicy: "pressure",
          compactionGapMaxTokens: 500,
          summaryFiles: true,
        } as const;
        const planWith = (handed: readonly EntryLike[] | undefined) => {
          const entryAt = entriesAmong(handed, session.branch, lookup);
          return planFold(
            session.branch,
            session.ledger,
            { firstKeptEntryId: entries[cutAt]?.id ?? "" },
            settings,
            entryAt,
          );
        };
        const first = planWith(undefined);
        expect(planWith(undefined)).toEqual(first);
        // Handed over whole, in part, or all in the wrong places
        expect(planWith(entries)).toEqual(first);
        expect(planWith(entries.slice(0, cutAt))).toEqual(first);
        expect(planWith(entries.slice(1))).toEqual(first);
        if (!first) return;
        expect(renderSummary(first.details, first)).toBe(first.summary);
        for (const [, id] of first.summary.matchAll(/^\[([0-9a-f]{12})\]/gm)) {
          const recalled = recallFrom(session, lookup, id ?? "");
          expect(recalled.observation ?? recalled.reflection).toBeDefined();
        }
      }),
      RUNS,
    );
  });

  it("resolves full memory to exactly the records that were selected", () => {
    fc.assert(
      fc.property(randomBranch, (entries) => {
        const { session, lookup } = sessionOfEntries(entries);
        const selection = selectFull(session.ledger);
        const resolved = resolveSelection(selection, session.branch, lookup);
        const observations = resolved.observations.map(({ id, tokenCount }) => ({ id, tokens: tokenCount }));
        const selected = idsSelected(selection);
        const inOrder = orderedObservations(selection).map(({ id }) => id);
        expect(ids({ ...resolved, observations })).toEqual({ ...selected, observations: inOrder });
        expect(inOrder.toSorted()).toEqual(selected.observations.toSorted());
      }),
      RUNS,
    );
  });
});

/** Whether some of these records replace each other in a circle. */
function hasCircle(records: ReadonlyMap<string, Dropped>): boolean {
  return [...records.keys()].some((start) => {
    let at: string | undefined = start;
    for (let step = 0; at !== undefined && step <= records.size; step++) at = records.get(at)?.replacedBy;
    return at !== undefined && records.has(at);
  });
}

type FoldPolicy = Settings["foldPolicy"];
type NaiveProjection = ReturnType<typeof ids>;

/** When a fold is full, said of the lists of ids that a normal and a full one would show. */
function isFullNaively(
  facts: EntryFact[],
  normal: NaiveProjection,
  full: NaiveProjection,
  pool: number,
  foldPolicy: FoldPolicy,
): boolean {
  if (foldPolicy === "always" || normal.tokens >= pool) return true;
  if (foldPolicy === "pool") return false;
  if (!facts.some(({ compaction }) => compaction?.folded)) return true;
  const firstTokens = new Map<string, number>();
  for (const [at, { ledger }] of [...facts.entries()].toReversed()) {
    if (ledger === undefined || ledger.type === "drops") continue;
    if (!facts.slice(0, at).some(({ id }) => id === ledger.coversUpToId)) continue;
    for (const { id, tokens } of ledger.records.toReversed()) firstTokens.set(id, tokens);
  }
  const sum = (list: string[]) => list.reduce((total, id) => total + (firstTokens.get(id) ?? 0), 0);
  const shown = [...normal.observations, ...normal.reflections];
  const without = (one: NaiveProjection, other: NaiveProjection) => [
    ...one.observations.filter((id) => !other.observations.includes(id)),
    ...one.reflections.filter((id) => !other.reflections.includes(id)),
  ];
  const [nowUntrue, notYetTold] = [without(normal, full), without(full, normal)];
  return (sum(nowUntrue) + sum(notYetTold)) * 10 > sum(shown);
}

interface Ids {
  observations: readonly { id: string; tokens?: number }[];
  reflections: readonly { id: string }[];
}

function idsSelected(selection: Selection) {
  return ids({
    observations: [...selectedObservations(selection)],
    reflections: selectedReflections(selection),
  });
}

function ids({ observations, reflections }: Ids): {
  observations: string[];
  reflections: string[];
  tokens: number;
} {
  return {
    observations: observations.map(({ id }) => id),
    reflections: reflections.map(({ id }) => id),
    tokens: observations.reduce((sum, { tokens = 0 }) => sum + tokens, 0),
  };
}

/** The spec's projection rules as plainly as they can be said: no state, no index, just the list of facts. */
function naiveProjection(facts: EntryFact[]) {
  const place = (id: string, before: number) => {
    const at = facts.findIndex((fact) => fact.id === id);
    return at >= 0 && at < before ? at : -1;
  };
  const valid = facts.flatMap((fact, at) => {
    const watermark = fact.ledger ? place(fact.ledger.coversUpToId, at) : -1;
    return fact.ledger && watermark >= 0 ? [{ at, watermark, ledger: fact.ledger }] : [];
  });
  const { pinned, out } = naiveHand(facts);
  const recorded = <T extends { id: string }>(records: T[]) =>
    records.filter(({ id }, at) => records.findIndex((one) => one.id === id) === at);
  const observed = recorded(
    valid.flatMap(({ at, watermark, ledger }) =>
      ledger.type === "observations"
        ? ledger.records.map(({ id, tokens, sources }) => {
            const placed = sources.map((source) => place(source, at)).filter((source) => source >= 0);
            return { id, tokens, from: Math.min(watermark, ...placed.map((source) => source + 1)) };
          })
        : [],
    ),
  );
  const reflected = recorded(
    valid.flatMap(({ watermark, ledger }) =>
      ledger.type === "reflections" ? ledger.records.map(({ id }) => ({ id, from: watermark })) : [],
    ),
  );
  /** Those that are there from a cut on, less what a drop or what came in its place has taken away by a position */
  const standing = <T extends { id: string; from: number }>(
    records: T[],
    named: "observationIds" | "reflectionIds",
    firm: ReadonlySet<string>,
    [cut, foldedThrough]: readonly [number, number],
  ) => {
    const drops = valid.flatMap(({ watermark, ledger }) =>
      ledger.type === "drops" ? [{ watermark, ledger, ids: ledger[named] ?? [] }] : [],
    );
    const standsFor = (id: string): boolean => {
      const by = drops.find(({ ledger, ids }) => ids.includes(id) && ledger.replacedBy?.[id])?.ledger;
      const next = records.find((one) => one.id === by?.replacedBy?.[id]);
      if (!next || firm.has(id)) return false;
      const isThere = firm.has(next.id) || next.from <= Math.min(cut, foldedThrough);
      return (isThere && !out.has(next.id)) || standsFor(next.id);
    };
    return records.filter(({ id, from }) => {
      if (out.has(id) || firm.has(id)) return !out.has(id);
      if (from > cut || drops.some(({ watermark, ids }) => watermark <= foldedThrough && ids.includes(id)))
        return false;
      return !standsFor(id);
    });
  };
  return (cut: number, foldedThrough: number) =>
    ids({
      observations: standing(observed, "observationIds", pinned, [cut, foldedThrough]),
      reflections: standing(reflected, "reflectionIds", new Set(), [foldedThrough, foldedThrough]),
    });
}

/** What a user has pinned, and taken out of memory, by the end of a branch. */
function naiveHand(facts: EntryFact[]) {
  const [pinned, forgotten, promoted] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const { hand } of facts) {
    for (const id of hand?.ids ?? []) {
      if (hand?.act === "pinned" || hand?.act === "noted") pinned.add(id);
      if (hand?.act === "unpinned") pinned.delete(id);
      if (hand?.act === "forgotten") forgotten.add(id);
      if (hand?.act === "restored") forgotten.delete(id);
      if (hand?.act === "promoted") promoted.add(id);
    }
  }
  return { pinned, out: new Set([...forgotten, ...promoted]) };
}
