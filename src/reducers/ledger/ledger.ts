import { type Draft, enableMapSet, isDraft, original } from "immer";
import { type Branch, NOWHERE, positionOf } from "../branch.ts";
import type { EntryFact, IgnoredReason, LedgerFact } from "../entries/entry-fact.ts";
import { afterCost, afterMemory, noSpend, type Spend } from "../spend.ts";
import { applyHand, emptyHand, type Hand, type HandFact, isPinned, isTakenOut } from "./hand/hand.ts";
import type { Relevance } from "./records.ts";

enableMapSet();

/** Where a memory record is written: its text stays in the session entry at position `entry`, item `index`. */
export interface Written {
  readonly id: string;
  readonly entry: number;
  readonly index: number;
}

/** What drops make of a record, or of one that is yet to be recorded. */
export interface Dropped {
  /** Position of the earliest watermark of a drop of it; undefined while it is active. */
  readonly droppedAt: number | undefined;
  /** The record that stands in its place, as the first drop that names one says; it may be dropped in its turn. */
  readonly replacedBy: string | undefined;
}

/** An observation without its text. */
export interface ObservationRecord extends Written, Dropped {
  /** Estimated tokens of its text */
  readonly tokens: number;
  readonly relevance: Relevance;
  /** Position of the earliest cited source entry on the branch, or `NOWHERE`. */
  readonly firstSource: number;
  /** Position of the latest one, by which projections order it; its watermark if none is on the branch. */
  readonly lastSource: number;
  /** Position up to which its batch has read the conversation */
  readonly watermark: number;
}

/** A reflection without its text. */
export interface ReflectionRecord extends Written, Dropped {
  readonly tokens: number;
  readonly supports: readonly string[];
  readonly watermark: number;
}

/**
 * A record that no projection shows and that `recall` finds: its entry's watermark is not on the branch, or its id was
 * recorded before, perhaps from other sources.
 */
export interface UnshownRecord extends Written {
  readonly kind: "observation" | "reflection";
}

/** A compaction on the branch. */
export interface CompactionRecord {
  readonly entry: number;
  /** Position of the first kept entry; the compaction's own position when nothing before it is kept. */
  readonly cut: number;
  /** Its details are memory of ours. */
  readonly folded: boolean;
}

/** Furthest valid watermarks, by branch position (`NOWHERE`: none yet). */
export interface Watermarks {
  readonly observe: number;
  readonly reflect: number;
  readonly drop: number;
}

/** The folded ledger of one branch: positions and counts only, so that it holds no text. Maps are in order of recording. */
export interface Ledger {
  readonly observations: ReadonlyMap<string, ObservationRecord>;
  readonly reflections: ReadonlyMap<string, ReflectionRecord>;
  /** Drops of what is recorded later or never. An observation and a reflection of one text share their id. */
  readonly earlyDrops: {
    readonly observations: ReadonlyMap<string, Dropped>;
    readonly reflections: ReadonlyMap<string, Dropped>;
  };
  readonly unshown: ReadonlyMap<string, readonly UnshownRecord[]>;
  readonly watermarks: Watermarks;
  /** What the user has said of single records */
  readonly hand: Hand;
  readonly counts: {
    readonly observations: number;
    /** The active ones */
    readonly reflections: number;
    readonly active: number;
    readonly dropped: number;
    /** Observations that the user has taken out of memory */
    readonly takenOut: number;
  };
  /** Estimated tokens of the active observations */
  readonly activeTokens: number;
  /** And of the active reflections */
  readonly reflectionTokens: number;
  readonly spend: Spend;
  readonly compactions: number;
  readonly latestCompaction: CompactionRecord | null;
  /** The latest compaction of ours: what it folded is the visible memory. */
  readonly latestFolded: CompactionRecord | null;
  /** The last position whose reflections and drops the latest full fold folded (`NOWHERE`: no full fold yet). */
  readonly fullFoldBoundary: number;
  /** How much was left out of the fold, and the entries where it last happened. */
  readonly ignored: { readonly [reason in IgnoredReason]: number };
  readonly ignoredEntries: readonly { readonly id: string; readonly reason: IgnoredReason }[];
}

export function emptyLedger(): Ledger {
  return {
    observations: new Map(),
    reflections: new Map(),
    earlyDrops: { observations: new Map(), reflections: new Map() },
    unshown: new Map(),
    watermarks: { observe: NOWHERE, reflect: NOWHERE, drop: NOWHERE },
    hand: emptyHand(),
    counts: { observations: 0, reflections: 0, active: 0, dropped: 0, takenOut: 0 },
    activeTokens: 0,
    reflectionTokens: 0,
    spend: noSpend(),
    compactions: 0,
    latestCompaction: null,
    latestFolded: null,
    fullFoldBoundary: NOWHERE,
    ignored: { malformed: 0, dangling: 0, v2: 0 },
    ignoredEntries: [],
  };
}

/** `dropped`: perhaps before it was recorded, or without that it ever was. */
export type MemoryStatus = "unknown" | "active" | "dropped";

