/**
 * Memory of a branch, without Pi: open it once with `openMemory` and ask it, or use one of the functions that answer a single
 * question. All of it is pure; `entries` are Pi session entries of one branch, root first, as `parseSession` gives them.
 * Tokens of conversation are source tokens: Pi's own estimate of entries that count as conversation. What is malformed in
 * an entry is passed over or counted, never thrown; `SessionFileError` is for text that cannot be read at all.
 *
 * The engine, recordings and simulations are behind the other door, `pi-memory-lanes/replay`.
 */

export type { Clocks } from "./reducers/clocks.ts";
export type { EntryLike, EntryLookup } from "./reducers/entries/entry.ts";
export type { IgnoredReason } from "./reducers/entries/entry-fact.ts";
export {
  type BreakOff,
  parseSession,
  SessionFileError,
  type SessionFileOptions,
} from "./reducers/entries/session-file.ts";
export { renderSources, type SourceChunk } from "./reducers/entries/sources.ts";
export type { CompactionPlan, CompactionSettings } from "./reducers/ledger/compaction-plan.ts";
export type { EvidenceSizes } from "./reducers/ledger/evidence-size.ts";
export type { FoldRoomSettings } from "./reducers/ledger/fold-room.ts";
export { memoryId } from "./reducers/ledger/memory-id.ts";
export { type Drift, diffProjections } from "./reducers/ledger/projections.ts";
export type {
  Forgotten,
  Recalled,
  RecalledObservation,
  RecalledReflection,
  RecalledSource,
  RecordStatus,
} from "./reducers/ledger/recall.ts";
export type {
  MemoryDetails,
  Observation,
  Projection,
  Reflection,
  Relevance,
} from "./reducers/ledger/records.ts";
export { renderSummary, type SummaryNotes, type Unobserved } from "./reducers/ledger/summary.ts";
export {
  type FoldedLedger,
  type FoldSettings,
  foldLedger,
  type Memory,
  openMemory,
  planCompaction,
  projectForCompaction,
  projectFull,
  projectVisible,
  readClocks,
  recall,
} from "./reducers/memory.ts";
export { type RecallOptions, type RecallPage, renderRecall } from "./reducers/recall/recall-text.ts";
export { redacted, redactedEntry } from "./reducers/redact.ts";
export { type Settings, SettingsSchema } from "./reducers/settings.ts";
