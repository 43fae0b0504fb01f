import { z } from "zod";

const tokens = () => z.int().positive();

const modelSetting = () =>
  z.object({
    provider: z.string().min(1),
    id: z.string().min(1),
    // A word that is none of these is named and passed over; it must not cost the user the model.
    thinking: z.enum(["off", "minimal", "low", "medium", "high", "xhigh"]).optional().catch(undefined),
  });
const workerSetting = () => z.object({ model: modelSetting() }).optional();

/**
 * Everything a user can set under `observational-memory` in Pi's settings. The shape is flat on purpose: it
 * is the existing V3 extension's namespace. One schema gives the validation, the defaults, the JSON schema
 * that ships for editors and the table in `docs/configuration.md`.
 */
export const SettingsSchema = z.object({
  observeAfterTokens: tokens()
    .default(10_000)
    .describe("Source tokens since the observation watermark after which the observer is due."),
  reflectAfterTokens: tokens()
    .default(20_000)
    .describe("Source tokens since the reflection watermark after which the reflector is due."),
  observerChunkMaxTokens: tokens()
    .optional()
    .describe(
      "Most that one observer run reads of the session, in tokens; what is remembered already comes on top. Unset: 20 % of the memory model's context window, or 60000 when the window is unknown. Never more than the window has room for.",
    ),
  compactAfterTokens: tokens()
    .default(81_000)
    .describe("Source tokens since the last compaction's cut after which compaction is due."),
  idleCompaction: z
    .enum(["off", "auto"])
    .default("off")
    .describe(
      "auto: also compact while nothing goes on and the provider's prompt cache has run out, if the next request then costs at least $0.05 and a quarter less. It goes by the cache's lifetime and the price that Pi knows of the session's model; without them nothing is done.",
    ),
  compactAfterTokensMode: z
    .enum(["calibrated", "ratio"])
    .default("calibrated")
    .describe(
      "calibrated: use compactAfterTokens as it is. ratio: use floor(context window × compactAfterTokensRatio).",
    ),
  compactAfterTokensRatio: z
    .number()
    .gt(0)
    .lte(1)
    .default(0.68)
    .describe("Share of the session model's context window at which compaction is due, in ratio mode."),
  observationsPoolMaxTokens: tokens()
    .default(20_000)
    .describe("Active observation tokens at which a compaction folds the whole ledger anew."),
  observationsPoolTargetTokens: tokens()
    .optional()
    .describe(
      "Active observation tokens that the dropper aims back down to. Unset: half of observationsPoolMaxTokens.",
    ),
  foldPolicy: z
    .enum(["pressure", "pool", "always"])
    .default("pressure")
    .describe(
      "When a compaction folds everything anew. pressure: at the first one, when the pool reaches its maximum, and when more than a tenth of the summary would be out of date. pool: only when the pool reaches its maximum. always: every time.",
    ),
  summaryMaxTokens: tokens()
    .optional()
    .describe(
      "Most tokens that the summary of a compaction may have. Unset: 15 % of the session model's window (of 128000 when it is unknown), or the pool's target if that is more. Never more than the window has room for beside what is kept.",
    ),
  summaryFiles: z
    .boolean()
    .default(true)
    .describe(
      "Say in the summary of a compaction which files tools created, edited and read most, which commits they made and which commands failed last: at most 400 tokens, taken from the tool calls, without a model.",
    ),
  compactionGapMaxTokens: z
    .int()
    .nonnegative()
    .default(20_000)
    .describe(
      "How many more tokens a compaction may keep verbatim, so that nothing unobserved is cut away. Never more than half of what it would cut, nor more than the window has room for.",
    ),
  agentMaxTurns: z
    .int()
    .positive()
    .default(16)
    .describe(
      "Model requests that one worker run may have answered. At the cap the run ends, and what it got accepted is recorded. A request that is refused for a moment (429, 503) is tried again up to twice and counts once.",
    ),
  agentMaxTokens: tokens()
    .optional()
    .describe(
      "Output tokens that a worker asks for per request; thinking comes on top where the provider counts it apart, and is left out where an answer would have no room. Unset: the model's own limit, at most 8192. At least 512, and else never more than a third of the window.",
    ),
  workerTimeoutMs: z
    .int()
    .positive()
    .default(180_000)
    .describe("Time after which a worker run that has not ended is stopped and counts as failed."),
  model: modelSetting()
    .optional()
    .describe(
      "Model that the workers use, by Pi's provider name and model id, and how much it thinks where it can, from off to xhigh. Unset: the session's model. Unset thinking, also of the session's model: low.",
    ),
  workers: z
    .object({ observer: workerSetting(), reflector: workerSetting(), dropper: workerSetting() })
    .optional()
    .describe("A model of its own for each worker that is named here, as in model. The others use model."),
  fallbackModels: z
    .array(modelSetting())
    .default([])
    .describe(
      "Models to ask in this order when a worker's model is down, out of quota or refuses. A model that failed is left alone for a minute, doubling to 20, and then asked first again.",
    ),
  sessionFallback: z
    .boolean()
    .default(false)
    .describe(
      "Ask the session's own model when every other has failed. false: it is used only where no model is set, or where it is named.",
    ),
  budget: z
    .object({
      // A member that is no such number is named and passed over; the others stand.
      sessionUsd: z.number().positive().optional().catch(undefined),
      dayUsd: z.number().positive().optional().catch(undefined),
      sessionTokens: tokens().optional().catch(undefined),
    })
    .optional()
    .describe(
      "What the workers may use: USD a session, USD a day over all sessions that have such a budget, model tokens in and out a session. At its end no worker runs, whoever asks; recall and folding go on. Unset, or without a member: no limit.",
    ),
  showWorkerNotifications: z
    .boolean()
    .default(true)
    .describe(
      "Say what a worker has recorded or dropped: a quiet line in the transcript, over RPC a notice. Warnings are always shown.",
    ),
  passive: z
    .boolean()
    .default(false)
    .describe(
      "Turn all proactive work off. Recall, the /om:* commands and the folding of compactions that Pi or you start stay.",
    ),
  printWaitMs: z
    .int()
    .nonnegative()
    .default(10_000)
    .describe(
      "How long a print run (pi -p, --mode json) waits at its end for a worker's request that is in flight, so that it was not paid for in vain. 0: no worker runs by itself in print mode.",
    ),
  subagents: z
    .enum(["off", "fold", "on"])
    .optional()
    .describe(
      "What memory does in a session that is not kept in a file, or whose file names a parent (a child of another session, a fork). on: everything. fold: it answers compactions and recall, but no worker runs by itself. off: recall alone. Unset: fold where the session is not kept, on where it is.",
    ),
  redactSecrets: z
    .boolean()
    .default(true)
    .describe(
      "Replace secrets of a known shape (keys and tokens of large services, private keys, passwords in URLs) by [redacted:KIND] in what memory reads, records and shows. The session's own entries stay as they are.",
    ),
  debugLog: z
    .boolean()
    .default(false)
    .describe(
      "Record the engine's events for replay, without conversation text, in observational-memory/debug/ under Pi's agent directory.",
    ),
});

