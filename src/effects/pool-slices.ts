import { addUsage, noUsage } from "../machines/engine-state.ts";
import { estimateTextTokens } from "../reducers/tokens.ts";
import {
  type ModelAccess,
  runWorker,
  type WorkerLimits,
  type WorkerReport,
  type WorkerRequest,
} from "./worker-loop.ts";

/** Splits items, in order, into slices whose cost fits the budget; each slice has one item at least. */
export function slicesWithin<T>(items: readonly T[], costOf: (item: T) => number, budget: number): T[][] {
  const slices: T[][] = [];
  let room = 0;
  for (const item of items) {
    const cost = costOf(item);
    const last = slices.at(-1);
    if (last && cost <= room) last.push(item);
    else {
      slices.push([item]);
      room = budget;
    }
    room -= cost;
  }
  return slices;
}

/** Estimated tokens of a rendered line in a prompt. */
export function lineCost(line: string): number {
  return estimateTextTokens(line) + 1;
}

/**
 * Runs one worker over several prompts, one after another, as one run: they share the cap on requests and the deadline,
 * and if one of them breaks the whole run has.
 */
export async function runSlices(
  requests: readonly WorkerRequest[],
  access: ModelAccess,
  limits: WorkerLimits,
): Promise<WorkerReport> {
  const endsAt = performance.now() + limits.timeoutMs;
  let whole: WorkerReport = { outcome: "completed", turns: 0, requests: 0, usage: noUsage() };
  for (const request of requests) {
    const maxTurns = limits.maxTurns - whole.requests;
    if (maxTurns <= 0) break;
    const timeoutMs = Math.max(1, endsAt - performance.now());
    const part = await runWorker(request, access, { ...limits, maxTurns, timeoutMs });
    whole = {
      ...part,
      turns: whole.turns + part.turns,
      requests: whole.requests + part.requests,
      usage: addUsage(whole.usage, part.usage),
    };
    if (part.outcome !== "completed") break;
  }
  return whole;
}
