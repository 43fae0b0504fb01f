import { z } from "zod";

/** The lanes, in the order in which the scheduler tells them things. */
export const LANES = ["observer", "reflectDrop", "compaction"] as const;
export const LaneNameSchema = z.enum(LANES);
export type LaneName = z.infer<typeof LaneNameSchema>;

/** The workers: what a run is of. The dropper has no lane of its own; it follows the reflector. */
export const WORKERS = ["observer", "reflector", "dropper"] as const;
export const WorkerSchema = z.enum(WORKERS);
export type Worker = z.infer<typeof WorkerSchema>;

/** Which lane a worker's runs belong to. */
export function laneOf(worker: Worker): LaneName {
  return worker === "observer" ? "observer" : "reflectDrop";
}
