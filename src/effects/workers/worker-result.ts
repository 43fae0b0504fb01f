import type { WorkerReport } from "./model/conversation.ts";
import type { WorkerFailure } from "./model/failure.ts";
import type { Collector } from "./tools/collector.ts";

/** How a worker's run ended, and what it recorded. */
export interface WorkerResult<T> {
  outcome: "recorded" | "empty" | "failed";
  records: T[];
  /** Records that were refused; the model may have mended them since. */
  rejected: number;
  report: WorkerReport;
  failure?: WorkerFailure;
}

/**
 * A run counts as a whole: one that breaks half-way recorded nothing. A model that tried to record and had everything
 * refused has not found the range empty; it has failed.
 */
export function resultOf<T>(collector: Collector<T>, report: WorkerReport): WorkerResult<T> {
  const rejected = collector.refusals.length;
  if (report.outcome !== "completed") {
    const { failure } = report;
    return { outcome: "failed", records: [], rejected, report, ...(failure && { failure }) };
  }
  if (collector.accepted.length > 0) {
    return { outcome: "recorded", records: [...collector.accepted], rejected, report };
  }
  const reason = commonest(collector.refusals);
  if (reason === undefined) return { outcome: "empty", records: [], rejected, report };
  const records = rejected === 1 ? "the only record was refused" : `all ${rejected} records were refused`;
  const failure: WorkerFailure = { kind: "bad-response", message: `${records} (${reason})` };
  return { outcome: "failed", records: [], rejected, report, failure };
}

/** The reason that stands there most often, the earliest of those that tie. */
function commonest(reasons: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
