import { type Draft, Immer, isDraft, original } from "immer";
import { type Branch, NOWHERE, positionOf } from "./branch.ts";
import { type ChunkedLog, pushItem, putItemAt, withItem, withItemAt } from "./chunked-log.ts";
import type { EntryFact, IgnoredReason, LedgerFact } from "./entry-fact.ts";
import type { Relevance } from "./ledger-entries.ts";
import { putRecord, type RecordIndex, recordById, withRecord } from "./record-index.ts";

/** Where an observation stands; its text stays in the session entry at position `entry`, item `index`. */
export interface ObservationRef {
  readonly id: string;
  /** Its place in the order of recording, counted from 0 */
  readonly ordinal: number;
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

/** A tombstone; it may precede its observation. */
export interface DropRef {
  readonly id: string;
  /** Position of the earliest `coversUpToId` of a drop of this id. */
  readonly covers: number;
  readonly entry: number;
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
  readonly observations: RecordIndex<ObservationRef>;
  /** All observations in the order in which they were recorded, in chunks that stay small. */
  readonly observationLog: ChunkedLog<ObservationRef>;
  /**
   * For each observation of the log, in the same chunks: the position of the earliest marker of a drop of it, or
   * `NOT_DROPPED`. A projection reads this instead of looking every id up.
   */
  readonly dropLog: ChunkedLog<number>;
  readonly reflections: RecordIndex<ReflectionRef>;
  readonly reflectionLog: ChunkedLog<ReflectionRef>;
  readonly drops: RecordIndex<DropRef>;
  readonly dangling: RecordIndex<DanglingRef>;
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
    observations: [],
    observationLog: [],
    dropLog: [],
    reflections: [],
    reflectionLog: [],
    drops: [],
    dangling: [],
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
 */
export const foldEntry: (ledger: Ledger, fact: EntryFact, branch: Branch) => Ledger = produce(foldIntoDraft);

/**
 * Folds a whole branch (all of `facts`, of which `branch` is the result) by the very same rules, on plain data instead of
 * a draft: nobody holds an earlier version yet, and drafting 30,000 records would cost ten times as much. That a cold
 * fold equals every live one is property-tested.
 */
export function foldEntries(facts: readonly EntryFact[], branch: Branch): Ledger {
  const ledger = emptyLedger() as Draft<Ledger>;
  // A plain loop: most entries are only looked at, and there may be hundreds of thousands.
  for (let i = 0; i < facts.length; i++) {
    const fact = facts[i];
    if (fact && concernsLedger(fact)) foldIntoDraft(ledger, fact, { ...branch, length: i + 1 });
  }
  return ledger as Ledger;
}

function foldIntoDraft(draft: Draft<Ledger>, fact: EntryFact, branch: Branch): void {
  const entry = branch.length - 1;
  if (fact.ignored) ignore(draft, fact.id, fact.ignored.reason, fact.ignored.records);
  if (fact.compaction) foldCompaction(draft, fact.compaction, entry, branch);
  if (!fact.ledger) return;
  const covers = positionOf(branch, fact.ledger.coversUpToId);
  if (covers === NOWHERE || covers >= entry) {
    ignore(draft, fact.id, "dangling", 1);
    keepDangling(draft, fact.ledger, entry);
    return;
  }
  if (fact.ledger.type === "observations") foldObservations(draft, fact.ledger, covers, entry, branch);
  else if (fact.ledger.type === "reflections") foldReflections(draft, fact.ledger, covers, entry);
  else foldDrops(draft, fact.ledger, covers, entry);
}

/** How the big collections change: copied along one path, or in place. They hold tens of thousands of records. */
interface Pen {
  put<T extends { readonly id: string }>(index: RecordIndex<T>, record: T): RecordIndex<T>;
  append<T>(log: ChunkedLog<T>, item: T): ChunkedLog<T>;
  setAt<T>(log: ChunkedLog<T>, place: number, item: T): ChunkedLog<T>;
}

/**
 * For a draft: Immer is given new collections instead of drafting the old ones, as a draft makes a proxy of each node
 * that is passed on the way, which was most of an append's time. It looks into what it is given unless that is frozen.
 */
const COPYING: Pen = {
  put: (index, record) => Object.freeze(withRecord(index, record)),
  append: (log, item) => Object.freeze(withItem(log, item)),
  setAt: (log, place, item) => Object.freeze(withItemAt(log, place, item)),
};

/** For a ledger that is being built, which nobody else holds. */
const IN_PLACE: Pen = { put: putRecord, append: pushItem, setAt: putItemAt };

/** The pen for a ledger, and the ledger to read from: for a draft, as it was before this entry. */
function penFor(draft: Draft<Ledger>): { pen: Pen; ledger: Ledger } {
  return isDraft(draft)
    ? { pen: COPYING, ledger: original(draft) as Ledger }
    : { pen: IN_PLACE, ledger: draft as Ledger };
}

function foldObservations(
  draft: Draft<Ledger>,
  fact: LedgerFact & { type: "observations" },
  covers: number,
  entry: number,
  branch: Branch,
): void {
  const { pen, ledger } = penFor(draft);
  let { observations, observationLog, dropLog, activeTokens } = ledger;
  const counts = { ...ledger.counts };
  for (const { id, tokens, relevance, sources, index } of fact.records) {
    if (recordById(observations, id)) continue;
    let firstSource = NOWHERE;
    for (const source of sources) {
      const position = positionOf(branch, source);
      if (position !== NOWHERE && (firstSource === NOWHERE || position < firstSource)) firstSource = position;
    }
    const ordinal = counts.observations++;
    const ref: ObservationRef = { id, ordinal, tokens, relevance, firstSource, covers, entry, index };
    const drop = recordById(ledger.drops, id);
    observations = pen.put(observations, ref);
    observationLog = pen.append(observationLog, ref);
    dropLog = pen.append(dropLog, drop?.covers ?? NOT_DROPPED);
    if (drop) counts.dropped++;
    else {
      counts.active++;
      activeTokens += tokens;
    }
  }
  Object.assign(draft, { observations, observationLog, dropLog, counts, activeTokens });
  draft.watermarks.observe = Math.max(draft.watermarks.observe, covers);
}

function foldReflections(
  draft: Draft<Ledger>,
  fact: LedgerFact & { type: "reflections" },
  covers: number,
  entry: number,
): void {
  const { pen, ledger } = penFor(draft);
  let { reflections, reflectionLog, reflectionTokens } = ledger;
  const counts = { ...ledger.counts };
  for (const { id, tokens, supports, index } of fact.records) {
    if (recordById(reflections, id)) continue;
    const ref: ReflectionRef = { id, tokens, supports, covers, entry, index };
    reflections = pen.put(reflections, ref);
    reflectionLog = pen.append(reflectionLog, ref);
    reflectionTokens += tokens;
    counts.reflections++;
  }
  Object.assign(draft, { reflections, reflectionLog, reflectionTokens, counts });
  draft.watermarks.reflect = Math.max(draft.watermarks.reflect, covers);
}

function foldDrops(
  draft: Draft<Ledger>,
  fact: LedgerFact & { type: "drops" },
  covers: number,
  entry: number,
): void {
  const { pen, ledger } = penFor(draft);
  let { drops, dropLog, activeTokens } = ledger;
  const counts = { ...ledger.counts };
  for (const id of fact.observationIds) {
    const known = recordById(drops, id);
    const earliest = known && known.covers < covers ? known.covers : covers;
    if (known?.covers !== earliest) drops = pen.put(drops, { id, entry, ...known, covers: earliest });
    const observation = recordById(ledger.observations, id);
    if (!observation) continue;
    dropLog = pen.setAt(dropLog, observation.ordinal, earliest);
    if (known) continue;
    counts.dropped++;
    counts.active--;
    activeTokens -= observation.tokens;
  }
  Object.assign(draft, { drops, dropLog, counts, activeTokens });
  draft.watermarks.drop = Math.max(draft.watermarks.drop, covers);
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

function keepDangling(draft: Draft<Ledger>, fact: LedgerFact, entry: number): void {
  if (fact.type === "drops") return;
  const { pen, ledger } = penFor(draft);
  let { dangling } = ledger;
  const kind = fact.type === "observations" ? "observation" : "reflection";
  for (const { id, index } of fact.records) {
    if (!recordById(dangling, id)) dangling = pen.put(dangling, { id, kind, entry, index });
  }
  Object.assign(draft, { dangling });
}

function ignore(draft: Draft<Ledger>, id: string, reason: IgnoredReason, records: number): void {
  draft.ignored[reason] += records;
  draft.ignoredEntries.push({ id, reason });
  if (draft.ignoredEntries.length > IGNORED_ENTRIES_KEPT) draft.ignoredEntries.shift();
}
