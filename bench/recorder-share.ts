import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRecorder, type Recorder } from "../src/effects/recorder.ts";
import type { Step } from "../src/machines/engine.ts";
import { RECORDING_VERSION } from "../src/machines/recording/recording.ts";
import { EVENT_VERSION } from "../src/reducers/engine/events.ts";
import { medianMs } from "./measure.ts";
import { openOver } from "./memory-stand-in.ts";
import { appendTurnPart, syntheticSession } from "./synthetic-session.ts";

const SESSION = 2000;
const BURSTS = 200;

/** What the recorder adds to the hook's own work: it is given a real turn's step and only queues it. */
export async function measureRecorder(): Promise<{ share: number }> {
  const manager = syntheticSession(SESSION, SESSION * 0.3);
  const session = openOver(manager);
  let n = SESSION;
  const bare = medianMs(() => appendTurnPart(manager, n++));
  const turn =
    medianMs(() => {
      appendTurnPart(manager, n++);
      session.turnEnded();
    }) - bare;
  void session.close("quit");
  const folder = mkdtempSync(join(tmpdir(), "memory-lanes-bench-"));
  const recorder = createRecorder({
    file: join(folder, "r.ndjson"),
    header: { type: "header", recording: RECORDING_VERSION, version: "", pi: "", sessionId: "" },
    keyframe: () => [],
    onFailure: console.error,
  });
  const take = await timeTake(recorder);
  await recorder.close();
  rmSync(folder, { recursive: true, force: true });
  // A turn is two steps: the entries, and the hook.
  return { share: (2 * take) / turn };
}

/** Milliseconds to take one step, with pauses in which the queue is written. */
async function timeTake(recorder: Recorder): Promise<number> {
  const times: number[] = [];
  for (let burst = 0; burst < BURSTS; burst++) {
    const start = performance.now();
    for (let i = 0; i < 100; i++) recorder.take(STEP);
    times.push((performance.now() - start) / 100);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return times.sort((a, b) => a - b)[BURSTS / 2] ?? 0;
}

const STEP = {
  event: {
    v: EVENT_VERSION,
    seq: 1,
    at: "2026-01-15T14:30:00.000Z",
    type: "branch.extended",
    entries: [{ id: "0123abcd", kind: "assistant", tokens: 321, source: true }],
  },
  transitions: [],
  commands: [],
} as unknown as Step;
