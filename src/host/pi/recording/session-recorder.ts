import { join } from "node:path";
import { createRecorder, type Recorder, type RecorderOptions } from "../../../effects/recorder.ts";
import type { Engine } from "../../../machines/engine.ts";
import { RECORDING_VERSION } from "../../../machines/recording/recording.ts";
import { tipOf } from "../../../reducers/branch.ts";
import { EVENT_VERSION } from "../../../reducers/engine/events.ts";
import { memoryId } from "../../../reducers/ledger/memory-id.ts";
import { type BranchSource, describeThrough } from "../branch-sync.ts";

/**
 * The name of a session's recording. Pi takes a session's id from its file as it stands there, so one that is no plain name
 * must not choose a path: its digest stands for it.
 */
export function recordingName(sessionId: string): string {
  return `${/^\w[\w.-]{0,99}$/.test(sessionId) ? sessionId : memoryId(sessionId)}.ndjson`;
}

/** Where the recordings of a Pi agent directory are. */
export function recordingsDir(agentDir: string): string {
  return join(agentDir, "observational-memory", "debug");
}

/** What a session's recordings are begun with, whoever writes them. */
export type RecordingStart = Pick<RecorderOptions, "header" | "restored" | "keyframe">;

interface RecordingStartOptions extends Pick<RecorderOptions, "restored"> {
  engine: Engine;
  source: BranchSource;
  sessionId: string;
  /** Of this package and of Pi */
  version: string;
  pi: string;
}

export function recordingStart(options: RecordingStartOptions): RecordingStart {
  const { engine, source, sessionId, version, pi, restored } = options;
  return {
    header: { type: "header", recording: RECORDING_VERSION, version, pi, sessionId },
    restored,
    keyframe({ seq, at }) {
      const { session, settings, host, contextWindow, daySpent } = engine.state;
      return [
        engine.keyframe(),
        {
          v: EVENT_VERSION,
          seq,
          at,
          type: "session.opened",
          reason: "keyframe",
          sessionId,
          settings,
          host,
          ...(contextWindow !== undefined && { contextWindow }),
          ...(daySpent && { daySpent }),
          // Not Pi's branch: that may have grown, or its leaf moved, since the engine last looked.
          branch: describeThrough(source, tipOf(session.branch)),
        },
      ];
    },
  };
}

interface SessionRecorderOptions extends Pick<RecorderOptions, "onFailure" | "maxBytes"> {
  start: RecordingStart;
  sessionId: string;
  agentDir: string;
}

/** Records a session's event stream under Pi's agent directory, without text. It is fed by hand: `take(step)`. */
export function createSessionRecorder(options: SessionRecorderOptions): Recorder {
  const { start, sessionId, agentDir, ...rest } = options;
  return createRecorder({ ...rest, ...start, file: join(recordingsDir(agentDir), recordingName(sessionId)) });
}
