import { runSlices } from "./pool-slices.ts";
import { DROPPER_SYSTEM_PROMPT, dropperPrompt } from "./prompts/dropper-prompt.ts";
import { type PoolInput, poolSlices } from "./reflector.ts";
import type { ModelAccess, WorkerLimits } from "./worker-loop.ts";
import { resultOf, type WorkerResult } from "./worker-result.ts";
import { collectDrops } from "./worker-tools.ts";

export interface DropperInput extends PoolInput {
  /** How many observations may be dropped at most */
  maximum: number;
  poolTokens: number;
  targetTokens: number;
}

/** Chooses active observations to drop, oldest slice first, never more than the maximum in all. */
export async function runDropper(
  input: DropperInput,
  access: ModelAccess,
  limits: WorkerLimits,
): Promise<WorkerResult<string>> {
  const shown = new Set(input.observations.map(({ id }) => id));
  const collector = collectDrops((id) => shown.has(id), input.maximum);
  const slices = poolSlices(input, access, limits, DROPPER_SYSTEM_PROMPT);
  const requests = slices.map(({ observations, reflectionBudget }) => ({
    systemPrompt: DROPPER_SYSTEM_PROMPT,
    userPrompt: dropperPrompt({ ...input, observations, reflectionBudget }),
    tool: collector.tool,
  }));
  return resultOf(collector, await runSlices(requests, access, limits));
}
