/**
 * What the lanes do, without Pi: the engine itself, recordings of it, and what it would have done under other settings. All of
 * it is pure. `RecordingLineError` is for a line that cannot be read.
 */

export { type Command, CommandSchema } from "./machines/commands.ts";
export {
  createEngine,
  type Engine,
  type EngineOptions,
  type Step,
  stepsOf,
  type Transition,
  type Watcher,
} from "./machines/engine.ts";
export type { Keyframe } from "./machines/keyframe.ts";
export {
  type CompactionContext,
  type CompactionLaneEvent,
  compactionLane,
} from "./machines/lanes/compaction-lane.ts";
export type { CompactionInput, LaneInput, LaneStates, WorkInput } from "./machines/lanes/inputs.ts";
export type { LanesSnapshot, Since } from "./machines/lanes/lanes.ts";
export { observerLane } from "./machines/lanes/observer-lane.ts";
export { reflectDropLane } from "./machines/lanes/reflect-drop-lane.ts";
export type { FinishedRun, WorkContext, WorkLaneEvent } from "./machines/lanes/work-lane.ts";
export { type EngineMoment, explainLane, whyLane } from "./machines/recording/explain.ts";
export type { Decision, RecordingLine } from "./machines/recording/recording.ts";
export { parseRecordingLine, RecordingLineError } from "./machines/recording/recording-line.ts";
export {
  createReplay,
  type Replay,
  type ReplayOptions,
  type ReplayReport,
  replay,
} from "./machines/recording/replay.ts";
export type { ReplayStep } from "./machines/recording/replay-step.ts";
export type { Decided, Difference, NumberedEvent, Verification } from "./machines/recording/verify.ts";
export {
  createSessionReplay,
  type SessionReplay,
  type SessionReplayOptions,
} from "./machines/what-if/simulated-session.ts";
export type { Answer, AnswerCounts } from "./machines/what-if/simulation.ts";
export type { Price, RunModel, Workload } from "./machines/what-if/workload.ts";
export type { Branch, BranchLog, Edit, Row } from "./reducers/branch.ts";
export type { DaySpent } from "./reducers/engine/budget.ts";
export type {
  ColdCache,
  EmptyRange,
  EngineState,
  ReplacedFolds,
  WorkerRecord,
} from "./reducers/engine/engine-state.ts";
export type { RunResult } from "./reducers/engine/events.ts";
export {
  type EngineEvent,
  type EngineEventOf,
  EngineEventSchema,
  type EngineEventType,
  type Failure,
  type Usage,
} from "./reducers/engine/events.ts";
export type { LaneName, Worker } from "./reducers/engine/lane-names.ts";
export type { SessionHost } from "./reducers/engine/session-host.ts";
export type { ModelFailure, ModelFailures } from "./reducers/engine/worker-models.ts";
export type { EntryLike } from "./reducers/entries/entry.ts";
export type { EntryKind, IgnoredReason } from "./reducers/entries/entry-fact.ts";
export type { Hand, HandAct, HandActName } from "./reducers/ledger/hand/hand.ts";
export type {
  CompactionRecord,
  Dropped,
  Ledger,
  ObservationRecord,
  ReflectionRecord,
  UnshownRecord,
  Watermarks,
  Written,
} from "./reducers/ledger/ledger.ts";
export type { Relevance } from "./reducers/ledger/records.ts";
export type { SessionState } from "./reducers/session.ts";
export { type Settings, SettingsSchema } from "./reducers/settings.ts";
export type { Spend, Spent } from "./reducers/spend.ts";
