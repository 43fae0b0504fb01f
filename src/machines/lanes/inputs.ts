import { NOWHERE, tokensAfter } from "../../reducers/branch.ts";
import type { Clocks } from "../../reducers/clocks.ts";
import { overBudget } from "../../reducers/engine/budget.ts";
import { coldFigures, isWorthCompacting } from "../../reducers/engine/cold-cache.ts";
import type { EngineState } from "../../reducers/engine/engine-state.ts";
import type { LaneName } from "../../reducers/engine/lane-names.ts";
import { whyPassive } from "../../reducers/engine/session-host.ts";
import { unobservedTail } from "../../reducers/ledger/compaction-plan.ts";
import { isPoolOverTarget } from "../../reducers/ledger/pool.ts";
import { clocksOfSession, hasMemory, hasUnreflected } from "../../reducers/session.ts";
import { compactionThreshold } from "../../reducers/settings.ts";

/** What every message to a lane carries: all that its guards may ask, as it is at that moment. */
export interface LaneInput {
  /** Event time in milliseconds since the epoch: the only time a lane knows. */
  readonly at: number;
  /** It does nothing by itself, by the settings and by what the session lives in. */
  readonly passive: boolean;
  /** Source tokens on the lane's clock */
  readonly clock: number;
  /** Source tokens at which the lane is due */
  readonly threshold: number;
}

/** For the observer and the reflect/drop lane. */
export interface WorkInput extends LaneInput {
  /** Branch position of the lane's watermark: it moves when something was recorded or the branch changed. */
  readonly watermark: number;
  /** Observer: there are unobserved source tokens. Reflect/drop: observations cover what no reflection does. */
  readonly hasWork: boolean;
  /** Reflect/drop only: the observer is due or running. */
  readonly heldBack: boolean;
  readonly poolOverTarget: boolean;
  /** A limit of the budget is used up: no run begins. */
  readonly overBudget: boolean;
}

export interface CompactionInput extends LaneInput {
  /** Source tokens since the latest compaction entry */
  readonly sinceCompaction: number;
  /** All source tokens of the branch: how the lane sees that new ones came */
  readonly total: number;
  readonly agentIdle: boolean;
  /** A fold has something to show. Without it a compaction would be Pi's own, which costs a model call. */
  readonly hasMemory: boolean;
  /**
   * More is unobserved than a cut made now could keep verbatim, and the observer is about to observe it: a cut made
   * after its run will lose nothing.
   */
  readonly observerBehind: boolean;
  /** The prompt cache has run out, and a compaction now saves enough of the next request; never where that is not wanted. */
  readonly coldPays: boolean;
}

/** Every lane's input at one moment. */
export interface LaneInputs {
  observer: WorkInput;
  reflectDrop: WorkInput;
  compaction: CompactionInput;
}

/** Where each lane is, in the state names that users see (`running.dropping`). */
export type LaneStates = Readonly<Record<LaneName, string>>;

/**
 * All inputs, when the lanes are in these states. `at` is event time in milliseconds since the epoch. They cost the same at
 * any session length.
 */
export function laneInputs(state: EngineState, states: LaneStates, at: number): LaneInputs {
  return {
    observer: INPUTS.observer(state, states.observer, at),
    reflectDrop: INPUTS.reflectDrop(state, states.observer, at),
    compaction: INPUTS.compaction(state, states.observer, at),
  };
}

/** Each lane's clock and the threshold at which it is due, in source tokens: of its input, what people are shown. */
export function clocksByLane(state: EngineState): Record<LaneName, Pick<LaneInput, "clock" | "threshold">> {
  const { session, settings, contextWindow } = state;
  const { observe, reflect, compact } = clocksOfSession(session);
  return {
    observer: { clock: observe, threshold: settings.observeAfterTokens },
    reflectDrop: { clock: reflect, threshold: settings.reflectAfterTokens },
    compaction: { clock: compact, threshold: compactionThreshold(settings, contextWindow) },
  };
}

/** The input of each lane. The others look at what the observer does, so they are given its state. */
export const INPUTS = { observer: observerInput, reflectDrop: reflectDropInput, compaction: compactionInput };

function observerInput(state: EngineState, _observer: string, at: number): WorkInput {
  const { session, settings } = state;
  const { observe } = session.ledger.watermarks;
  const clock = tokensAfter(session.branch, observe);
  return {
    at,
    passive: whyPassive(state, "observer") !== undefined,
    clock,
    threshold: settings.observeAfterTokens,
    watermark: observe,
    hasWork: clock > 0,
    heldBack: false,
    poolOverTarget: false,
    overBudget: overBudget(state) !== undefined,
  };
}

function reflectDropInput(state: EngineState, observer: string, at: number): WorkInput {
  const { session, settings } = state;
  const { reflect } = session.ledger.watermarks;
  return {
    at,
    passive: whyPassive(state, "reflectDrop") !== undefined,
    clock: tokensAfter(session.branch, reflect),
    threshold: settings.reflectAfterTokens,
    watermark: reflect,
    hasWork: hasUnreflected(session),
    heldBack: isBusy(observer),
    poolOverTarget: isPoolOverTarget(session.ledger, settings),
    overBudget: overBudget(state) !== undefined,
  };
}

function compactionInput(state: EngineState, observer: string, at: number): CompactionInput {
  const { session, settings, contextWindow, agentIdle } = state;
  const clocks = clocksOfSession(session);
  const threshold = compactionThreshold(settings, contextWindow);
  const cold = settings.idleCompaction === "auto" ? coldFigures(state) : null;
  const coldPays = cold !== null && isWorthCompacting(cold);
  return {
    at,
    passive: whyPassive(state, "compaction") !== undefined,
    clock: clocks.compact,
    threshold,
    sinceCompaction: clocks.sinceCompaction,
    total: tokensAfter(session.branch, NOWHERE),
    agentIdle,
    hasMemory: hasMemory(session),
    observerBehind: (clocks.compact >= threshold || coldPays) && isObserverBehind(state, observer, clocks),
    coldPays,
  };
}

function isBusy(observer: string): boolean {
  return observer === "due" || observer === "running";
}

/**
 * An idle observer counts where it left off in the middle of a tool batch: the little that is left of it could be
 * kept only with the whole batch, and the next run is less than a threshold away.
 */
function isObserverBehind(
  { session, settings }: EngineState,
  observer: string,
  { observe, compact }: Clocks,
): boolean {
  if (!isBusy(observer) && observer !== "idle") return false;
  // Some of it has been cut away unobserved before; no cut can bring it back, the run can.
  if (isBusy(observer) && observe > compact) return true;
  const { tokens, splitsBatch } = unobservedTail(session.branch, session.ledger);
  return (isBusy(observer) || splitsBatch) && tokens > settings.compactionGapMaxTokens;
}
