import type { Step } from "../../../machines/engine.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";

/** What an engine did lately, for who begins to look later. */
interface StepHistory {
  readonly steps: readonly Step[];
  add(step: Step): void;
}

const MOST_STEPS = 40_000;

/**
 * Every move in the session's tree brings its whole branch along, and holds on to it: ten moves at 100,000 entries would be
 * 150 MB.
 */
const MOST_ENTRIES = 200_000;

/** A history that forgets its beginning when it holds too much. The state that is in each step makes it readable from any. */
export function createStepHistory({ mostSteps = MOST_STEPS, mostEntries = MOST_ENTRIES } = {}): StepHistory {
  const steps: Step[] = [];
  let entries = 0;

  function forget(count: number): void {
    for (const { event } of steps.splice(0, count)) entries -= entriesIn(event);
  }

  return {
    steps,
    add(step) {
      steps.push(step);
      entries += entriesIn(step.event);
      if (steps.length > mostSteps) forget(Math.ceil(mostSteps / 2));
      // What was before a new branch is of no use to it; what comes to it later is small.
      if ("branch" in step.event && entries > mostEntries) forget(steps.length - 1);
    },
  };
}

function entriesIn(event: EngineEvent): number {
  if ("branch" in event) return event.branch.length;
  return event.type === "branch.extended" ? event.entries.length : 0;
}
