import { addUsage, noUsage } from "../machines/engine-state.ts";
import type { Observation, Reflection } from "../reducers/ledger-entries.ts";
import type { CoverageTier } from "../reducers/pool.ts";
import { estimateTextTokens } from "../reducers/tokens.ts";
import { promptRoom } from "./prompt-room.ts";
import {
  type ModelAccess,
  runWorker,
  timeoutFailure,
  type WorkerLimits,
  type WorkerReport,
  type WorkerRequest,
} from "./worker-loop.ts";

/** What the reflector and the dropper work through. */
export interface PoolInput {
  /** Active observations, oldest first */
  observations: readonly Observation[];
  /** By observation id; `none` for those that are missing */
  coverage: ReadonlyMap<string, CoverageTier>;
  reflections: readonly Reflection[];
}

/** The part of the pool that one prompt shows, and the tokens that its reflections may have beside it. */
export interface PoolSlice {
  observations: Observation[];
  reflectionBudget: number;
}

/** Existing reflections may fill at most this share of a pool worker's prompt. */
const REFLECTION_SHARE = 0.25;
/** Headings and closing words of a pool prompt, in tokens. */
const FRAME_TOKENS = 120;

/**
 * The pool in slices that fit the model's window beside the system prompt, the reflections and the output. `lineOf`
 * is how the prompt shows an observation.
 */
export function poolSlices(
  observations: readonly Observation[],
  lineOf: (observation: Observation) => string,
  systemPrompt: string,
  access: ModelAccess,
  limits: WorkerLimits,
): PoolSlice[] {
  const room = promptRoom(access.model, limits.maxTokens) - estimateTextTokens(systemPrompt);
  const reflectionBudget = Math.max(0, Math.floor(room * REFLECTION_SHARE));
  const costOf = (observation: Observation) => estimateTextTokens(lineOf(observation)) + 1;
  return sliceByBudget(observations, costOf, room - reflectionBudget - FRAME_TOKENS).map((slice) => ({
    observations: slice,
    reflectionBudget,
  }));
}

/** Splits items, in order, into slices whose cost fits the budget; each slice has one item at least. */
export function sliceByBudget<T>(items: readonly T[], costOf: (item: T) => number, budget: number): T[][] {
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

/**
 * Runs one worker over several slices, one after another, as one run. They share the deadline and the turns:
 * `maxTurns` is what the user was promised for a run, however many slices it takes. Each slice may use an even share
 * of the turns that are left, so that a talkative one cannot keep the others from being read; with more slices than
 * turns the last ones are not. If one slice breaks, the whole run has. `requestOf` is called when its slice's turn
 * comes; undefined says that there is nothing left to ask.
 */
export async function runSlices<S>(
  slices: readonly S[],
  requestOf: (slice: S) => WorkerRequest | undefined,
  access: ModelAccess,
  limits: WorkerLimits,
): Promise<WorkerReport> {
  const endsAt = performance.now() + limits.timeoutMs;
  let whole: WorkerReport = { outcome: "completed", turns: 0, requests: 0, usage: noUsage(), capped: false };
  for (const [index, slice] of slices.entries()) {
    const maxTurns = Math.ceil((limits.maxTurns - whole.turns) / (slices.length - index));
    if (maxTurns <= 0) return { ...whole, capped: true };
    const request = requestOf(slice);
    if (!request) break;
    const timeoutMs = Math.max(1, endsAt - performance.now());
    whole = together(whole, await runWorker(request, access, { ...limits, maxTurns, timeoutMs }));
    if (whole.failure?.kind === "timeout") return { ...whole, failure: timeoutFailure(limits.timeoutMs) };
    if (whole.outcome !== "completed") break;
  }
  return whole;
}

function together(before: WorkerReport, after: WorkerReport): WorkerReport {
  return {
    ...after,
    turns: before.turns + after.turns,
    requests: before.requests + after.requests,
    usage: addUsage(before.usage, after.usage),
    capped: before.capped || after.capped,
  };
}
