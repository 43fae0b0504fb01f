import type { EngineEvent } from "../../reducers/engine/events.ts";
import type { Settings } from "../../reducers/settings.ts";
import { createEngine, type Engine, type EngineOptions } from "../engine.ts";
import type { Keyframe } from "../keyframe.ts";
import { createRecordingSimulation } from "../what-if/simulated-recording.ts";
import { createRunStatistics } from "../what-if/workload.ts";
import type { RecordingLine } from "./recording.ts";
import { parseRecordingLine } from "./recording-line.ts";
import type { ReplayStep } from "./replay-step.ts";
import { createVerifier, type Verification } from "./verify.ts";

/** What a replay found besides its steps. */
export interface ReplayReport {
  events: number;
  /** Events that the recording lacks, as the numbers of those around them tell. */
  missingEvents: number;
  /** Whether the replay's decisions were the recorded ones. */
  verification: Verification;
}

/** A replay that is fed by hand, so that a recording of any length can be streamed through it. */
export interface Replay {
  /** Takes the next line; gives what it did when it is an event. Throws what a reducer or a machine throws. */
  take(line: RecordingLine): ReplayStep | undefined;
  /** The same for a line as it is written. Throws `RecordingLineError` for one that cannot be read. */
  read(line: string): ReplayStep | undefined;
  /** Says that there was a line which could not be read. */
  lostLine(): void;
  /** What was found so far */
  readonly report: ReplayReport;
  /** Says that there are no more lines; `truncated` when the last one broke off. */
  end(options?: { truncated?: boolean }): ReplayReport;
}

/** Runs recorded events through the very engine that runs live, from the start or from a keyframe. */
export function createReplay({ drawsArrows = true }: Pick<EngineOptions, "drawsArrows"> = {}): Replay {
  const verifier = createVerifier();
  const report: ReplayReport = { events: 0, missingEvents: 0, verification: verifier.result };
  let part: Part | undefined;
  let keyframe: Keyframe | undefined;
  let offset = 0;
  let lastNumber = 0;

  function open(first: EngineEvent): Part {
    // Openings of one session count from 1 each; a file that was begun in its middle repeats the number before it.
    const number = offset + first.seq;
    if (number < lastNumber || (number === lastNumber && keyframe === undefined)) offset = lastNumber;
    const opened: Part = { engine: createEngine({ drawsArrows, ...(keyframe && { keyframe }) }) };
    keyframe = undefined;
    if (first.type !== "session.opened") missing(1);
    return opened;
  }

  function missing(events: number): void {
    report.missingEvents += events;
    verifier.lostEvents();
  }

  function take(line: RecordingLine): ReplayStep | undefined {
    if (line.type === "decision") {
      verifier.decision(line);
      return undefined;
    }
    if (line.type === "header" || line.type === "keyframe") {
      part?.engine.stop();
      part = undefined;
      keyframe = line.type === "keyframe" ? line : undefined;
      verifier.opens();
      return undefined;
    }
    part ??= open(line);
    if (part.seq !== undefined && line.seq !== part.seq + 1) missing(Math.max(1, line.seq - part.seq - 1));
    part.seq = line.seq;
    lastNumber = offset + line.seq;
    report.events++;
    const { event, state, snapshot, transitions, commands } = part.engine.step(line);
    const step = {
      number: lastNumber,
      modelled: false,
      event,
      state,
      snapshot,
      transitions,
      commands,
    };
    verifier.event(step);
    return step;
  }

  return {
    take,
    report,
    read: (line) => take(parseRecordingLine(line)),
    lostLine: () => verifier.lostLine(),
    end({ truncated = false } = {}) {
      verifier.end({ truncated });
      part?.engine.stop();
      return report;
    },
  };
}

export interface ReplayOptions {
  /**
   * Settings in place of the recorded ones. Results that the recording then lacks are modelled on the recorded runs;
   * steps say which of them are.
   */
  settings?: Partial<Settings>;
}

/**
 * Replays a recording's lines, or bare events, and gives a step for each event. The generator's return value says
 * whether the decisions were the recorded ones; for bare events, and under other settings, that says nothing.
 *
 * Throws an `Error` that names the event when a reducer or a machine throws.
 */
export function* replay(
  lines: Iterable<RecordingLine>,
  { settings }: ReplayOptions = {},
): Generator<ReplayStep, ReplayReport> {
  if (settings) return yield* replayUnder(settings, [...lines]);
  const { take, end } = createReplay();
  for (const line of lines) {
    const step = take(line);
    if (step) yield step;
  }
  return end();
}

function* replayUnder(
  patch: Partial<Settings>,
  lines: readonly RecordingLine[],
): Generator<ReplayStep, ReplayReport> {
  const statistics = createRunStatistics();
  for (const step of replay(lines)) statistics.take(step);
  const simulation = createRecordingSimulation({
    patch,
    model: statistics.model(),
    price: statistics.price(),
  });
  let events = 0;
  for (const line of [...lines, undefined]) {
    for (const step of line ? simulation.take(line) : simulation.finish()) {
      events++;
      yield step;
    }
  }
  return { events, missingEvents: 0, verification: { compared: 0, decisions: 0, unverified: 0 } };
}

/** One engine's share of a recording. */
interface Part {
  readonly engine: Engine;
  /** Of the event taken last */
  seq?: number;
}
