import type { EngineState } from "../../reducers/engine/engine-state.ts";
import type { LaneName } from "../../reducers/engine/lane-names.ts";
import { whyPassive } from "../../reducers/engine/session-host.ts";
import {
  keptByCompaction,
  missingByClock,
  missingByFailure,
  missingByTail,
} from "../lanes/compaction-lane.ts";
import { type LaneInputs, laneInputs } from "../lanes/inputs.ts";
import type { LanesSnapshot } from "../lanes/lanes.ts";
import { delayLeft } from "../lanes/work-lane.ts";

/** The engine at one moment; a step of a replay is one, and so is a live engine. */
export interface EngineMoment {
  readonly state: EngineState;
  readonly snapshot: LanesSnapshot;
  /** Milliseconds since the epoch: event time, or the clock on the wall for a live engine. */
  readonly at: number;
}

/**
 * Why a lane is in its state and what would move it, in one sentence: "observer is due since #40: 10,340 of 10,000
 * tokens; waiting for the next turn_end or agent_start".
 */
export function explainLane(lane: LaneName, moment: EngineMoment): string {
  const { state, snapshot, at } = moment;
  const { clock, threshold } = laneInputs(state, snapshot.states, at)[lane];
  const since = snapshot.since[lane];
  const from = since ? ` since #${since.seq}` : "";
  const head = `${NAMES[lane]} is ${snapshot.states[lane]}${from}: ${tokens(clock)} of ${tokens(threshold)} tokens`;
  return `${head}; ${whyLane(lane, moment)}`;
}

/** The latter half of it: what keeps the lane where it is, and what would move it. */
export function whyLane(lane: LaneName, { state, snapshot, at }: EngineMoment): string {
  const readings = laneInputs(state, snapshot.states, at);
  const why = { state, snapshot, readings, at };
  if (!state.isOpen) return "no session is open, so nothing starts";
  // What is under way goes on; a lane that waits turns passive at the next event, if it has not yet.
  const passive = whyPassive(state, lane);
  if (passive && !UNDER_WAY.test(snapshot.states[lane])) return `proactive work is off (${passive})`;
  return lane === "compaction" ? whyCompaction(why) : whyWork(lane, why);
}

const NAMES: Readonly<Record<LaneName, string>> = {
  observer: "observer",
  reflectDrop: "reflect/drop",
  compaction: "compaction",
};

const UNDER_WAY = /^(running|requested|compacting)/;

interface Why extends EngineMoment {
  readonly readings: LaneInputs;
}

const NEXT_TRIGGER = "the next turn_end or agent_start";

function whyWork(lane: "observer" | "reflectDrop", why: Why): string {
  const { snapshot, readings, at } = why;
  const reading = readings[lane];
  const context = snapshot.contexts[lane];
  const missing = reading.threshold - reading.clock;
  switch (snapshot.states[lane]) {
    case "idle": {
      if (lane === "reflectDrop" && !reading.hasWork)
        return missing > 0
          ? `${makeItDue(missing)}, once the observer has recorded something new`
          : "no observation is newer than the last reflection, so it waits for the observer to record";
      const due = missing > 0 ? makeItDue(missing) : "due at the next event";
      const delay = delayLeft(context, at);
      return delay > 0 ? `${failed(lane, why)}; ${due}, but not within ${duration(delay)}` : due;
    }
    case "due":
      return lane === "reflectDrop" ? whyDueAfterObserver(why) : `waiting for ${NEXT_TRIGGER}`;
    case "coolingDown": {
      const dueAt = context.clockAtStart + reading.threshold;
      const more = tokens(Math.max(0, dueAt - reading.clock));
      return `its run at ${tokens(context.clockAtStart)} tokens found nothing to record; due again at ${tokens(dueAt)}, ${more} more, or when coverage moves`;
    }
    case "backingOff": {
      const delay = delayLeft(context, at);
      return delay > 0
        ? `${failed(lane, why)}; it tries again at the first turn_end or agent_start after ${duration(delay)}`
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

function whyDueAfterObserver({ snapshot, readings }: Why): string {
  const { heldBack } = readings.reflectDrop;
  const { triggered } = snapshot.contexts.reflectDrop;
  if (!heldBack) return `waiting for ${NEXT_TRIGGER}`;
  const because = `held back because observer is ${snapshot.states.observer}`;
  return triggered
    ? `${because}, starts as soon as that has ended`
    : `${because}, waiting for the next turn_end`;
}

function whyRunning(lane: "observer" | "reflectDrop", { snapshot, state }: Why): string {
  const { runId, clockAtStart } = snapshot.contexts[lane];
  const { workerTimeoutMs } = state.settings;
  const then =
    snapshot.states[lane] === "running.reflecting"
      ? "; if it records something while the pool is over its target, the dropper follows"
      : "";
  return `run ${runId}, started at ${tokens(clockAtStart)}, is in flight and ends within ${duration(workerTimeoutMs)}${then}`;
}

function whyCompaction(why: Why): string {
  const { snapshot, readings } = why;
  const reading = readings.compaction;
  const { triggered, runId } = snapshot.contexts.compaction;
  switch (snapshot.states.compaction) {
    case "due": {
      if (!reading.observerBehind) return "waiting for agent_settled, so that it interrupts nobody";
      const ready = triggered ? "goes ahead as soon as it has caught up" : "waiting for agent_settled";
      return `held back because observer is ${snapshot.states.observer} and a cut now would lose ${tokens(readings.observer.clock)} unobserved tokens, ${ready}`;
    }
    case "requested":
      return `Pi was asked to compact (${runId}) and has not begun; if the agent settles again first, the request is lost`;
    case "compacting":
      return "a compaction is in progress, and its end moves the lane";
    default:
      return whyCompactionIsNotDue(why);
  }
}

/**
 * In whichever state the lane waits: each rule asks for new tokens, and the one that asks for most is named. What a failure
 * asks for depends on how many there are once the others have theirs.
 */
function whyCompactionIsNotDue({ snapshot, readings: { compaction: reading } }: Why): string {
  const state = snapshot.states.compaction;
  const context = snapshot.contexts.compaction;
  const byClock = missingByClock(reading);
  const byTail = missingByTail(reading);
  const missingElse = Math.max(0, byClock, byTail);
  const byFailure = missingByFailure(context, { ...reading, total: reading.total + missingElse });
  const missing = missingElse + byFailure;
  const parts: string[] = [];
  if (state === "coolingDown" || (missing > 0 && byTail === missing))
    parts.push(`the last compaction kept ${tokens(keptByCompaction(reading))} tokens`);
  if (state === "backingOff" || byFailure > 0) parts.push(inARow(context.failures));
  return [...parts, missing > 0 ? makeItDue(missing) : "due at the next event"].join("; ");
}

function makeItDue(missing: number): string {
  return missing === 1 ? "1 more token makes it due" : `${tokens(missing)} more tokens make it due`;
}

function tokens(count: number): string {
  return Math.round(count).toLocaleString("en-US");
}

function inARow(failures: number): string {
  return failures === 1 ? "1 failure" : `${tokens(failures)} failures in a row`;
}

function duration(ms: number): string {
  return ms < 120_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}
