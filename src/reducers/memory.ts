import { NOWHERE, positionOf } from "./branch.ts";
import type { Clocks } from "./clocks.ts";
import { describeEntry } from "./entries/describe-entry.ts";
import type { EntryLike, EntryLookup } from "./entries/entry.ts";
import type { IgnoredReason } from "./entries/entry-fact.ts";
import { type CompactionPlan, type CompactionSettings, planFold } from "./ledger/compaction-plan.ts";
import { memoryStatus } from "./ledger/ledger.ts";
import {
  CUT_EVERYTHING,
  type Drift,
  diffProjections,
  resolveSelection,
  selectForCompaction,
  selectFull,
  visibleMemory,
} from "./ledger/projections.ts";
import { type Recalled, recallFrom } from "./ledger/recall.ts";
import { entriesOf, readRecords } from "./ledger/record-text.ts";
import type { Observation, Projection, Reflection } from "./ledger/records.ts";
import { clocksOfSession, type SessionState, sessionOf } from "./session.ts";
import { DEFAULT_SETTINGS } from "./settings.ts";

/** The ledger of a branch, folded cold. */
export interface FoldedLedger {
  /** Every valid observation in the order of recording, dropped ones included */
  observations: Observation[];
  activeObservations: Observation[];
  /** Ids that a drop names, whether or not their observation was ever recorded */
  droppedObservationIds: string[];
  /** Those that are not dropped, as when another has replaced them */
  reflections: Reflection[];
  /** What looked like memory and was left out, by reason */
  ignored: Record<IgnoredReason, number>;
}

/** What a fold depends on besides the branch; what is missing is as the defaults have it. */
export type FoldSettings = Partial<Pick<CompactionSettings, "observationsPoolMaxTokens" | "foldPolicy">>;

/** The memory of one branch, folded once and asked as often as you like. Nothing in it changes. */
export interface Memory {
  /** All clocks, in source tokens (Pi's estimate) */
  readonly clocks: Clocks;
  readonly ledger: FoldedLedger;
  /** Full memory: the ledger's truth at the branch tip */
  readonly full: Projection;
  /** Visible memory: what the latest `om.folded` compaction put before the agent */
  readonly visible: Projection;
  /** What full memory has and visible memory lacks, and the other way round */
  readonly drift: Drift;
  /**
   * The memory that a compaction keeping everything from `firstKeptEntryId` on would show. An empty or unknown id means
   * that everything is cut, so all memory is projected.
   */
  forCompaction(firstKeptEntryId: string, settings?: FoldSettings): Projection & { fullFold: boolean };
  /**
   * What the compaction hook answers to a proposed cut; undefined when memory is empty. In `unobserved`, the entries, and
   * their source tokens, that would be neither in the summary nor kept. An unknown id means that everything is cut.
   */
  planCompaction(
    firstKeptEntryId: string,
    settings?: Partial<CompactionSettings>,
  ): CompactionPlan | undefined;
  /**
   * What a memory id stands for, with its exact sources; neither `observation` nor `reflection` when the id is not on this
   * branch. `renderRecall` puts it into words.
   */
  recall(id: string): Recalled;
}

/**
 * Opens the memory of a branch: Pi session entries, root first, as `parseSession` gives them. What is malformed in an entry
 * is passed over or counted, never thrown. Costs one walk over the entries; each answer costs what it gives.
 */
export function openMemory(entries: readonly EntryLike[]): Memory {
  const { session, lookup } = sessionOfEntries(entries);
  const { branch, ledger } = session;
  const full = once(() => resolveSelection(selectFull(ledger), branch, lookup));
  const visible = once(() => visibleMemory(branch, ledger, lookup));
  const folded = once(() => foldedLedger(session, lookup, full().reflections));
  return {
    get clocks() {
      return clocksOfSession(session);
    },
    get ledger() {
      return folded();
    },
    get full() {
      return full();
    },
    get visible() {
      return visible();
    },
    get drift() {
      return diffProjections(visible(), full());
    },
    forCompaction(firstKeptEntryId, settings = {}) {
      const position = positionOf(branch, firstKeptEntryId);
      const cut = position === NOWHERE ? CUT_EVERYTHING : position;
      const selection = selectForCompaction(ledger, cut, { ...DEFAULT_SETTINGS, ...settings });
      return { ...resolveSelection(selection, branch, lookup), fullFold: selection.fullFold };
    },
    planCompaction: (firstKeptEntryId, settings = {}) =>
      planFold(
        branch,
        ledger,
        { firstKeptEntryId },
        { ...DEFAULT_SETTINGS, ...settings },
        (at) => entries[at],
      ),
    recall: (id) => recallFrom(session, lookup, id),
  };
}

/** All clocks of a branch. */
export function readClocks(entries: readonly EntryLike[]): Clocks {
  return openMemory(entries).clocks;
}

/** Folds the ledger entries of a branch. A record's `tokenCount` is the estimate of its content. */
export function foldLedger(entries: readonly EntryLike[]): FoldedLedger {
  return openMemory(entries).ledger;
}

/** Full memory of a branch. */
export function projectFull(entries: readonly EntryLike[]): Projection {
  return openMemory(entries).full;
}

/** Visible memory of a branch. */
export function projectVisible(entries: readonly EntryLike[]): Projection {
  return openMemory(entries).visible;
}

/** `forCompaction` of a branch that nobody asks anything else. */
export function projectForCompaction(
  entries: readonly EntryLike[],
  firstKeptEntryId: string,
  settings: FoldSettings = {},
): Projection & { fullFold: boolean } {
  return openMemory(entries).forCompaction(firstKeptEntryId, settings);
}

/** `planCompaction` of a branch that nobody asks anything else. */
export function planCompaction(
  entries: readonly EntryLike[],
  firstKeptEntryId: string,
  settings: Partial<CompactionSettings> = {},
): CompactionPlan | undefined {
  return openMemory(entries).planCompaction(firstKeptEntryId, settings);
}

/** `recall` of a branch that nobody asks anything else. */
export function recall(entries: readonly EntryLike[], id: string): Recalled {
  return openMemory(entries).recall(id);
}

/** The session of Pi entries of one branch, root first, with the entries by id. */
export function sessionOfEntries(entries: readonly EntryLike[]): {
  session: SessionState;
  lookup: EntryLookup;
} {
  const byId = new Map<string, EntryLike>();
  // The first of a repeated id counts, as on a branch.
  for (const entry of entries) if (!byId.has(entry.id)) byId.set(entry.id, entry);
  const lookup: EntryLookup = (id) => byId.get(id);
  return { session: sessionOf(entries.map((entry) => describeEntry(entry, lookup))), lookup };
}

function foldedLedger(
  { branch, ledger }: SessionState,
  lookup: EntryLookup,
  reflections: Reflection[],
): FoldedLedger {
  const records = [...ledger.observations.values()];
  const observations = readRecords<Observation>(records, "observations", entriesOf(branch, lookup));
  return {
    observations,
    activeObservations: observations.filter(
      ({ id }) => memoryStatus(ledger, "observations", id) === "active",
    ),
    droppedObservationIds: [
      ...records.filter(({ droppedAt }) => droppedAt !== undefined).map(({ id }) => id),
      ...[...ledger.earlyDrops.observations.keys()].filter((id) => !ledger.observations.has(id)),
    ],
    reflections,
    ignored: { ...ledger.ignored },
  };
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
