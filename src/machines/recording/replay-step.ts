import type { Step } from "../engine.ts";

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
