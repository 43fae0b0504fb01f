import { overBudget } from "../../reducers/engine/budget.ts";
import {
  COLD_MARGIN,
  coldFigures,
  coldSaving,
  isWorthCompacting,
  priceOf,
} from "../../reducers/engine/cold-cache.ts";
import type { EngineState } from "../../reducers/engine/engine-state.ts";
import type { LaneName } from "../../reducers/engine/lane-names.ts";
import { whyPassive } from "../../reducers/engine/session-host.ts";
import { budgetAdvice, budgetUseWords } from "../../reducers/spend-words.ts";
import { countOf, dollars, duration, grouped, LANE_LABELS, stateLabel } from "../../reducers/words.ts";
import {
  keptByCompaction,
  missingByClock,
  missingByFailure,
  missingByTail,
} from "../lanes/compaction-lane.ts";
import { type LaneInputs, laneInputs } from "../lanes/inputs.ts";
import { isUnderWay, type LanesSnapshot } from "../lanes/lanes.ts";
import { delayLeft, MOST_WAITS } from "../lanes/work-lane.ts";

/** The engine at one moment; a step of a replay is one, and so is a live engine. */
export interface EngineMoment {
  readonly state: EngineState;
  readonly snapshot: LanesSnapshot;
  /** Milliseconds since the epoch: event time, or the clock on the wall for a live engine. */
  readonly at: number;
}

/**
 * Why a lane is in its state and what would move it, in one sentence: "observer is due since #40: 10,340 of 10,000
 * tokens; waiting for the agent's next turn to end, or its next prompt".
 */
export function explainLane(lane: LaneName, moment: EngineMoment): string {
  const { state, snapshot, at } = moment;
  const { clock, threshold } = laneInputs(state, snapshot.states, at)[lane];
  const since = snapshot.since[lane];
  const from = since ? ` since #${since.seq}` : "";
  const head = `${LANE_LABELS[lane]} is ${stateLabel(snapshot.states[lane])}${from}: ${grouped(clock)} of ${grouped(threshold)} tokens`;
  return `${head}; ${whyLane(lane, moment)}`;
}

/** The latter half of it: what keeps the lane where it is, and what would move it. */
export function whyLane(lane: LaneName, { state, snapshot, at }: EngineMoment): string {
  const inputs = laneInputs(state, snapshot.states, at);
  const why = { state, snapshot, inputs, at };
  if (!state.isOpen) return "no session is open, so nothing starts";
  // What is under way goes on; a lane that waits turns passive at the next event, if it has not yet.
  const passive = whyPassive(state, lane);
  if (passive && !isUnderWay(snapshot.states[lane])) return `proactive work is off (${passive})`;
  return lane === "compaction" ? whyCompaction(why) : whyWork(lane, why);
}

/** Why each lane is in its state. */
export function whyLanes(state: EngineState, snapshot: LanesSnapshot, at: number): Record<LaneName, string> {
  const why = (lane: LaneName) => whyLane(lane, { state, snapshot, at });
  return { observer: why("observer"), reflectDrop: why("reflectDrop"), compaction: why("compaction") };
}

interface Why extends EngineMoment {
  readonly inputs: LaneInputs;
}

const NEXT_TRIGGER = "the agent's next turn to end, or its next prompt";

function whyWork(lane: "observer" | "reflectDrop", why: Why): string {
  const { snapshot, inputs, at } = why;
  const input = inputs[lane];
  const context = snapshot.contexts[lane];
  const missing = input.threshold - input.clock;
  switch (snapshot.states[lane]) {
    case "idle": {
      if (lane === "reflectDrop" && !input.hasWork)
        return missing > 0
          ? `${makeItDue(missing)}, once the observer has recorded something new`
          : "no observation is newer than the last reflection, so it waits for the observer to record";
      const due = missing > 0 ? makeItDue(missing) : "due at the next event";
      const delay = delayLeft(context, at);
      return delay > 0 ? `${failed(lane, why)}; ${due}, but not within ${duration(delay)}` : due;
    }
    case "due":
      return lane === "reflectDrop" ? whyDueAfterObserver(why) : `waiting for ${NEXT_TRIGGER}`;
    case "overBudget": {
      const use = overBudget(why.state);
      if (!use) return "within budget again; it goes on at the next event";
      return `over budget: ${budgetUseWords(use)}; it goes on ${budgetAdvice(use)}`;
    }
    case "coolingDown": {
      const dueAt = context.clockAtStart + input.threshold;
      const more = grouped(Math.max(0, dueAt - input.clock));
      return `its run at ${grouped(context.clockAtStart)} tokens found nothing to record; due again at ${grouped(dueAt)}, ${more} more, or when its watermark moves`;
    }
    case "backingOff": {
      const delay = delayLeft(context, at);
      return delay > 0
        ? `${failed(lane, why)}; it tries again ${duration(delay)} from now, when a turn ends or a prompt comes`
        : `${failed(lane, why)}; the delay is over, waiting for ${NEXT_TRIGGER}`;
    }
    default:
      return whyRunning(lane, why);
  }
}

/** How often a lane's runs have failed in a row, and what was the matter. */
function failed(lane: "observer" | "reflectDrop", { snapshot, state: { workers } }: Why): string {
  const asked = lane === "observer" ? [workers.observer] : [workers.reflector, workers.dropper];
  const kind = asked.find(({ failure }) => failure)?.failure?.kind;
  return `${inARow(snapshot.contexts[lane].failures)}${kind ? ` (${kind})` : ""}`;
}

