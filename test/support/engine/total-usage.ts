import { addUsage, type EngineState, noUsage } from "../../../src/reducers/engine/engine-state.ts";
import type { Usage } from "../../../src/reducers/engine/events.ts";
import { WORKERS } from "../../../src/reducers/engine/lane-names.ts";

/** What all workers have used since the session was opened. */
export function totalUsage({ workers }: EngineState): { requests: number; usage: Usage } {
  const all = WORKERS.map((worker) => workers[worker]);
  return {
    requests: all.reduce((sum, { requests }) => sum + requests, 0),
    usage: all.map(({ usage }) => usage).reduce(addUsage, noUsage()),
  };
}
