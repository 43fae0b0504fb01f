import { map, type Observable } from "rxjs";
import type { MemoryStatus } from "../../reducers/ledger/ledger.ts";
import type { Reflection } from "../../reducers/ledger/records.ts";
import { renderObservation } from "../../reducers/ledger/summary.ts";
import { roomFor } from "./model/prompt-room.ts";
import type { ModelAccess, WorkerLimits } from "./model/request.ts";
import { type PoolInput, type PoolSlice, poolSlices, runSlices } from "./pool-slices.ts";
import { REFLECTOR_SYSTEM_PROMPT, reflectorPrompt } from "./prompts/reflector-prompt.ts";
import { type Clean, collectReflections } from "./tools/worker-tools.ts";
import { type ReplacingResult, replacingResultOf } from "./worker-result.ts";

export interface ReflectorInput extends PoolInput {
  /** How many of the observations, from the oldest on, earlier runs have read */
  reflected: number;
  statusOf: (reflectionId: string) => MemoryStatus;
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
): Observable<ReplacingResult<Reflection>> {
  const existing = new Set(input.reflections.map(({ id }) => id));
  let shown: ReadonlySet<string> = new Set();
  let userPrompt = "";
  const memory = {
    statusOf: input.statusOf,
    isShown: (id: string) => existing.has(id) && userPrompt.includes(`[${id}]`),
  };
  const collector = collectReflections((id) => shown.has(id), memory, input.clean);
  const request = { systemPrompt: REFLECTOR_SYSTEM_PROMPT, tool: collector.tool };
  const room = roomFor(access, request, limits);
  const { coverage } = input;
  const nothing = { observations: [], observationLines: [], reflections: [], reflectionBudget: 0 };
  const slices = poolSlices(input, renderObservation, room, reflectorPrompt({ ...nothing, coverage }));
  const spent$ = runSlices(
    slices.length > limits.maxTurns ? unreadFirst(slices, input.reflected) : slices,
    (slice) => {
      shown = new Set(slice.observations.map(({ id }) => id));
      // What an earlier slice has just recorded or replaced is known to this one.
      const { accepted, replaced } = collector;
      const reflections = [...input.reflections.filter(({ id }) => !replaced.has(id)), ...accepted];
      userPrompt = reflectorPrompt({ ...slice, coverage, reflections });
      return { ...request, userPrompt };
    },
    access,
    room.limits,
  );
  return spent$.pipe(map((spent) => replacingResultOf(collector, spent)));
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
