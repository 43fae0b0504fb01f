/**
 * The library: what memory is and what the lanes do, without Pi. All of it is pure; `entries` are Pi session
 * entries of one branch, root first, as `parseSession` gives them. Tokens of conversation are source tokens: Pi's own
 * estimate of entries that count as conversation. What is malformed in an entry is passed over or counted, never
 * thrown; `SessionFileError` and `RecordingLineError` are for text that cannot be read at all.
 */

import { NOWHERE, positionOf } from "./reducers/branch.ts";
import { type Clocks, clocksOf } from "./reducers/clocks.ts";
import type { EntryLike } from "./reducers/entries/entry.ts";
import type { IgnoredReason } from "./reducers/entries/entry-fact.ts";
import { type CompactionPlan, type CompactionSettings, planFold } from "./reducers/ledger/compaction-plan.ts";
import { isActive } from "./reducers/ledger/pool.ts";
import {
  CUT_EVERYTHING,
  resolveSelection,
  selectForCompaction,
  selectFull,
  visibleMemory,
} from "./reducers/ledger/projections.ts";
import { type Recalled, recallFrom } from "./reducers/ledger/recall.ts";
import { recordsOf } from "./reducers/ledger/record-log.ts";
import { readObservation } from "./reducers/ledger/record-text.ts";
import type { Observation, Projection, Reflection } from "./reducers/ledger/records.ts";
import { sessionOfEntries } from "./reducers/session-of-entries.ts";
import { DEFAULT_SETTINGS } from "./reducers/settings.ts";

export { type Command, CommandSchema } from "./machines/commands.ts";
export {
  createEngine,
  type Engine,
  type EngineOptions,
  type Step,
  type Transition,
} from "./machines/engine.ts";
export { compactionLane } from "./machines/lanes/compaction-lane.ts";
export type { LanesSnapshot } from "./machines/lanes/lanes.ts";
export { observerLane } from "./machines/lanes/observer-lane.ts";
export { reflectDropLane } from "./machines/lanes/reflect-drop-lane.ts";
export { explainLane, type Moment, whyLane } from "./machines/recording/explain.ts";
export type { RecordingLine } from "./machines/recording/recording.ts";
export { parseRecordingLine, RecordingLineError } from "./machines/recording/recording-line.ts";
export {
  createReplay,
  type Replay,
  type ReplayOptions,
  type ReplayReport,
  type ReplayStep,
  replay,
} from "./machines/recording/replay.ts";
export type { Difference, Verification } from "./machines/recording/verify.ts";
export {
  createSessionReplay,
  type SessionReplay,
  type SessionReplayOptions,
} from "./machines/what-if/simulated-session.ts";
export { type EngineEvent, EngineEventSchema } from "./reducers/engine/events.ts";
export type { EntryLike } from "./reducers/entries/entry.ts";
export { parseSession, SessionFileError } from "./reducers/entries/session-file.ts";
export { renderSources } from "./reducers/entries/sources.ts";
export { memoryId } from "./reducers/ledger/memory-id.ts";
export { type Drift, diffProjections } from "./reducers/ledger/projections.ts";
export { type Recalled, type RecallPage, renderRecall } from "./reducers/ledger/recall.ts";
export type { MemoryDetails, Observation, Projection, Reflection } from "./reducers/ledger/records.ts";
export { renderSummary } from "./reducers/ledger/summary.ts";
export { type Settings, SettingsSchema } from "./reducers/settings.ts";
export type { Clocks, CompactionPlan };

/** All clocks of a branch, in source tokens (Pi's estimate). */
export function readClocks(entries: readonly EntryLike[]): Clocks {
  const { session } = sessionOfEntries(entries);
  return clocksOf(session.branch, session.ledger);
}

/** The ledger of a branch, folded cold. */
export interface FoldedLedger {
  /** Every valid observation in the order of recording, dropped ones included. */
  observations: Observation[];
  activeObservations: Observation[];
  /** Ids with a tombstone, whether or not their observation was ever recorded. */
  droppedObservationIds: string[];
  reflections: Reflection[];
  /** What looked like memory and was left out, by reason. */
  ignored: Record<IgnoredReason, number>;
}

/** Folds the ledger entries of a branch. A record's `tokenCount` is the estimate of its rendered text. */
export function foldLedger(entries: readonly EntryLike[]): FoldedLedger {
  const { session, lookup } = sessionOfEntries(entries);
  const { branch, ledger } = session;
  const refs = recordsOf(ledger.observations);
  const observations = refs
    .map((ref) => readObservation(branch, ref, lookup))
    .filter((observation) => observation !== undefined);
  const dropped = [...refs.filter(({ id }) => !isActive(ledger, id)), ...recordsOf(ledger.tombstones)];
  return {
    observations,
    activeObservations: observations.filter(({ id }) => isActive(ledger, id)),
    droppedObservationIds: [...new Set(dropped.map(({ id }) => id))],
    reflections: resolveSelection(selectFull(ledger), branch, lookup).reflections,
    ignored: { ...ledger.ignored },
  };
}

/** Full memory: the ledger's truth at the branch tip. */
export function projectFull(entries: readonly EntryLike[]): Projection {
  const { session, lookup } = sessionOfEntries(entries);
  return resolveSelection(selectFull(session.ledger), session.branch, lookup);
}

/** Visible memory: what the latest `om.folded` compaction put before the agent. */
export function projectVisible(entries: readonly EntryLike[]): Projection {
  const { session, lookup } = sessionOfEntries(entries);
  return visibleMemory(session.branch, session.ledger, lookup);
}

/**
 * The memory that a compaction keeping everything from `firstKeptEntryId` on would show. An empty or unknown id
 * means that everything is cut, so all memory is projected.
 */
export function projectForCompaction(
  entries: readonly EntryLike[],
  firstKeptEntryId: string,
  settings: { observationsPoolMaxTokens: number; foldPolicy?: "pressure" | "always" },
): Projection & { fullFold: boolean } {
  const { session, lookup } = sessionOfEntries(entries);
  const position = positionOf(session.branch, firstKeptEntryId);
  const cut = position === NOWHERE ? CUT_EVERYTHING : position;
  const selection = selectForCompaction(session.ledger, cut, {
    foldPolicy: DEFAULT_SETTINGS.foldPolicy,
    ...settings,
  });
  return { ...resolveSelection(selection, session.branch, lookup), fullFold: selection.fullFold };
}

/**
 * What the compaction hook answers to a proposed cut; undefined when memory is empty. Missing settings are defaults. In
 * `unobserved`, the entries, and their source tokens, that would be neither in the summary nor kept. An unknown
 * `firstKeptEntryId` means that everything is cut.
 */
export function planCompaction(
  entries: readonly EntryLike[],
  firstKeptEntryId: string,
  settings: Partial<CompactionSettings> = {},
): CompactionPlan | undefined {
  const { session } = sessionOfEntries(entries);
  const all = { ...DEFAULT_SETTINGS, ...settings };
  return planFold(session.branch, session.ledger, firstKeptEntryId, all, (position) => entries[position]);
}

/**
 * What a memory id stands for on a branch, with its exact sources; neither `observation` nor `reflection` when the id is
 * not on it. `renderRecall` puts it into words.
 */
export function recall(entries: readonly EntryLike[], id: string): Recalled {
  const { session, lookup } = sessionOfEntries(entries);
  return recallFrom(session, lookup, id);
}
