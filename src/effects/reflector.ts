import type { Observation, Reflection } from "../reducers/ledger-entries.ts";
import type { CoverageTier } from "../reducers/pool.ts";
import { estimateTextTokens } from "../reducers/tokens.ts";
import { lineCost, runSlices, slicesWithin } from "./pool-slices.ts";
import { promptRoom } from "./prompt-room.ts";
import { observationLines, REFLECTOR_SYSTEM_PROMPT, reflectorPrompt } from "./prompts/reflector-prompt.ts";
import type { ModelAccess, WorkerLimits } from "./worker-loop.ts";
import { resultOf, type WorkerResult } from "./worker-result.ts";
import { collectReflections } from "./worker-tools.ts";

export interface PoolInput {
  /** Active observations, oldest first */
  observations: readonly Observation[];
  coverage: ReadonlyMap<string, CoverageTier>;
  reflections: readonly Reflection[];
}

/** Existing reflections may fill at most this share of a pool worker's prompt. */
export const REFLECTION_SHARE = 0.25;

/** Distils reflections from the active observations, in slices when they are more than the model's window holds. */
export async function runReflector(
  input: PoolInput,
  access: ModelAccess,
  limits: WorkerLimits,
): Promise<WorkerResult<Reflection>> {
  const shown = new Set(input.observations.map(({ id }) => id));
  const known = new Set(input.reflections.map(({ id }) => id));
  const collector = collectReflections(
    (id) => shown.has(id),
    (id) => known.has(id),
  );
  const slices = poolSlices(input, access, limits, REFLECTOR_SYSTEM_PROMPT);
  const requests = slices.map(({ observations, reflectionBudget }) => ({
    systemPrompt: REFLECTOR_SYSTEM_PROMPT,
    userPrompt: reflectorPrompt({ ...input, observations, reflectionBudget }),
    tool: collector.tool,
  }));
  return resultOf(collector, await runSlices(requests, access, limits));
}

/** The pool in slices that fit the model's window beside the system prompt and the reflections. */
export function poolSlices(
  { observations, coverage }: PoolInput,
  access: ModelAccess,
  limits: WorkerLimits,
  systemPrompt: string,
): { observations: Observation[]; reflectionBudget: number }[] {
  const room = promptRoom(access.model, limits.maxTokens) - estimateTextTokens(systemPrompt);
  const reflectionBudget = Math.max(0, Math.floor(room * REFLECTION_SHARE));
  const costOf = (observation: Observation) =>
    lineCost(observationLines({ observations: [observation], coverage })[0] ?? "");
  return slicesWithin(observations, costOf, room - reflectionBudget - FRAME_TOKENS).map((slice) => ({
    observations: slice,
    reflectionBudget,
  }));
}

/** Headings and closing words of a pool prompt. */
const FRAME_TOKENS = 120;