/** How a ledger knows an id of one kind; what the user has taken out counts as dropped. Dangling records are unknown to it. */
export function memoryStatus(ledger: Ledger, kind: "observations" | "reflections", id: string): MemoryStatus {
  const known = ledger[kind].get(id) ?? ledger.earlyDrops[kind].get(id);
  if (!known) return "unknown";
  return standingOf(ledger.hand, kind, { ...known, id }) === "active" ? "active" : "dropped";
}

/** What a record counts as. What the user says of it goes before what workers say. */
function standingOf(
  hand: Hand,
  kind: "observations" | "reflections",
  { id, droppedAt }: Dropped & { readonly id: string },
): "active" | "dropped" | "takenOut" {
  if (isTakenOut(hand, id)) return "takenOut";
  if (kind === "observations" && isPinned(hand, id)) return "active";
  return droppedAt === undefined ? "active" : "dropped";
}

const IGNORED_ENTRIES_KEPT = 5;

/**
 * Folds one entry into the ledger: the entry at position `at` of the branch, which may go on after it. The first valid
 * record of an id wins, drops hold before and after their observation is recorded, and a watermark must lie before its entry
 * (a batch cannot have read what came later).
 */
export function applyEntry(draft: Draft<Ledger>, fact: EntryFact, branch: Branch, at: number): void {
  const { ignored, compaction, ledger, hand, cost } = fact;
  if (ignored) ignore(draft, fact.id, ignored.reason, ignored.records);
  if (compaction) applyCompaction(draft, compaction, branch, at);
  if (cost) draft.spend = afterCost(draft.spend, cost, at);
  // What the user makes by hand costs nothing.
  if (ledger && !hand) draft.spend = afterMemory(draft.spend, at);
  if (ledger) applyLedgerFact(draft, fact, ledger, branch, at);
  if (hand) applyHandFact(draft, hand, fact.id, at);
}

function applyLedgerFact(
  draft: Draft<Ledger>,
  { id, hand }: EntryFact,
  ledger: LedgerFact,
  branch: Branch,
  at: number,
): void {
  const watermark = positionBefore(branch, at, ledger.coversUpToId);
  if (watermark === NOWHERE) {
    ignore(draft, id, "dangling", 1);
    keepUnshown(draft, ledger, at);
  } else if (ledger.type === "observations") {
    applyObservations(draft, ledger, branch, watermark, at);
    // Who notes something has not read what lies before it.
    if (!hand) draft.watermarks.observe = Math.max(draft.watermarks.observe, watermark);
  } else if (ledger.type === "reflections") applyReflections(draft, ledger, watermark, at);
  else applyDrops(draft, ledger, watermark);
}

function applyObservations(
  draft: Draft<Ledger>,
  fact: LedgerFact & { type: "observations" },
  branch: Branch,
  watermark: number,
  entry: number,
): void {
  const { observations, counts, hand } = draft;
  const early = draft.earlyDrops.observations;
  const added = { active: 0, dropped: 0, takenOut: 0 };
  let activeTokens = 0;
  for (const { id, tokens, relevance, sources, index } of fact.records) {
    if (observations.has(id)) {
      addUnshown(draft, { id, kind: "observation", entry, index });
      continue;
    }
    const { firstSource, lastSource = watermark } = reachOf(sources, branch, entry);
    const { droppedAt, replacedBy } = early.get(id) ?? NOT_DROPPED;
    const rests = { firstSource, lastSource, watermark, droppedAt, replacedBy };
    observations.set(id, frozen({ id, tokens, relevance, ...rests, entry, index }));
    const standing = standingOf(hand, "observations", { id, droppedAt, replacedBy });
    added[standing]++;
    if (standing === "active") activeTokens += tokens;
  }
  counts.observations += added.active + added.dropped + added.takenOut;
  counts.active += added.active;
  counts.dropped += added.dropped;
  counts.takenOut += added.takenOut;
  draft.activeTokens += activeTokens;
}

function applyReflections(
  draft: Draft<Ledger>,
  fact: LedgerFact & { type: "reflections" },
  watermark: number,
  entry: number,
): void {
  for (const { id, tokens, supports, index } of fact.records) {
    if (draft.reflections.has(id)) {
      addUnshown(draft, { id, kind: "reflection", entry, index });
      continue;
    }
    // Evidence named twice is one piece of it.
    const named = [...new Set(supports)];
    const drop = draft.earlyDrops.reflections.get(id) ?? NOT_DROPPED;
    draft.reflections.set(id, frozen({ id, tokens, supports: named, watermark, ...drop, entry, index }));
    tally(draft, "reflections", id, 1);
  }
  draft.watermarks.reflect = Math.max(draft.watermarks.reflect, watermark);
}

const NOT_DROPPED: Dropped = { droppedAt: undefined, replacedBy: undefined };

