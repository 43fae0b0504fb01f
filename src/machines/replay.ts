import type { Step } from "./engine.ts";
import type { EngineEvent } from "./events.ts";
import type { Keyframe, RecordingLine } from "./recording.ts";
import { createVerifier, type Verification } from "./replay-verify.ts";
import { createStepper, type Stepper } from "./stepper.ts";

/** What one event of a replay did. */
export interface ReplayStep extends Step {
  /**
   * The event's number: its `seq`, but counted on where a recording holds several openings of its session, each of
   * which counts from 1.
   */
  number: number;
  /** The event was not recorded: a model of the workers made it up. */
  modelled: boolean;
}

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
  /** Says that there was a line which could not be read. */
  lostLine(): void;
  /** Says that there are no more lines; `truncated` when the last one broke off. */
  end(options?: { truncated?: boolean }): ReplayReport;
}

/** Runs recorded events through the very engine that runs live, from the start or from a keyframe. */
export function createReplay(): Replay {
  const verifier = createVerifier();
  const report: ReplayReport = { events: 0, missingEvents: 0, verification: verifier.result };
  let part: Part | undefined;
  let keyframe: Keyframe | undefined;
  let offset = 0;
  let lastNumber = 0;

  function open(first: EngineEvent): Part {
    // Openings of one session count from 1 each; a file that was begun in its middle counts on.
    if (keyframe === undefined && first.seq + offset <= lastNumber) offset = lastNumber;
    const opened: Part = createStepper(keyframe ? { keyframe } : {});
    keyframe = undefined;
    if (first.type !== "session.opened") missing(1);
    return opened;
  }

  function missing(events: number): void {
    report.missingEvents += events;
    verifier.lostEvents();
  }

  return {
    take(line) {
      switch (line.type) {
        case "header":
        case "keyframe":
          part?.engine.stop();
          part = undefined;
          keyframe = line.type === "keyframe" ? line : undefined;
          verifier.opens();
          return undefined;
        case "decision":
          verifier.decision(line);
          return undefined;
        default: {
          part ??= open(line);
          if (part.seq !== undefined && line.seq !== part.seq + 1)
            missing(Math.max(1, line.seq - part.seq - 1));
          part.seq = line.seq;
          lastNumber = offset + line.seq;
          report.events++;
          const step = part.step(line);
          verifier.event(lastNumber, step);
          return { ...step, number: lastNumber, modelled: false };
        }
      }
    },
    lostLine: () => verifier.lostLine(),
    end({ truncated = false } = {}) {
      verifier.end({ truncated });
      part?.engine.stop();
      return report;
    },
  };
}

/**
 * Replays a recording's lines, or bare events, and gives a step for each event. The generator's return value says
 * whether the decisions were the recorded ones; bare events have none, so for them it says nothing.
 */
export function* replay(lines: Iterable<RecordingLine>): Generator<ReplayStep, ReplayReport> {
  const { take, end } = createReplay();
  for (const line of lines) {
    const step = take(line);
    if (step) yield step;
  }
  return end();
}

/** One engine's share of a recording. */
interface Part extends Stepper {
  /** Of the event taken last */
  seq?: number;
}
