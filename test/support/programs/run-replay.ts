import type { RecordingLine } from "../../../src/machines/recording/recording.ts";
import { type ReplayOptions, type ReplayReport, replay } from "../../../src/machines/recording/replay.ts";
import type { ReplayStep } from "../../../src/machines/recording/replay-step.ts";

/** Replays lines to their end: all steps, and what was found. */
export function runReplay(
  lines: Iterable<RecordingLine>,
  options?: ReplayOptions,
): { steps: ReplayStep[]; report: ReplayReport } {
  const steps: ReplayStep[] = [];
  const running = replay(lines, options);
  for (;;) {
    const next = running.next();
    if (next.done) return { steps, report: next.value };
    steps.push(next.value);
  }
}
