import { type Draft, Immer } from "immer";
import { type Branch, NOWHERE, positionOf } from "../branch.ts";
import type { EntryFact, IgnoredReason, LedgerFact } from "../entries/entry-fact.ts";
import { type ChunkedLog, itemAt, pushItems, putItemAt, withItemAt, withItems } from "./chunked-log.ts";
import {
  emptyRecords,
  placeOf,
  type RecordLog,
  recordAt,
  recordById,
  withRecord,
  withRecordsReplaced,
} from "./record-log.ts";
import type { Relevance } from "./records.ts";

/** Where an observation stands; its text stays in the session entry at position `entry`, item `index`. */
export interface ObservationRef {
  readonly id: string;
  readonly tokens: number;
  readonly relevance: Relevance;
  /** Position of the earliest cited source entry on the branch, or `NOWHERE`. */
  readonly firstSource: number;
  /** Position of its batch's `coversUpToId`. */
  readonly covers: number;
  readonly entry: number;
  readonly index: number;
}

export interface ReflectionRef {
  readonly id: string;
  readonly tokens: number;
  readonly supports: readonly string[];
  readonly covers: number;
  readonly entry: number;
  readonly index: number;
}

/** A drop that came before its observation. */
export interface Tombstone {
  readonly id: string;
  /** Position of the earliest `coversUpToId` of a drop of this id. */
  readonly covers: number;
}

/** A record of a ledger entry whose marker is not on the branch: no projection shows it, `recall` finds it. */
export interface DanglingRef {
  readonly id: string;
  readonly kind: "observation" | "reflection";
  readonly entry: number;
  readonly index: number;
}

export interface CompactionRef {
  readonly entry: number;
  /** Position of the first kept entry; the compaction's own position when nothing before it is kept. */
  readonly cut: number;
  /** Its details are memory of ours. */
  readonly folded: boolean;
}

export interface Watermarks {
  readonly observe: number;
  readonly reflect: number;
  readonly drop: number;
}

/** The folded ledger of one branch: positions and counts only, so that it holds no text. */
export interface Ledger {
  readonly observations: RecordLog<ObservationRef>;
  /**
   * For each observation, by its place: the position of the earliest marker of a drop of it, or `NOT_DROPPED`. A
   * projection reads this instead of looking every id up.
   */
  readonly dropLog: ChunkedLog<number>;
  readonly reflections: RecordLog<ReflectionRef>;
  readonly tombstones: RecordLog<Tombstone>;
  readonly dangling: RecordLog<DanglingRef>;
  /** Furthest valid markers, by branch position (`NOWHERE`: none yet). */
  readonly watermarks: Watermarks;
  readonly counts: {
    readonly observations: number;
    readonly reflections: number;
    readonly active: number;
    readonly dropped: number;
  };
  /** Estimated tokens of the active observations. */
  readonly activeTokens: number;
  readonly reflectionTokens: number;
  readonly compactions: number;
  readonly latestCompaction: CompactionRef | null;
  /** The latest compaction of ours: what it folded is the visible memory. */
  readonly latestFolded: CompactionRef | null;
  /** Up to where the latest full fold folded reflections and drops (`NOWHERE`: no full fold yet). */
  readonly fullFoldBoundary: number;
  /** How much was left out of the fold, and the entries where it last happened. */
  readonly ignored: { readonly [reason in IgnoredReason]: number };
  readonly ignoredEntries: readonly { readonly id: string; readonly reason: IgnoredReason }[];
}

/**
 * Immer without auto-freezing. Freezing visits every child of every node that an append has copied; at 30,000
 * observations that was most of an append's time (docs/performance.md). The types forbid writing all the same.
 */
const { produce } = new Immer({ autoFreeze: false });

/** Later than any marker. */
export const NOT_DROPPED = Number.POSITIVE_INFINITY;
const IGNORED_ENTRIES_KEPT = 5;

export function emptyLedger(): Ledger {
  return {
    observations: emptyRecords(),
    dropLog: [],
    reflections: emptyRecords(),
    tombstones: emptyRecords(),
    dangling: emptyRecords(),
    watermarks: { observe: NOWHERE, reflect: NOWHERE, drop: NOWHERE },
    counts: { observations: 0, reflections: 0, active: 0, dropped: 0 },
    activeTokens: 0,
    reflectionTokens: 0,
    compactions: 0,
    latestCompaction: null,
    latestFolded: null,
    fullFoldBoundary: NOWHERE,
    ignored: { malformed: 0, dangling: 0, v2: 0 },
    ignoredEntries: [],
  };
}

