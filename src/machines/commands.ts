import { z } from "zod";
import { LANES, WorkerSchema } from "../reducers/engine/lane-names.ts";

/**
 * What a lane asks the world to do. Effects carry commands out; each `startRun` and each `requestCompaction`
 * is answered by exactly one result event.
 */
export const CommandSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("startRun"),
    runId: z.string(),
    worker: WorkerSchema,
    /** Failures in a row before this run: each one halves what the observer reads. */
    failures: z.int(),
    /** Last entry of a range that was judged to hold nothing worth recording. */
    emptyUpToId: z.string().nullable(),
  }),
  z.object({ type: z.literal("abortRun"), runId: z.string() }),
  z.object({ type: z.literal("requestCompaction"), runId: z.string() }),
  z.object({
    type: z.literal("notify"),
    level: z.enum(["info", "warning"]),
    lane: z.enum(LANES),
    /** `recorded`: routine. `failed`: the first failure of a row; further ones stay silent. */
    about: z.enum(["recorded", "failed"]),
    runId: z.string(),
  }),
]);
export type Command = z.infer<typeof CommandSchema>;
