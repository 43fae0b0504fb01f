import { z } from "zod";
import { RunFinishedSchema, UsageSchema } from "../reducers/engine/events.ts";

const WorkerRecordSchema = z.object({
  runs: z.int(),
  requests: z.int(),
  usage: UsageSchema,
  last: RunFinishedSchema.nullable(),
  failure: z.object({ kind: z.string(), message: z.string(), at: z.string() }).nullable(),
});

/** What the engine cannot learn from `session.opened`: where its machines were, and what it knew of runs and failures. */
export const KeyframeSchema = z.object({
  type: z.literal("keyframe"),
  /** Each machine's persisted XState snapshot, by name */
  machines: z.record(z.string(), z.unknown()),
  agentIdle: z.boolean(),
  workers: z.object({
    observer: WorkerRecordSchema,
    reflector: WorkerRecordSchema,
    dropper: WorkerRecordSchema,
  }),
  modelFailures: z
    .record(
      z.string(),
      z.object({ failures: z.int(), at: z.string(), kind: z.string(), message: z.string() }),
    )
    .optional(),
  compactionFailure: z.object({ kind: z.string(), message: z.string(), at: z.string() }).nullable(),
  replacedFolds: z
    .object({ count: z.int(), at: z.string(), by: z.enum(["extension", "pi"]) })
    .nullable()
    .optional(),
  emptyRange: z.object({ upToId: z.string(), tokens: z.number() }).nullable(),
});
export type Keyframe = z.infer<typeof KeyframeSchema>;
