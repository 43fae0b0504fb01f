import type { RunResult } from "../../reducers/engine/events.ts";
import type { SpentRun } from "./model/conversation.ts";
import type { WorkerFailure } from "./model/failure.ts";
import type { Collector } from "./tools/collector.ts";
import type { ReplacingCollector } from "./tools/worker-tools.ts";

/** What a worker's run came to, with the records themselves. */
export type WorkerResult<T> = Omit<SpentRun, "failure"> &
  Pick<RunResult, "outcome" | "rejected"> & { records: T[]; failure?: WorkerFailure };

/** The same with what the records put an end to: its id → the id of the record that does. */
export type ReplacingResult<T> = WorkerResult<T> & { replaced: ReadonlyMap<string, string> };

export function replacingResultOf<T>(
  collector: ReplacingCollector<T>,
  spentRun: SpentRun,
): ReplacingResult<T> {
  return { ...resultOf(collector, spentRun), replaced: collector.replaced };
}

/**
 * A run counts as a whole: one that breaks half-way recorded nothing. A model that tried to record and had everything
 * refused has not found the range empty; it has failed.
 */
export function resultOf<T>({ accepted, refusals }: Collector<T>, spentRun: SpentRun): WorkerResult<T> {
  const { failure: broke, ...spend } = spentRun;
  const rejected = refusals.length;
  const failure = broke ?? (accepted.length === 0 ? allRefused(refusals) : undefined);
  if (failure) return { ...spend, outcome: "failed", records: [], rejected, failure };
  return { ...spend, outcome: accepted.length > 0 ? "recorded" : "empty", records: [...accepted], rejected };
}

function allRefused(refusals: readonly string[]): WorkerFailure | undefined {
  const reason = commonest(refusals);
  if (reason === undefined) return undefined;
  const { length } = refusals;
  const records = length === 1 ? "the only record was refused" : `all ${length} records were refused`;
  return { kind: "bad-response", message: `${records} (${reason})` };
}

/** The reason that stands there most often, the earliest of those that tie. */
function commonest(reasons: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
