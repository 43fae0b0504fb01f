import type { WorkerFailure } from "./failure.ts";
import type { WorkerReport } from "./worker-loop.ts";
import type { Collector } from "./worker-tools.ts";

/** How a worker's run ended, and what it recorded. */
export interface WorkerResult<T> {
  outcome: "recorded" | "empty" | "failed" | "aborted";
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
    return { outcome: report.outcome, records: [], rejected, report, ...(failure && { failure }) };
  }
  if (collector.accepted.length > 0) {
    return { outcome: "recorded", records: collector.accepted, rejected, report };
  }
  if (rejected === 0) return { outcome: "empty", records: [], rejected, report };
  return {
    outcome: "failed",
    records: [],
    rejected,
    report,
    failure: {
      kind: "bad-response",
      message: `all ${rejected} records were refused (${kindOf(collector.refusals)})`,
    },
  };
}

/** The commonest reason, without the ids in it: failures go to logs, which hold no session content. */
function kindOf(refusals: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const refusal of refusals) {
    const kind = refusal.split(/[:;]/)[0] ?? refusal;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "no reason";
}
