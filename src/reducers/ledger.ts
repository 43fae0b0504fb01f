import { type Draft, Immer, isDraft, original } from "immer";
import { type Branch, NOWHERE, positionOf } from "./branch.ts";
import type { EntryFact, IgnoredReason, LedgerFact } from "./entry-fact.ts";
import type { Relevance } from "./ledger-entries.ts";
import { addRecord, type RecordIndex, recordById } from "./record-index.ts";

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
  readonly observationLog: readonly (readonly ObservationRef[])[];
  /**
   * For each observation of the log, in the same chunks: the position of the earliest marker of a drop of it, or
   * `NOT_DROPPED`. A projection reads this instead of looking every id up.
   */
  readonly dropLog: readonly (readonly number[])[];
  readonly reflections: RecordIndex<ReflectionRef>;
  readonly reflectionLog: readonly (readonly ReflectionRef[])[];
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

const CHUNK = 64;

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

function foldObservations(
  draft: Draft<Ledger>,
  fact: LedgerFact & { type: "observations" },
  covers: number,
  entry: number,
  branch: Branch,
): void {
  draft.watermarks.observe = Math.max(draft.watermarks.observe, covers);
  const { observations, drops } = before(draft);
  for (const [n, { id, tokens, relevance, sources, index }] of fact.records.entries()) {
    if (recordById(observations, id) || isRepeated(fact.records, n)) continue;
    let firstSource = NOWHERE;
    for (const source of sources) {
      const position = positionOf(branch, source);
      if (position !== NOWHERE && (firstSource === NOWHERE || position < firstSource)) firstSource = position;
    }
    const ordinal = draft.counts.observations++;
    const ref: ObservationRef = { id, ordinal, tokens, relevance, firstSource, covers, entry, index };
    addRecord(draft.observations, ref);
    append(draft.observationLog, ref);
    const drop = recordById(drops, id);
    append(draft.dropLog, drop?.covers ?? NOT_DROPPED);
    if (drop) draft.counts.dropped++;
    else activate(draft, tokens, 1);
  }
}

/**
 * The ledger to look things up in: as it was before this entry, for a draft. Reading through a draft makes a proxy of
 * every record that is passed on the way, which was most of an append's time.
 */
function before(draft: Draft<Ledger>): Ledger {
  return (isDraft(draft) ? original(draft) : draft) as Ledger;
}

/** Whether an earlier record of the same entry has the id. */
function isRepeated(records: readonly { readonly id: string }[], n: number): boolean {
  const id = records[n]?.id;
  return records.findIndex((record) => record.id === id) < n;
}

function foldReflections(
  draft: Draft<Ledger>,
  fact: LedgerFact & { type: "reflections" },
  covers: number,
  entry: number,
): void {
  draft.watermarks.reflect = Math.max(draft.watermarks.reflect, covers);
  const { reflections } = before(draft);
  for (const [n, { id, tokens, supports, index }] of fact.records.entries()) {
    if (recordById(reflections, id) || isRepeated(fact.records, n)) continue;
    const ref: ReflectionRef = { id, tokens, supports, covers, entry, index };
    addRecord(draft.reflections, ref as Draft<ReflectionRef>);
    append(draft.reflectionLog, ref as Draft<ReflectionRef>);
    draft.counts.reflections++;
    draft.reflectionTokens += tokens;
  }
}

function foldDrops(
  draft: Draft<Ledger>,
  fact: LedgerFact & { type: "drops" },
  covers: number,
  entry: number,
): void {
  draft.watermarks.drop = Math.max(draft.watermarks.drop, covers);
  for (const id of fact.observationIds) {
    const known = recordById(draft.drops, id);
    const earliest = known && known.covers < covers ? known.covers : covers;
    if (known) known.covers = earliest;
    else addRecord(draft.drops, { id, covers, entry });
    const observation = recordById(draft.observations, id);
    if (!observation) continue;
    setAt(draft.dropLog, observation.ordinal, earliest);
    if (known) continue;
    draft.counts.dropped++;
    activate(draft, observation.tokens, -1);
  }
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
  const kind = fact.type === "observations" ? "observation" : "reflection";
  for (const { id, index } of fact.records) {
    if (!recordById(draft.dangling, id)) addRecord(draft.dangling, { id, kind, entry, index });
  }
}

function ignore(draft: Draft<Ledger>, id: string, reason: IgnoredReason, records: number): void {
  draft.ignored[reason] += records;
  draft.ignoredEntries.push({ id, reason });
  if (draft.ignoredEntries.length > IGNORED_ENTRIES_KEPT) draft.ignoredEntries.shift();
}

function activate(draft: Draft<Ledger>, tokens: number, sign: 1 | -1): void {
  draft.counts.active += sign;
  draft.activeTokens += sign * tokens;
}

function setAt<T>(log: T[][], ordinal: number, item: T): void {
  const chunk = log[Math.floor(ordinal / CHUNK)];
  if (chunk) chunk[ordinal % CHUNK] = item;
}

function append<T>(log: T[][], item: T): void {
  const last = log.at(-1);
  if (last && last.length < CHUNK) last.push(item);
  else log.push([item]);
}