function applyDrops(draft: Draft<Ledger>, fact: LedgerFact & { type: "drops" }, watermark: number): void {
  for (const id of fact.observationIds) drop(draft, "observations", id, fact, watermark);
  for (const id of fact.reflectionIds ?? []) drop(draft, "reflections", id, fact, watermark);
  if (!fact.reflectionIds) draft.watermarks.drop = Math.max(draft.watermarks.drop, watermark);
}

/** Drops a record, also one that is yet to come. */
function drop(
  draft: Draft<Ledger>,
  kind: "observations" | "reflections",
  id: string,
  fact: LedgerFact & { type: "drops" },
  watermark: number,
): void {
  const record = recordOf(draft, kind, id);
  const before = record ?? draft.earlyDrops[kind].get(id) ?? NOT_DROPPED;
  const dropped: Dropped = {
    droppedAt: Math.min(watermark, before.droppedAt ?? watermark),
    replacedBy: before.replacedBy ?? fact.replacedBy?.[id],
  };
  if (!record) {
    draft.earlyDrops[kind].set(id, dropped);
    return;
  }
  tally(draft, kind, id, -1);
  const records: Map<string, Draft<Dropped>> = draft[kind];
  records.set(id, Object.freeze({ ...record, ...dropped }));
  tally(draft, kind, id, 1);
}

function applyHandFact(draft: Draft<Ledger>, fact: HandFact, entryId: string, at: number): void {
  const ids = [...new Set(fact.ids)];
  const tallyAll = (by: 1 | -1) => {
    for (const id of ids) {
      tally(draft, "observations", id, by);
      tally(draft, "reflections", id, by);
    }
  };
  tallyAll(-1);
  applyHand(draft.hand, fact, entryId, at);
  tallyAll(1);
}

/** Counts a record, if there is one of this id, by what it stands as now; `-1` before that changes. */
function tally(draft: Draft<Ledger>, kind: "observations" | "reflections", id: string, by: 1 | -1): void {
  const record = recordOf(draft, kind, id);
  if (!record) return;
  const standing = standingOf(draft.hand, kind, record);
  if (kind === "observations") {
    draft.counts[standing] += by;
    if (standing === "active") draft.activeTokens += by * record.tokens;
  } else if (standing === "active") {
    draft.counts.reflections += by;
    draft.reflectionTokens += by * record.tokens;
  }
}

/** A record as it was written: a copy of a draft of it would hold drafts, and could not be frozen. */
function recordOf(
  draft: Draft<Ledger>,
  kind: "observations" | "reflections",
  id: string,
): ObservationRecord | ReflectionRecord | undefined {
  const found = draft[kind].get(id);
  return isDraft(found) ? original(found) : found;
}

function applyCompaction(
  draft: Draft<Ledger>,
  { firstKeptEntryId, folded, fullFold }: NonNullable<EntryFact["compaction"]>,
  branch: Branch,
  entry: number,
): void {
  const kept = positionBefore(branch, entry, firstKeptEntryId);
  const cut = kept === NOWHERE ? entry : kept;
  draft.compactions++;
  draft.latestCompaction = { entry, cut, folded };
  if (!folded) return;
  draft.latestFolded = { entry, cut, folded };
  if (fullFold) draft.fullFoldBoundary = kept === NOWHERE ? entry - 1 : kept;
}

function keepUnshown(draft: Draft<Ledger>, fact: LedgerFact, entry: number): void {
  if (fact.type === "drops") return;
  const kind = fact.type === "observations" ? "observation" : "reflection";
  for (const { id, index } of fact.records) addUnshown(draft, { id, kind, entry, index });
}

function addUnshown({ unshown }: Draft<Ledger>, record: UnshownRecord): void {
  unshown.set(record.id, [...(unshown.get(record.id) ?? []), frozen(record)]);
}

function ignore(draft: Draft<Ledger>, id: string, reason: IgnoredReason, records: number): void {
  draft.ignored[reason] += records;
  draft.ignoredEntries.push({ id, reason });
  if (draft.ignoredEntries.length > IGNORED_ENTRIES_KEPT) draft.ignoredEntries.shift();
}

/** A record never changes. Saying so at once spares Immer looking at each of them again. */
function frozen<T extends Written>(record: T): Draft<T> {
  return Object.freeze(record) as Draft<T>;
}

/** Positions of the earliest and of the latest of these entries among those before position `at`. */
function reachOf(
  ids: readonly string[],
  branch: Branch,
  at: number,
): { firstSource: number; lastSource: number | undefined } {
  let firstSource = NOWHERE;
  let lastSource: number | undefined;
  for (const id of ids) {
    const position = positionBefore(branch, at, id);
    if (position === NOWHERE) continue;
    if (firstSource === NOWHERE || position < firstSource) firstSource = position;
    if (lastSource === undefined || position > lastSource) lastSource = position;
  }
  return { firstSource, lastSource };
}

/** Where an entry is among those before position `at`, or `NOWHERE`. */
function positionBefore(branch: Branch, at: number, id: string): number {
  const position = positionOf(branch, id);
  return position < at ? position : NOWHERE;
}