export type Settings = z.infer<typeof SettingsSchema>;

/** A model as the settings name it, and how much it is to think */
export type ModelSetting = NonNullable<Settings["model"]>;

export const DEFAULT_SETTINGS: Settings = SettingsSchema.parse({});

/** Larger than any model's: a slip of the pen in a list of models. */
const ABSURD_WINDOW = 10_000_000;

/** What Pi takes a model to have that says nothing of its window. */
export const WINDOW_WHEN_UNKNOWN = 128_000;

/** A context window in tokens; undefined when it is not known, or cannot be true. */
export function knownWindow(contextWindow: number | undefined): number | undefined {
  if (contextWindow === undefined || !(contextWindow > 0 && contextWindow <= ABSURD_WINDOW)) return undefined;
  return contextWindow;
}

/** Source tokens at which compaction is due, given the session model's context window (undefined: unknown). */
export function compactionThreshold(settings: Settings, contextWindow: number | undefined): number {
  const window = knownWindow(contextWindow);
  if (settings.compactAfterTokensMode === "ratio" && window !== undefined) {
    return Math.max(1, Math.floor(window * settings.compactAfterTokensRatio));
  }
  return settings.compactAfterTokens;
}

/** Active observation tokens that the dropper aims for. */
export function poolTarget(
  settings: Pick<Settings, "observationsPoolMaxTokens" | "observationsPoolTargetTokens">,
): number {
  return settings.observationsPoolTargetTokens ?? Math.floor(settings.observationsPoolMaxTokens / 2);
}

const CHUNK_SHARE_OF_WINDOW = 0.2;
const CHUNK_WITHOUT_WINDOW = 60_000;

/** Tokens that one observer chunk may hold, given the memory model's context window (undefined: unknown). */
export function observerChunkBudget(settings: Settings, contextWindow: number | undefined): number {
  if (settings.observerChunkMaxTokens !== undefined) return settings.observerChunkMaxTokens;
  const window = knownWindow(contextWindow);
  return window === undefined ? CHUNK_WITHOUT_WINDOW : Math.floor(window * CHUNK_SHARE_OF_WINDOW);
}