/** Whether the fold must look at this entry at all; nearly all entries of a session say no. */
export function concernsLedger(fact: EntryFact): boolean {
  return fact.ledger !== undefined || fact.compaction !== undefined || fact.ignored !== undefined;
}

/**
 * Folds one entry into the ledger. `branch` ends with that entry. The first valid record of an id wins,
 * drops are tombstones, and a marker must stand before its entry (a batch cannot cover what came later).
 *
 * Immer makes the new ledger. Its collections, which may hold tens of thousands of records, share what they can with the
 * old ones and are put in afterwards: a draft of them would look at everything that they hold.
 */
export function foldEntry(ledger: Ledger, fact: EntryFact, branch: Branch): Ledger {
  let collections: Partial<Collections> = {};
  const next = produce(ledger, (draft) => {
    collections = fold({ books: draft, ledger, pen: COPYING }, fact, branch);
  });
  // Nobody else holds it yet.
  return Object.assign(next === ledger ? { ...ledger } : next, collections);
}

/**
 * Folds a whole branch (all of `facts`, of which `branch` is the result) by the very same rules, on plain data instead of
 * a draft: nobody holds an earlier version yet, and drafting 30,000 records would cost ten times as much. That a cold
 * fold equals every live one is property-tested.
 */
export function foldEntries(facts: readonly EntryFact[], branch: Branch): Ledger {
  const ledger = emptyLedger();
  const target = { books: ledger as Draft<Ledger>, ledger, pen: IN_PLACE };
  for (let i = 0; i < facts.length; i++) {
    const fact = facts[i];
    if (fact && concernsLedger(fact)) {
      Object.assign(ledger, fold(target, fact, { ...branch, length: i + 1 }));
    }
  }
  return ledger;
}

/** The parts of a ledger that grow without end. */
type Collections = Pick<Ledger, "observations" | "dropLog" | "reflections" | "tombstones" | "dangling">;

/** How the log of drops, in which places change, is written: copied in part, or in place. */
interface Pen {
  append<T>(log: ChunkedLog<T>, items: readonly T[]): ChunkedLog<T>;
  setAt<T>(log: ChunkedLog<T>, place: number, item: T): ChunkedLog<T>;
}

const COPYING: Pen = { append: withItems, setAt: withItemAt };

/** For a ledger that is being built, which nobody else holds. */
const IN_PLACE: Pen = { append: pushItems, setAt: putItemAt };

interface Target {
  /** The ledger to change, but for its collections */
  books: Draft<Ledger>;
  /** The ledger as it was before the entry, to read from; how its collections come out is what a fold gives. */
  ledger: Ledger;
  pen: Pen;
}

function fold(target: Target, fact: EntryFact, branch: Branch): Partial<Collections> {
  const { books } = target;
  const entry = branch.length - 1;
  if (fact.ignored) ignore(books, fact.id, fact.ignored.reason, fact.ignored.records);
  if (fact.compaction) foldCompaction(books, fact.compaction, entry, branch);
  if (!fact.ledger) return {};
  const covers = positionOf(branch, fact.ledger.coversUpToId);
  if (covers === NOWHERE || covers >= entry) {
    ignore(books, fact.id, "dangling", 1);
    return keepDangling(target, fact.ledger, entry);
  }
  if (fact.ledger.type === "observations")
    return foldObservations(target, fact.ledger, covers, entry, branch);
  if (fact.ledger.type === "reflections") return foldReflections(target, fact.ledger, covers, entry);
  return foldDrops(target, fact.ledger, covers);
}

