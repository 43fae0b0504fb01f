import { map, type Observable } from "rxjs";
import { bestDrops } from "../../reducers/ledger/pool.ts";
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
}

/**
 * Chooses active observations to drop, none that the model does not have before it. Of what it proposes in all slices the
 * maximum takes the best.
 */
export function runDropper(
  input: DropperInput,
  access: ModelAccess,
  limits: WorkerLimits,
): Observable<WorkerResult<string>> {
  let shown: ReadonlySet<string> = new Set();
  const collector = collectDrops((id) => shown.has(id));
  const { observations, coverage, maximum } = input;
  const request = { systemPrompt: DROPPER_SYSTEM_PROMPT, tool: collector.tool };
  const room = roomFor(access, request, limits);
  const facts = { ...input, newest: observations.at(-1)?.timestamp ?? "" };
  const nothing = { observations: [], observationLines: [], reflections: [], reflectionBudget: 0 };
  const slices = poolSlices(input, droppableLine, room, dropperPrompt({ ...facts, ...nothing }));
  const spent$ = runSlices(
    slices,
    (slice) => {
      shown = new Set(slice.observations.map(({ id }) => id));
      return { ...request, userPrompt: dropperPrompt({ ...facts, ...slice }) };
    },
    access,
    room.limits,
  );
  return spent$.pipe(
    map((spent) => {
      const accepted = bestDrops(collector.accepted, observations, coverage, maximum);
      return resultOf({ ...collector, accepted }, spent);
    }),
  );
}
