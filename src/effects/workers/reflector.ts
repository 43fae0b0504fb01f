import { map, type Observable } from "rxjs";
import type { Reflection } from "../../reducers/ledger/records.ts";
import { roomFor } from "./model/prompt-room.ts";
import type { ModelAccess, WorkerLimits } from "./model/request.ts";
import { type PoolInput, type PoolSlice, poolSlices, runSlices } from "./pool-slices.ts";
import { observationLine, REFLECTOR_SYSTEM_PROMPT, reflectorPrompt } from "./prompts/reflector-prompt.ts";
import { type Clean, collectReflections } from "./tools/worker-tools.ts";
import { resultOf, type WorkerResult } from "./worker-result.ts";

export interface ReflectorInput extends PoolInput {
  /** How many of the observations, from the oldest on, earlier runs have read */
  reflected: number;
  clean?: Clean;
}

/**
 * Distils reflections from the active observations, in slices when they are more than the model's window holds. A
 * reflection can rest only on observations of the slice that the model has before it.
 */
export function runReflector(
  input: ReflectorInput,
  access: ModelAccess,
  limits: WorkerLimits,
): Observable<WorkerResult<Reflection>> {
  const known = new Set(input.reflections.map(({ id }) => id));
  let shown: ReadonlySet<string> = new Set();
  const collector = collectReflections(
    (id) => shown.has(id),
    (id) => known.has(id),
    input.clean,
  );
  const request = { systemPrompt: REFLECTOR_SYSTEM_PROMPT, tool: collector.tool };
  const room = roomFor(access, request, limits);
  const frame = reflectorPrompt({ observationLines: [], reflections: [], reflectionBudget: 0 });
  const slices = poolSlices(input.observations, observationLine(input.coverage), room, frame);
  const spent$ = runSlices(
    slices.length > limits.maxTurns ? unreadFirst(slices, input.reflected) : slices,
    ({ observations, observationLines, reflectionBudget }) => {
      shown = new Set(observations.map(({ id }) => id));
      // What an earlier slice has just recorded is known to this one.
      const reflections = [...input.reflections, ...collector.accepted];
      return { ...request, userPrompt: reflectorPrompt({ observationLines, reflections, reflectionBudget }) };
    },
    access,
    room.limits,
  );
  return spent$.pipe(map((spent) => resultOf(collector, spent)));
}

/** Not all slices can have a turn: those with observations that no run has read come first, in order, then the others. */
function unreadFirst(slices: readonly PoolSlice[], reflected: number): PoolSlice[] {
  let end = 0;
  const firstNew = slices.findIndex(({ observations }) => {
    end += observations.length;
    return end > reflected;
  });
  return [...slices.slice(firstNew), ...slices.slice(0, firstNew)];
}
