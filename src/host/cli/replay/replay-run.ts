import { parseRecordingLine } from "../../../machines/recording/recording-line.ts";
import { createReplay } from "../../../machines/recording/replay.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import type { Verification } from "../../../machines/recording/verify.ts";
import { createRecordingSimulation } from "../../../machines/what-if/simulated-recording.ts";
import { createSessionReplay } from "../../../machines/what-if/simulated-session.ts";
import type { AnswerCounts } from "../../../machines/what-if/simulation.ts";
import { createRunStatistics, type Workload } from "../../../machines/what-if/workload.ts";
import type { EngineEventOf } from "../../../reducers/engine/events.ts";
import type { Worker } from "../../../reducers/engine/lane-names.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { type Io, UsageError } from "../io.ts";
import {
  badLinesIn,
  type Reading,
  type RecordingSource,
  type ReplaySource,
  readRecording,
  type SessionSource,
} from "./replay-source.ts";

/** What happened, counted as the steps go by. */
export interface Tally {
  events: number;
  runs: Record<Worker, Partial<Record<EngineEventOf<"run.finished">["outcome"], number>>>;
  compactions: number;
  /** USD */
  cost: number;
}

interface Found {
  reading: Reading;
  /** Events that the recording lacks */
  missingEvents: number;
  /** Only for a recording under its own settings */
  verification?: Verification;
  /** Only where results were answered by a model or by what the file holds */
  answers?: AnswerCounts;
  /** Only for a session: runs that left a result in it and that nothing led to under these settings */
  unexplained?: number;
  model?: Workload;
}

/** What a whole replay came to. */
export type RunReport = Tally & Found;

interface RunOptions {
  /** Settings in place of the recorded ones */
  patch?: Partial<Settings>;
  /** Sees every step; false ends the replay early. */
  onStep: (step: ReplayStep) => unknown;
  /** Ends it at the first difference from what was recorded. */
  untilDifference?: boolean;
}

/** Takes a step; false when no more are wanted. */
type Take = (step: ReplayStep) => boolean;

/** Replays a source of any kind, in pieces, so that output and progress keep up. Throws `UsageError` for an empty recording. */
export async function runReplay(
  source: ReplaySource,
  io: Io,
  { patch = {}, onStep, untilDifference = false }: RunOptions,
): Promise<RunReport> {
  const tally: Tally = {
    events: 0,
    runs: { observer: {}, reflector: {}, dropper: {} },
    compactions: 0,
    cost: 0,
  };
  const take: Take = (step) => {
    count(tally, step);
    return onStep(step) !== false;
  };
  if (source.kind === "session") {
    const found = await runSession(source, io, patch, take);
    return { ...tally, ...found };
  }
  const found =
    Object.keys(patch).length > 0
      ? await runSimulation(source, io, patch, take)
      : await runRecording(source, io, take, untilDifference);
  if (tally.events > 0) return { ...tally, ...found };
  const why = badLinesIn(found.reading);
  throw new UsageError(`${source.file}: the recording holds no event${why === "" ? "" : `; ${why}`}`);
}

function count(tally: Tally, { event }: ReplayStep): void {
  tally.events++;
  if (event.type === "compaction.finished") tally.compactions++;
  if (event.type !== "run.finished") return;
  const runs = tally.runs[event.worker];
  runs[event.outcome] = (runs[event.outcome] ?? 0) + 1;
  tally.cost += event.usage.cost;
}

const STEPS_PER_PIECE = 1000;

async function runSession(
  { session, settings, reading }: SessionSource,
  io: Io,
  patch: Partial<Settings>,
  take: Take,
): Promise<Found> {
  const replay = createSessionReplay(session.entries, {
    sessionId: session.header.id,
    settings,
    patch,
  });
  let taken = 0;
  for (const step of replay.steps()) {
    if (!take(step) || io.closed) break;
    if (++taken % STEPS_PER_PIECE === 0) await io.ready();
  }
  return { reading, missingEvents: 0, answers: replay.counts, unexplained: replay.unexplained };
}

async function runRecording(
  source: RecordingSource,
  io: Io,
  take: Take,
  untilDifference = false,
): Promise<Found> {
  const { read, lostLine, report, end } = createReplay({ drawsArrows: false });
  const { verification } = report;
  const takeLine = (line: string) => {
    const step = read(line);
    if (untilDifference && verification.difference) return false;
    return step === undefined || take(step);
  };
  const { reading, isWhole } = await readRecording(source, io, takeLine, lostLine);
  end({ truncated: reading.truncatedLastLine || !isWhole });
  return { reading, missingEvents: report.missingEvents, verification };
}

/** Twice through the file: once to measure the workers, once under the other settings. */
async function runSimulation(
  source: RecordingSource,
  io: Io,
  patch: Partial<Settings>,
  take: Take,
): Promise<Found> {
  const statistics = createRunStatistics();
  await runRecording(source, io, (step) => {
    statistics.take(step);
    return true;
  });
  const model = statistics.model();
  const simulation = createRecordingSimulation({ patch, model, price: statistics.price() });
  const { reading, isWhole } = await readRecording(source, io, (line) =>
    simulation.take(parseRecordingLine(line)).every(take),
  );
  if (isWhole) simulation.finish().every(take);
  return { reading, missingEvents: 0, answers: simulation.counts, model };
}