function whyDueAfterObserver({ snapshot, inputs }: Why): string {
  const { heldBack } = inputs.reflectDrop;
  const { waits } = snapshot.contexts.reflectDrop;
  if (!heldBack) return `waiting for ${NEXT_TRIGGER}`;
  const because = `held back because observer is ${stateLabel(snapshot.states.observer)}`;
  return waits > 0
    ? `${because}, starts as soon as that has ended${patience(waits, "turn")}`
    : `${because}, waiting for the next turn to end`;
}

/** How much longer a lane waits for the observer. */
function patience(waits: number, what: string): string {
  const left = MOST_WAITS - waits;
  return left > 0 ? `, or after ${countOf(left, `more ${what}`)}` : `, or with the next ${what}`;
}

function whyRunning(lane: "observer" | "reflectDrop", { snapshot, state }: Why): string {
  const { runId, clockAtStart } = snapshot.contexts[lane];
  const { workerTimeoutMs } = state.settings;
  const then =
    snapshot.states[lane] === "running.reflecting"
      ? "; if it records something while the pool is over its target, the dropper follows"
      : "";
  return `run ${runId}, started at ${grouped(clockAtStart)}, is in flight and ends within ${duration(workerTimeoutMs)}${then}`;
}

function whyCompaction(why: Why): string {
  const { snapshot, inputs } = why;
  const input = inputs.compaction;
  const { waits, runId } = snapshot.contexts.compaction;
  switch (snapshot.states.compaction) {
    case "due": {
      if (!input.observerBehind) return "waiting until the agent is at rest, so that it interrupts nobody";
      const ready =
        waits > 0
          ? `goes ahead as soon as it has caught up${patience(waits, "prompt")}`
          : "waiting until the agent is at rest";
      return `held back because observer is ${stateLabel(snapshot.states.observer)} and a cut now would lose ${grouped(inputs.observer.clock)} unobserved tokens, ${ready}`;
    }
    case "requested":
      return `Pi was asked to compact (${runId}) and has not begun${beside(whyCold(why))}; if the agent settles again first, the request is lost`;
    case "compacting":
      return "a compaction is in progress, and its end moves the lane";
    default:
      return whyCompactionIsNotDue(why);
  }
}

/** Why a compaction whose clock is at its threshold is not due while memory is empty. */
export const NOTHING_TO_FOLD = "nothing to fold yet, so compacting is left to Pi's own limit";

/**
 * In whichever state the lane waits: each rule asks for new tokens, and the one that asks for most is named. What a failure
 * asks for depends on how many there are once the others have theirs.
 */
function whyCompactionIsNotDue(why: Why): string {
  const { snapshot, inputs } = why;
  const input = inputs.compaction;
  const state = snapshot.states.compaction;
  const context = snapshot.contexts.compaction;
  const byClock = missingByClock(input);
  const byTail = missingByTail(input);
  const missingElse = Math.max(0, byClock, byTail);
  const byFailure = missingByFailure(context, { ...input, total: input.total + missingElse });
  const missing = missingElse + byFailure;
  const parts: string[] = [];
  if (state === "coolingDown" || (missing > 0 && byTail === missing))
    parts.push(`the last compaction kept ${grouped(keptByCompaction(input))} tokens`);
  if (state === "backingOff" || byFailure > 0) parts.push(inARow(context.failures));
  const due = missing > 0 ? makeItDue(missing) : "due at the next event";
  if (input.hasMemory) parts.push(due);
  else parts.push(missing > 0 ? `${due}, once there is something to fold` : NOTHING_TO_FOLD);
  return `${parts.join("; ")}${beside(whyCold(why))}`;
}

function beside(words: string): string {
  return words === "" ? "" : `; ${words}`;
}

/** What a cold prompt cache makes the next request cost, and what the lane makes of it; `""` where it is not known to be cold. */
function whyCold({ state, inputs: { compaction: input } }: Why): string {
  const cold = coldFigures(state);
  const { settings } = state;
  if (!cold) return "";
  const { contextTokens, foldedTokens, usdPerMillion } = cold;
  const saving = coldSaving(cold);
  const cost = (tokens: number) =>
    usdPerMillion === undefined ? "" : ` for ${dollars(priceOf(tokens, usdPerMillion))}`;
  const folded =
    foldedTokens < contextTokens
      ? `${grouped(foldedTokens)}${cost(foldedTokens)} after a compaction`
      : "as many after a compaction";
  const figures = `the prompt cache has run out, so the next request reads ${grouped(contextTokens)} tokens anew${cost(contextTokens)}, ${folded}`;
  const margin = `${dollars(COLD_MARGIN.usd)} and ${COLD_MARGIN.share * 100} % less`;
  const verdict =
    saving === undefined
      ? "without a known price nothing is done"
      : isWorthCompacting(cold)
        ? `at least ${margin}, which is worth it`
        : `not ${margin}, so it is not worth it`;
  if (settings.idleCompaction === "off") return `${figures}; ${verdict}, but idleCompaction is off`;
  return input.observerBehind
    ? `${figures}; ${verdict}, but the observer is behind`
    : `${figures}; ${verdict}`;
}

function makeItDue(missing: number): string {
  return `${countOf(missing, "more token makes", "more tokens make")} it due`;
}

function inARow(failures: number): string {
  return countOf(failures, "failure", "failures in a row");
}
