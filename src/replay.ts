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
export { compactionLane } from "./machines/lanes/compaction-lane.ts";
export type { LanesSnapshot } from "./machines/lanes/lanes.ts";
export { observerLane } from "./machines/lanes/observer-lane.ts";
export { reflectDropLane } from "./machines/lanes/reflect-drop-lane.ts";
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
export type { Difference, Verification } from "./machines/recording/verify.ts";
export {
  createSessionReplay,
  type SessionReplay,
  type SessionReplayOptions,
} from "./machines/what-if/simulated-session.ts";
export type { EngineState } from "./reducers/engine/engine-state.ts";
export { type EngineEvent, EngineEventSchema } from "./reducers/engine/events.ts";
export type { LaneName, Worker } from "./reducers/engine/lane-names.ts";
export { type Settings, SettingsSchema } from "./reducers/settings.ts";
