import { backoffTokens } from "./backoff.ts";
import type { EngineState } from "./engine-state.ts";
import { type Readings, readLanes, type Standing } from "./lanes.ts";
import type { LaneName } from "./readings.ts";

/** The engine at one moment; a step of a replay is one, and so is a live engine. */
export interface Moment {
  readonly state: EngineState;
  readonly standing: Standing;
  /** Milliseconds since the epoch: event time, or the clock on the wall for a live engine. */
  readonly at: number;
}

/**
 * Why a lane is in its state and what would move it, in one sentence: "observer is due since #40: 10,340 of 10,000
 * tokens; waiting for the next turn_end or agent_start".
 */
export function explainLane(lane: LaneName, moment: Moment): string {
  const { state, standing, at } = moment;
  const { clock, threshold } = readLanes(state, standing.states, at)[lane];
  const since = standing.since[lane];
  const from = since ? ` since #${since.seq}` : "";
  const head = `${NAMES[lane]} is ${standing.states[lane]}${from}: ${tokens(clock)} of ${tokens(threshold)} tokens`;
  return `${head}; ${whyLane(lane, moment)}`;
}

/** The latter half of it: what keeps the lane where it is, and what would move it. */
export function whyLane(lane: LaneName, { state, standing, at }: Moment): string {
  const readings = readLanes(state, standing.states, at);
  const why = { state, standing, readings, at };
  if (standing.states[lane] === "passive") return "proactive work is off (passive: true)";
  return lane === "compaction" ? whyCompaction(why) : whyWork(lane, why);
}

const NAMES: Readonly<Record<LaneName, string>> = {
  observer: "observer",
  reflectDrop: "reflect/drop",
  compaction: "compaction",
};

interface Why extends Moment {
  readonly readings: Readings;
}

const NEXT_TRIGGER = "the next turn_end or agent_start";

function whyWork(lane: "observer" | "reflectDrop", why: Why): string {
  const { standing, readings, state, at } = why;
  const reading = readings[lane];
  const context = standing.contexts[lane];
  const missing = reading.threshold - reading.clock;
  switch (standing.states[lane]) {
    case "idle":
      if (missing > 0 && reading.hasWork) return `${tokens(missing)} more make it due`;
      if (lane === "observer")
        return missing > 0 ? `${tokens(missing)} more make it due` : "due at the next event";
      if (missing > 0)
        return `${tokens(missing)} more make it due, once the observer has recorded something new`;
      return "no observation is newer than the last reflection, so it waits for the observer to record";
    case "due":
      return lane === "reflectDrop" ? whyDueAfterObserver(why) : `waiting for ${NEXT_TRIGGER}`;
    case "coolingDown": {
      const dueAt = context.clockAtStart + reading.threshold;
      const more = tokens(Math.max(0, dueAt - reading.clock));
      return `its run at ${tokens(context.clockAtStart)} tokens found nothing to record; due again at ${tokens(dueAt)}, ${more} more, or when coverage moves`;
    }
    case "backingOff": {
      const worker =
        lane === "observer" ? [state.workers.observer] : [state.workers.reflector, state.workers.dropper];
      const kind = worker.find(({ failure }) => failure)?.failure?.kind;
      const failed = `${inARow(context.failures)}${kind ? ` (${kind})` : ""}`;
      if (missing > 0)
        return `${failed}; back to idle at the next event, ${tokens(missing)} more make it due`;
      return context.retryAt > at
        ? `${failed}; it tries again at the first turn_end or agent_start after ${duration(context.retryAt - at)}`
        : `${failed}; the delay is over, waiting for ${NEXT_TRIGGER}`;
    }
    default:
      return whyRunning(lane, why);
  }
}

function whyDueAfterObserver({ standing, readings }: Why): string {
  const { heldBack } = readings.reflectDrop;
  const { triggered } = standing.contexts.reflectDrop;
  if (!heldBack) return triggered ? "it starts at the next event" : `waiting for ${NEXT_TRIGGER}`;
  const because = `held back because observer is ${standing.states.observer}`;
  return triggered
    ? `${because}, starts as soon as that has ended`
    : `${because}, waiting for the next turn_end`;
}

function whyRunning(lane: "observer" | "reflectDrop", { standing, state }: Why): string {
  const { runId, clockAtStart } = standing.contexts[lane];
  const { workerTimeoutMs } = state.settings;
  const then =
    standing.states[lane] === "running.reflecting"
      ? "; if it records something while the pool is over its target, the dropper follows"
      : "";
  return `run ${runId}, started at ${tokens(clockAtStart)}, is in flight and ends within ${duration(workerTimeoutMs)}${then}`;
}

function whyCompaction({ standing, readings }: Why): string {
  const reading = readings.compaction;
  const { failures, totalAtFailure, triggered, runId } = standing.contexts.compaction;
  const missing = reading.threshold - reading.clock;
  switch (standing.states.compaction) {
    case "idle":
      return missing > 0 ? `${tokens(missing)} more make it due` : "due at the next event";
    case "due":
      if (reading.observerBehind) {
        const ready = triggered ? "goes ahead as soon as it has caught up" : "waiting for agent_settled";
        return `held back because observer is ${standing.states.observer} and a cut now would lose ${tokens(readings.observer.clock)} unobserved tokens, ${ready}`;
      }
      return triggered && reading.agentIdle
        ? "it goes ahead at the next event"
        : "waiting for agent_settled, so that it interrupts nobody";
    case "requested":
      return `Pi was asked to compact (${runId}) and has not begun; if the agent settles again first, the request is lost`;
    case "compacting":
      return "a compaction is in progress, and its end moves the lane";
    case "coolingDown": {
      const kept = reading.clock - reading.sinceCompaction;
      const needed = kept < reading.threshold ? reading.threshold - kept : reading.threshold;
      const more = tokens(Math.max(0, needed - reading.sinceCompaction));
      return `the last compaction kept ${tokens(kept)} tokens; ${more} more new ones make it due`;
    }
    default: {
      const failed = inARow(failures);
      if (missing > 0)
        return `${failed}; back to idle at the next event, ${tokens(missing)} more make it due`;
      const needed = backoffTokens(failures, reading.threshold);
      const seen = Math.abs(reading.total - totalAtFailure);
      return `${failed}; due again after ${times(needed, "new token")}, ${tokens(seen)} so far`;
    }
  }
}

function tokens(count: number): string {
  return Math.round(count).toLocaleString("en-US");
}

function times(count: number, what: string): string {
  return `${tokens(count)} ${what}${count === 1 ? "" : "s"}`;
}

function inARow(failures: number): string {
  return failures === 1 ? "1 failure" : `${tokens(failures)} failures in a row`;
}

function duration(ms: number): string {
  return ms < 120_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}
