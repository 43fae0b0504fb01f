import { z } from "zod";

/** How a run ended. `empty` is a deliberate "nothing to record"; `stale` means its session or branch is gone. */
export const OUTCOMES = ["recorded", "empty", "failed", "stale", "aborted"] as const;

/** What a lane needs to know of a finished run. */
export const RunResultSchema = z.object({
  runId: z.string(),
  outcome: z.enum(OUTCOMES),
  /** Last source entry that the run read; null when it read none. */
  coversUpToId: z.string().nullable(),
});
export type RunResult = z.infer<typeof RunResultSchema>;