function foldObservations(
  { books, ledger, pen }: Target,
  fact: LedgerFact & { type: "observations" },
  covers: number,
  entry: number,
  branch: Branch,
): Partial<Collections> {
  let { observations, activeTokens } = ledger;
  const drops: number[] = [];
  const counts = { ...ledger.counts };
  for (const { id, tokens, relevance, sources, index } of fact.records) {
    if (placeOf(observations, id) !== NOWHERE) continue;
    let firstSource = NOWHERE;
    for (const source of sources) {
      const position = positionOf(branch, source);
      if (position !== NOWHERE && (firstSource === NOWHERE || position < firstSource)) firstSource = position;
    }
    observations = withRecord(observations, { id, tokens, relevance, firstSource, covers, entry, index });
    counts.observations++;
    const tombstone = recordById(ledger.tombstones, id);
    drops.push(tombstone?.covers ?? NOT_DROPPED);
    if (tombstone) counts.dropped++;
    else {
      counts.active++;
      activeTokens += tokens;
    }
  }
  books.counts = counts;
  books.activeTokens = activeTokens;
  books.watermarks = { ...ledger.watermarks, observe: Math.max(ledger.watermarks.observe, covers) };
  return { observations, dropLog: pen.append(ledger.dropLog, drops) };
}

function foldReflections(
  { books, ledger }: Target,
  fact: LedgerFact & { type: "reflections" },
  covers: number,
  entry: number,
): Partial<Collections> {
  let { reflections, reflectionTokens } = ledger;
  for (const { id, tokens, supports, index } of fact.records) {
    if (placeOf(reflections, id) !== NOWHERE) continue;
    reflections = withRecord(reflections, { id, tokens, supports, covers, entry, index });
    reflectionTokens += tokens;
  }
  books.counts = { ...ledger.counts, reflections: reflections.length };
  books.reflectionTokens = reflectionTokens;
  books.watermarks = { ...ledger.watermarks, reflect: Math.max(ledger.watermarks.reflect, covers) };
  return { reflections };
}

function foldDrops(
  { books, ledger, pen }: Target,
  fact: LedgerFact & { type: "drops" },
  covers: number,
): Partial<Collections> {
  const { observations } = ledger;
  let { dropLog, activeTokens } = ledger;
  const early: Tombstone[] = [];
  const counts = { ...ledger.counts };
  for (const id of fact.observationIds) {
    const place = placeOf(observations, id);
    const observation = recordAt(observations, place);
    if (!observation) {
      early.push({ id, covers });
      continue;
    }
    const earliest = itemAt(dropLog, place) ?? NOT_DROPPED;
    if (covers < earliest) dropLog = pen.setAt(dropLog, place, covers);
    if (earliest !== NOT_DROPPED) continue;
    counts.dropped++;
    counts.active--;
    activeTokens -= observation.tokens;
  }
  books.counts = counts;
  books.activeTokens = activeTokens;
  books.watermarks = { ...ledger.watermarks, drop: Math.max(ledger.watermarks.drop, covers) };
  return { dropLog, tombstones: withTombstones(ledger.tombstones, early) };
}

function withTombstones(tombstones: RecordLog<Tombstone>, added: readonly Tombstone[]): RecordLog<Tombstone> {
  let all = tombstones;
  const earlier = new Map<string, Tombstone>();
  for (const tombstone of added) {
    const known = recordById(all, tombstone.id);
    if (!known) all = withRecord(all, tombstone);
    else if (tombstone.covers < known.covers) earlier.set(tombstone.id, tombstone);
  }
  return earlier.size > 0 ? withRecordsReplaced(all, earlier) : all;
}

function foldCompaction(
  draft: Draft<Ledger>,
  fact: NonNullable<EntryFact["compaction"]>,
  entry: number,
  branch: Branch,
): void {
  const kept = positionOf(branch, fact.firstKeptEntryId);
  const ref: CompactionRef = { entry, cut: kept === NOWHERE ? entry : kept, folded: fact.folded };
  draft.compactions++;
  draft.latestCompaction = ref;
  if (!fact.folded) return;
  draft.latestFolded = ref;
  if (fact.fullFold) draft.fullFoldBoundary = ref.cut;
}

function keepDangling({ ledger }: Target, fact: LedgerFact, entry: number): Partial<Collections> {
  if (fact.type === "drops") return {};
  let { dangling } = ledger;
  const kind = fact.type === "observations" ? "observation" : "reflection";
  for (const { id, index } of fact.records) {
    if (placeOf(dangling, id) === NOWHERE) dangling = withRecord(dangling, { id, kind, entry, index });
  }
  return { dangling };
}

function ignore(draft: Draft<Ledger>, id: string, reason: IgnoredReason, records: number): void {
  draft.ignored[reason] += records;
  draft.ignoredEntries.push({ id, reason });
  if (draft.ignoredEntries.length > IGNORED_ENTRIES_KEPT) draft.ignoredEntries.shift();
}
