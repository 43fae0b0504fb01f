import type { Observation, Reflection } from "../reducers/ledger-entries.ts";
import { estimateTextTokens } from "../reducers/tokens.ts";
import { promptRoom } from "./prompt-room.ts";
import { OBSERVER_SYSTEM_PROMPT, observerPrompt } from "./prompts/observer-prompt.ts";
import { type ModelAccess, runWorker, type WorkerLimits } from "./worker-loop.ts";
import { resultOf, type WorkerResult } from "./worker-result.ts";
import { collectObservations } from "./worker-tools.ts";

export interface ObserverInput {
  chunk: string;
  /** Entry id → its time in milliseconds, for every entry of the chunk */
  sources: ReadonlyMap<string, number>;
  isKnown: (observationId: string) => boolean;
  priorObservations: readonly Observation[];
  priorReflections: readonly Reflection[];
  now: number;
}

/** Prior memory may fill at most this share of what the chunk leaves free in the model's window. */
const PRIOR_SHARE = 0.5;
const LARGEST_PRIOR = 20_000;

/** Reads one chunk of the session and records observations about it. */
export async function runObserver(
  input: ObserverInput,
  access: ModelAccess,
  limits: WorkerLimits,
): Promise<WorkerResult<Observation>> {
  const collector = collectObservations(input.sources, input.isKnown);
  const free =
    promptRoom(access.model, limits.maxTokens) - estimateTextTokens(OBSERVER_SYSTEM_PROMPT + input.chunk);
  const priorBudget = Math.max(0, Math.min(LARGEST_PRIOR, Math.floor(free * PRIOR_SHARE)));
  const request = {
    systemPrompt: OBSERVER_SYSTEM_PROMPT,
    userPrompt: observerPrompt({ ...input, priorBudget }),
    tool: collector.tool,
  };
  return resultOf(collector, await runWorker(request, access, limits));
}
