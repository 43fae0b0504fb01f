import { parseRecordingLine } from "../../../machines/recording/recording-line.ts";
import { createReplay } from "../../../machines/recording/replay.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import type { Verification } from "../../../machines/recording/verify.ts";
import { createRecordingSimulation } from "../../../machines/what-if/simulated-recording.ts";
import { createSessionReplay } from "../../../machines/what-if/simulated-session.ts";
import type { AnswerCounts } from "../../../machines/what-if/simulation.ts";
import { createRunStatistics, type Price, type Workload } from "../../../machines/what-if/workload.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { grouped } from "../../words.ts";
import { type Io, UsageError } from "../io.ts";
import {
  newReading,
  type Reading,
  type RecordingSource,
  type ReplaySource,
  readBatch,
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
  model?: Workload;
}

export interface RunOptions {
  /** Settings in place of the recorded ones; empty: none */
  patch: Partial<Settings>;
  /** Sees every step; false ends the replay early. */
  onStep: (step: ReplayStep) => boolean;
  /** Ends it at the first difference from what was recorded. */
  untilDifference?: boolean;
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

async function runRecording(
  source: RecordingSource,
  io: Io,
  { onStep, untilDifference = false }: RunOptions,
): Promise<RunReport> {
  const reading = newReading();
  const { read, lostLine, report, end } = createReplay();
  const { verification } = report;
  const reader = {
    onLost: lostLine,
    read(line: string) {
      const step = read(line);
      if (untilDifference && verification.difference) return false;
      return step === undefined || onStep(step);
    },
  };
  const goesOn = await goThrough(source, io, reading, reader, () => report.events);
  end({ truncated: reading.truncated || !goesOn });
  refuseIfEmpty(source, report.events, reading);
  return { events: report.events, reading, missingEvents: report.missingEvents, verification };
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
  const show = (step: ReplayStep) => {
    events++;
    return onStep(step);
  };
  const reader = {
    onLost: () => {},
    read: (line: string) => simulation.take(parseRecordingLine(line)).every(show),
  };
  const goesOn = await goThrough(source, io, reading, reader, () => events);
  if (goesOn) simulation.finish().every(show);
  return { events, reading, missingEvents: 0, answers: simulation.counts, model };
}

/** How the workers of a recording did, and what they cost. */
export async function measureWorkers(
  source: RecordingSource,
  io: Io,
): Promise<{ model: Workload; price: Price | undefined }> {
  const statistics = createRunStatistics();
  const reading = newReading();
  const { read, lostLine, report, end } = createReplay();
  const reader = {
    onLost: lostLine,
    read(line: string) {
      const step = read(line);
      if (step) statistics.take(step);
      return true;
    },
  };
  await goThrough(source, io, reading, reader, () => report.events);
  end();
  refuseIfEmpty(source, report.events, reading);
  return { model: statistics.model(), price: statistics.price() };
}

/** Reads a recording in pieces; false when it was left before its end. */
async function goThrough(
  source: RecordingSource,
  io: Io,
  reading: Reading,
  reader: Parameters<typeof readBatch>[2],
  events: () => number,
): Promise<boolean> {
  for await (const batch of source.batches()) {
    const goesOn = readBatch(batch, reading, reader);
    await io.ready();
    if (!goesOn || io.closed) return false;
    io.progress(() => progressWords(source, events(), batch.bytes));
  }
  return true;
}

function refuseIfEmpty({ file }: RecordingSource, events: number, { badLines, bad }: Reading): void {
  if (events > 0) return;
  const [first] = badLines;
  const why = first ? `; ${bad} lines could not be read, the first is line ${first.line}: ${first.why}` : "";
  throw new UsageError(`${file}: the recording holds no event${why}`);
}

function progressWords({ size, file }: RecordingSource, events: number, bytes: number): string {
  const share = size === undefined ? "" : ` (${Math.min(100, Math.round((100 * bytes) / size))} %)`;
  return `${file}: ${grouped(events)} events${share}`;
}
