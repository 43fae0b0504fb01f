import { createReplay, type ReplayStep } from "../../machines/replay.ts";
import type { Verification } from "../../machines/replay-verify.ts";
import { createRecordingSimulation } from "../../machines/simulated-recording.ts";
import { createSessionReplay } from "../../machines/simulated-session.ts";
import type { AnswerCounts } from "../../machines/simulation.ts";
import { createRunStatistics, type Price, type WorkerModel } from "../../machines/worker-model.ts";
import type { Settings } from "../../reducers/settings.ts";
import { type Io, UsageError } from "./io.ts";
import {
  newReading,
  type Reading,
  type RecordingSource,
  type ReplaySource,
  type SessionSource,
} from "./replay-source.ts";

/** What a whole replay came to. */
export interface RunReport {
  events: number;
  reading: Reading;
  /** Events that the recording lacks */
  missingEvents: number;
  /** Only for a recording under its own settings */
  verification?: Verification;
  /** Only where results were answered by a model or by what the file holds */
  answers?: AnswerCounts;
  model?: WorkerModel;
}

export interface RunOptions {
  /** Settings in place of the recorded ones; empty: none */
  patch: Partial<Settings>;
  /** Sees every step; false ends the replay early. */
  onStep: (step: ReplayStep) => boolean;
}

/** Replays a source of any kind, in pieces, so that output and progress keep up. */
export function runReplay(source: ReplaySource, io: Io, options: RunOptions): Promise<RunReport> {
  if (source.kind === "session") return runSession(source, io, options);
  return Object.keys(options.patch).length > 0
    ? runSimulation(source, io, options)
    : runRecording(source, io, options);
}

const STEPS_PER_PIECE = 1000;

async function runSession(source: SessionSource, io: Io, { patch, onStep }: RunOptions): Promise<RunReport> {
  const { session, reading } = source;
  const { steps, counts } = createSessionReplay(session.entries, { sessionId: session.header.id, patch });
  let events = 0;
  for (const step of steps()) {
    events++;
    if (!onStep(step) || io.closed) break;
    if (events % STEPS_PER_PIECE === 0) await io.ready();
  }
  return { events, reading, missingEvents: 0, answers: counts };
}

async function runRecording(source: RecordingSource, io: Io, { onStep }: RunOptions): Promise<RunReport> {
  const reading = newReading();
  const replay = createReplay();
  let events = 0;
  let goesOn = true;
  for await (const { lines, bytes } of source.batches(reading)) {
    for (const line of lines) {
      if (!goesOn) break;
      if (line === undefined) replay.lostLine();
      else {
        const step = replay.take(line);
        if (!step) continue;
        events++;
        goesOn = onStep(step);
      }
    }
    await io.ready();
    if (!goesOn || io.closed) break;
    io.progress(() => progressWords(source, events, bytes));
  }
  const { missingEvents, verification } = replay.end({ truncated: reading.truncated || !goesOn });
  refuseIfEmpty(source, events, reading);
  return { events, reading, missingEvents, verification };
}

/** Twice through the file: once to measure the workers, once under the other settings. */
async function runSimulation(
  source: RecordingSource,
  io: Io,
  { patch, onStep }: RunOptions,
): Promise<RunReport> {
  const { model, price } = await measureWorkers(source, io);
  const simulation = createRecordingSimulation({ patch, model, price });
  const reading = newReading();
  let events = 0;
  let goesOn = true;
  const show = (steps: readonly ReplayStep[]) => {
    for (const step of steps) {
      if (!goesOn) return;
      events++;
      goesOn = onStep(step);
    }
  };
  for await (const { lines, bytes } of source.batches(reading)) {
    for (const line of lines) if (line !== undefined) show(simulation.take(line));
    await io.ready();
    if (!goesOn || io.closed) break;
    io.progress(() => progressWords(source, events, bytes));
  }
  show(simulation.finish());
  return { events, reading, missingEvents: 0, answers: simulation.counts, model };
}

/** How the workers of a recording did, and what they cost. */
export async function measureWorkers(
  source: RecordingSource,
  io: Io,
): Promise<{ model: WorkerModel; price: Price | undefined }> {
  const statistics = createRunStatistics();
  const reading = newReading();
  const replay = createReplay();
  let events = 0;
  for await (const { lines, bytes } of source.batches(reading)) {
    for (const line of lines) {
      const step = line && replay.take(line);
      if (!step) continue;
      events++;
      statistics.take(step);
    }
    await io.ready();
    io.progress(() => `measuring: ${progressWords(source, events, bytes)}`);
  }
  replay.end();
  refuseIfEmpty(source, events, reading);
  return { model: statistics.model(), price: statistics.price() };
}

function refuseIfEmpty({ file }: RecordingSource, events: number, { badLines, bad }: Reading): void {
  if (events > 0) return;
  const [first] = badLines;
  const why = first ? `; ${bad} lines could not be read, the first is line ${first.line}: ${first.why}` : "";
  throw new UsageError(`${file}: the recording holds no event${why}`);
}

function progressWords({ size, file }: RecordingSource, events: number, bytes: number): string {
  const share = size === undefined ? "" : ` (${Math.min(100, Math.round((100 * bytes) / size))} %)`;
  return `${file}: ${events.toLocaleString("en-US")} events${share}`;
}
