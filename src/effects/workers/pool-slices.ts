import { concatMap, type Observable, of } from "rxjs";
import { excerpt } from "../../reducers/entries/sources.ts";
import { estimateTextTokens } from "../../reducers/entries/tokens.ts";
import type { CoverageTier } from "../../reducers/ledger/pool.ts";
import type { Observation, Reflection } from "../../reducers/ledger/records.ts";
import { type Break, converse, type Spend, type SpentRun, spentBy } from "./model/conversation.ts";
import type { ModelAccess, WorkerLimits, WorkerRequest } from "./model/request.ts";
import { coverageCost, type PoolPromptInput } from "./prompts/pool-prompt.ts";
import { STATEMENT_TOKENS } from "./prompts/prior-memory.ts";

/** What the reflector and the dropper work through. */
export interface PoolInput {
  /** Active observations, oldest first */
  observations: readonly Observation[];
  /** By observation id; `none` for those that are missing */
  coverage: ReadonlyMap<string, CoverageTier>;
  reflections: readonly Reflection[];
}

/** The part of the pool that one prompt shows, and the tokens that its reflections may have beside it. */
export type PoolSlice = Pick<PoolPromptInput, "observations" | "observationLines" | "reflectionBudget">;

/** Existing reflections may fill at most this share of a pool worker's prompt. */
const REFLECTION_SHARE = 0.25;

/**
 * The pool in slices that fit a user prompt beside its reflections. `room` is what the prompt has left beside `frame`,
 * its headings and closing words; `lineOf` is how the prompt shows an observation. One that is too long for any prompt is
 * shown by its beginning and its end.
 */
export function poolSlices(
  { observations, coverage }: Pick<PoolInput, "observations" | "coverage">,
  lineOf: (observation: Observation) => string,
  { userPrompt }: { userPrompt: number },
  frame: string,
): PoolSlice[] {
  const room = userPrompt - estimateTextTokens(frame) - STATEMENT_TOKENS;
  const reflectionBudget = Math.max(0, Math.floor(room * REFLECTION_SHARE));
  const budget = room - reflectionBudget;
  const lines = observations.map((observation) => {
    const beside = 1 + coverageCost(observation, coverage);
    const line = excerpt(lineOf(observation), budget - beside).text.replaceAll("\n", " ");
    return { observation, line, cost: estimateTextTokens(line) + beside };
  });
  return sliceByBudget(lines, ({ cost }) => cost, budget).map((slice) => ({
    observations: slice.map(({ observation }) => observation),
    observationLines: slice.map(({ line }) => line),
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
 * turns, or when a budget is used up, the last ones are not. If one slice breaks, the whole run has. `requestOf` is called when its slice's turn
 * comes.
 */
export function runSlices<S>(
  slices: readonly S[],
  requestOf: (slice: S) => WorkerRequest,
  access: ModelAccess,
  limits: WorkerLimits,
): Observable<SpentRun> {
  function from(index: number, spend: Spend): Observable<Break> {
    const slice = slices[index];
    if (slice === undefined) return of(null);
    const mayAsk = index === 0 || (access.mayAskAgain?.(spend.usage) ?? true);
    const maxTurns = mayAsk ? Math.ceil((limits.maxTurns - spend.turns) / (slices.length - index)) : 0;
    spend.capped ||= maxTurns <= 0;
    if (maxTurns <= 0) return of(null);
    return converse(requestOf(slice), access, { ...limits, maxTurns }, spend).pipe(
      concatMap((end) => (end === null ? from(index + 1, spend) : of(end))),
    );
  }
  return spentBy((spend) => from(0, spend), limits);
}
