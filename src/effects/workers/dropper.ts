import { map, type Observable } from "rxjs";
import { roomFor } from "./model/prompt-room.ts";
import type { ModelAccess, WorkerLimits } from "./model/request.ts";
import { type PoolInput, poolSlices, runSlices } from "./pool-slices.ts";
import { DROPPER_SYSTEM_PROMPT, droppableLine, dropperPrompt } from "./prompts/dropper-prompt.ts";
import { collectDrops } from "./tools/worker-tools.ts";
import { resultOf, type WorkerResult } from "./worker-result.ts";

export interface DropperInput extends PoolInput {
  /** How many observations may be dropped at most */
  maximum: number;
  poolTokens: number;
  targetTokens: number;
  /** Milliseconds since the epoch: what ages are counted to */
  now: number;
}

/**
 * Chooses active observations to drop, oldest slice first, never more than the maximum in all, and none that the
 * model does not have before it.
 */
export function runDropper(
  input: DropperInput,
  access: ModelAccess,
  limits: WorkerLimits,
): Observable<WorkerResult<string>> {
  let shown: ReadonlySet<string> = new Set();
  const collector = collectDrops((id) => shown.has(id), input.maximum);
  const { poolTokens, targetTokens } = input;
  const request = { systemPrompt: DROPPER_SYSTEM_PROMPT, tool: collector.tool };
  const room = roomFor(access, request, limits);
  const frame = dropperPrompt({
    ...{ observationLines: [], reflections: [], reflectionBudget: 0 },
    ...{ maximum: input.maximum, poolTokens, targetTokens },
  });
  const slices = poolSlices(input.observations, droppableLine(input.coverage, input.now), room, frame);
  const spent$ = runSlices(
    slices,
    ({ observations, observationLines, reflectionBudget }) => {
      // An earlier slice may have used up part of it.
      const maximum = input.maximum - collector.accepted.length;
      if (maximum <= 0) return undefined;
      shown = new Set(observations.map(({ id }) => id));
      const memory = { observationLines, reflections: input.reflections, reflectionBudget };
      return { ...request, userPrompt: dropperPrompt({ ...memory, maximum, poolTokens, targetTokens }) };
    },
    access,
    room.limits,
  );
  return spent$.pipe(map((spent) => resultOf(collector, spent)));
}
