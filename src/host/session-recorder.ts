import { join } from "node:path";
import { createRecorder, type Recorder, type RecorderOptions } from "../effects/recorder.ts";
import type { Engine } from "../machines/engine.ts";
import { EVENT_VERSION } from "../machines/events.ts";
import { RECORDING_VERSION } from "../machines/recording.ts";
import { tipOf } from "../reducers/branch.ts";
import { type BranchSource, describeThrough } from "./branch-sync.ts";

/** Where the recordings of a Pi agent directory are. */
export function recordingsDir(agentDir: string): string {
  return join(agentDir, "observational-memory", "debug");
}

export interface SessionRecorderOptions
  extends Pick<RecorderOptions, "restored" | "onFailure" | "maxBytes" | "maxQueuedLines"> {
  engine: Engine;
  source: BranchSource;
  sessionId: string;
  agentDir: string;
  /** Of this package and of Pi */
  version: string;
  pi: string;
}

/** Records a session's event stream under Pi's agent directory, without text. It is fed by hand: `take(step)`. */
export function createSessionRecorder(options: SessionRecorderOptions): Recorder {
  const { engine, source, sessionId, agentDir, version, pi, ...rest } = options;
  return createRecorder({
    ...rest,
    file: join(recordingsDir(agentDir), `${sessionId}.ndjson`),
    header: { type: "header", recording: RECORDING_VERSION, version, pi, sessionId },
    keyframe({ seq, at }) {
      const { session, settings, contextWindow } = engine.state;
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
          ...(contextWindow !== undefined && { contextWindow }),
          // Not Pi's branch: that may have grown, or its leaf moved, since the engine last looked.
          branch: describeThrough(source, tipOf(session.branch)),
        },
      ];
    },
  });
}
