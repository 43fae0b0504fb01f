import type { EngineEvent } from "../reducers/engine/events.ts";
import { createEngine, type Engine, type EngineOptions, type Step } from "./engine.ts";

/** An engine that is asked instead of watched: each event's step comes back from the call. */
export interface Stepper {
  readonly engine: Engine;
  /** Puts an event in and gives what it did. Throws what a reducer or a machine threw, naming the event. */
  step(event: EngineEvent): Step;
}

export function createStepper(options: EngineOptions = {}): Stepper {
  const engine = createEngine(options);
  let last: Step | undefined;
  let failure: unknown;
  engine.steps$.subscribe({
    next: (step) => {
      last = step;
    },
    error: (error) => {
      failure = error;
    },
  });
  return {
    engine,
    step(event) {
      last = undefined;
      engine.dispatch(event);
      if (last) return last;
      const why = failure instanceof Error ? failure.message : String(failure);
      throw new Error(`event ${event.seq} (${event.type}) could not be replayed: ${why}`, { cause: failure });
    },
  };
}
