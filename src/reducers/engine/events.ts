import { z } from "zod";
import { EntryFactSchema } from "../entries/entry-fact.ts";
import { SettingsSchema } from "../settings.ts";
import { DaySpentSchema } from "./budget.ts";
import { LaneNameSchema, WorkerSchema } from "./lane-names.ts";
import { SessionHostSchema } from "./session-host.ts";

/** Version of the event format. A reader refuses what it does not know rather than guess. */
export const EVENT_VERSION = 2;

const stamp = {
  v: z.literal(EVENT_VERSION),
  /** 1 for the first event of a recording, then one more for each. */
  seq: z.int().positive(),
  /** ISO 8601 */
  at: z.iso.datetime(),
  /** What all sessions have spent today, where there is a day's budget and the host has looked and seen another figure. */
  daySpent: DaySpentSchema.optional(),
};

function event<T extends string, S extends z.ZodRawShape>(type: T, shape: S) {
  return z.object({ ...stamp, type: z.literal(type), ...shape });
}

export const UsageSchema = z.object({
  /** tokens */
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  /** USD, as the model's price list in Pi has it */
  cost: z.number(),
});
export type Usage = z.infer<typeof UsageSchema>;

/** Why a run or a compaction failed, in one word; `message` never holds conversation text. */
export const FailureSchema = z.object({ kind: z.string(), message: z.string() });
export type Failure = z.infer<typeof FailureSchema>;

/** The kind of a `compaction.failed` that is none: Pi was not asked, since that would have interrupted the agent. */
export const AGENT_BUSY = "busy";

/** How a run ended. `empty` is a deliberate "nothing to record"; `stale` means its session or branch is gone. */
export const OUTCOMES = ["recorded", "empty", "failed", "stale", "aborted"] as const;

/** One request of a run, retries counted apart. */
export const RequestTimesSchema = z.object({
  /** Milliseconds since the epoch */
  startedAt: z.number(),
  /** Unset: it was still under way when the run ended. */
  durationMs: z.number().optional(),
  /** Unset: there was no reply. */
  usage: UsageSchema.optional(),
  /** The kind of its failure */
  failure: z.string().optional(),
});
export type RequestTimes = z.infer<typeof RequestTimesSchema>;

/** What a worker's run came to. */
export const RunResultSchema = z.object({
  outcome: z.enum(OUTCOMES),
  /** Last source entry that the run read; null when it read none. */
  coversUpToId: z.string().nullable(),
  records: z.int(),
  /** Records that were refused; the model may have mended them since. */
  rejected: z.int(),
  /** All requests, retries included */
  requests: z.int(),
  /** Source tokens that the run read */
  sourceTokens: z.number(),
  /** Of all models that were asked */
  usage: UsageSchema,
  /** Each request in order. Older recordings do not say. */
  requestTimes: z.array(RequestTimesSchema).optional(),
  failure: FailureSchema.optional(),
  /** `provider/id` of the model asked last: it answered, or the failure is its own. Older recordings do not say. */
  model: z.string().optional(),
  /** Models asked before it in this run, oldest first, and why another was asked after each. Likewise. */
  passedOver: z.array(z.object({ model: z.string(), failure: FailureSchema })).optional(),
});
export type RunResult = z.infer<typeof RunResultSchema>;

/** A run ended; there is exactly one of these for each `startRun` command. */
export const RunFinishedSchema = event("run.finished", {
  runId: z.string(),
  worker: WorkerSchema,
  durationMs: z.number(),
  ...RunResultSchema.shape,
});

/** Everything the engine decides by. Facts only: ids, kinds, counts, outcomes, settings. */
export const EngineEventSchema = z.discriminatedUnion("type", [
  /** A session is open on this branch (root first). Also the keyframe that lets a recording start anywhere. */
  event("session.opened", {
    reason: z.string(),
    sessionId: z.string(),
    settings: SettingsSchema,
    /** Unset: a session that a user has opened */
    host: SessionHostSchema.optional(),
    contextWindow: z.number().optional(),
    branch: z.array(EntryFactSchema),
  }),
  event("session.closed", { reason: z.string() }),
  /** Entries were appended at the tip of the branch. */
  event("branch.extended", { entries: z.array(EntryFactSchema) }),
  /** The leaf moved to another branch (root first). */
  event("branch.replaced", { branch: z.array(EntryFactSchema) }),
  event("model.selected", { contextWindow: z.number().optional() }),
  /** The prompt cache of the session's context was refreshed while the agent is idle. */
  event("cache.warmed", {}),
  /** Nothing of the session's context is in the provider's prompt cache any more, while the agent is idle. */
  event("cache.expired", {
    /** Its lifetime is over, or the session goes on with a model that has not read it. */
    reason: z.enum(["lifetime", "model"]),
    /** Tokens of the context, as Pi counts them */
    contextTokens: z.number(),
    /** Tokens that Pi keeps verbatim when it compacts */
    keepTokens: z.number(),
    /** USD per million tokens read anew; unset where Pi knows no price */
    usdPerMillion: z.number().optional(),
  }),
  event("agent.started", {}),
  event("turn.ended", {}),
  event("agent.settled", { aborted: z.boolean() }),
  /** The user asked for a run now (`/om:run`). */
  event("run.demanded", { lane: LaneNameSchema }),
  RunFinishedSchema,
  event("compaction.started", { reason: z.string() }),
  event("compaction.finished", {
    /** The summary that stands is memory. */
    folded: z.boolean(),
    /** We answered with a fold; if `folded` is false, Pi took something else instead. Older recordings do not say. */
    offered: z.boolean().optional(),
    /** An extension gave the summary that stands, not Pi's own summariser. Likewise. */
    fromExtension: z.boolean().optional(),
  }),
  event("compaction.failed", { failure: FailureSchema }),
]);
export type EngineEvent = z.infer<typeof EngineEventSchema>;
export type EngineEventType = EngineEvent["type"];
export type EngineEventOf<T extends EngineEventType> = Extract<EngineEvent, { type: T }>;

/** An event before the engine's host has stamped it. */
export type Unstamped<E = EngineEvent> = E extends EngineEvent ? Omit<E, "v" | "seq" | "at"> : never;
