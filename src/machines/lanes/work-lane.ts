import { assign, emit, raise, setup } from "xstate";
import type { Worker } from "../../reducers/engine/lane-names.ts";
import type { RunResult } from "../../reducers/engine/run-result.ts";
import type { Command } from "../commands.ts";
import { backoffDelay } from "./backoff.ts";
import type { WorkInput } from "./inputs.ts";

/** What a worker lane is told. Every event carries the reading that the lane decides by. */
export type WorkLaneEvent = { reading: WorkInput } & (
  | { type: "reading" }
  /** `turn_end` or `agent_start`: work that is due may start. */
  | { type: "trigger" }
  /** The user asked for a run now. */
  | { type: "demand" }
  | { type: "result"; result: RunResult }
  /** The session is about to be closed. */
  | { type: "closing" }
);

export interface WorkContext {
  /** Prefix of this lane's run ids */
  lane: "observer" | "reflectDrop";
  runs: number;
  runId: string | null;
  /** Failures in a row */
  failures: number;
  /** Event time in milliseconds before which the lane does not try again */
  retryAt: number;
  /** The lane's clock and coverage when the current or last run started; the clock, at its lowest while cooling down */
  clockAtStart: number;
  watermarkAtStart: number;
  /** Last entry of a range that the observer judged empty */
  emptyUpToId: string | null;
  /** A trigger came while the lane was held back */
  triggered: boolean;
}

export function initialWorkContext(lane: WorkContext["lane"]): WorkContext {
  return {
    lane,
    runs: 0,
    runId: null,
    failures: 0,
    retryAt: 0,
    clockAtStart: 0,
    watermarkAtStart: -1,
    emptyUpToId: null,
    triggered: false,
  };
}

/** The words that both worker lanes' charts are written in. */
export const workLane = setup({
  types: { context: {} as WorkContext, events: {} as WorkLaneEvent, emitted: {} as Command },
  guards: {
    isPassive: ({ event }) => event.reading.passive,
    isActive: ({ event }) => !event.reading.passive,
    hasWork: ({ event }) => event.reading.hasWork,
    isDue: ({ event }) => isDue(event.reading),
    isNotDue: ({ event }) => !isDue(event.reading),
    isHeldBack: ({ event }) => event.reading.heldBack,
    wasTriggeredAndIsFree: ({ context, event }) => context.triggered && !event.reading.heldBack,
    /** An empty result stands until a whole threshold of new source tokens, or until coverage moves. */
    hasCooledDown: ({ context, event: { reading } }) =>
      reading.clock >= context.clockAtStart + reading.threshold ||
      reading.coverage !== context.watermarkAtStart,
    /** The branch was left for one with less to observe (or an entry was taken back). */
    hasShrunk: ({ context, event }) => event.reading.clock < context.clockAtStart,
    mayRetry: ({ context, event }) => mayRetry(context, event.reading.at),
    isDueTooEarly: ({ context, event }) => isDue(event.reading) && !mayRetry(context, event.reading.at),
    recorded: ({ context, event }) => outcomeOf(context, event) === "recorded",
    recordedAndPoolOverTarget: ({ context, event }) =>
      outcomeOf(context, event) === "recorded" && event.reading.poolOverTarget,
    foundNothing: ({ context, event }) => outcomeOf(context, event) === "empty",
    failed: ({ context, event }) => outcomeOf(context, event) === "failed",
    /** Only the first failure of a row is worth a warning. */
    isFirstFailure: ({ context, event }) => outcomeOf(context, event) === "failed" && context.failures === 0,
    /** Stale (its session or branch is gone) or aborted: nothing was appended and nothing is to be said. */
    isVoid: ({ context, event }) => ["stale", "aborted"].includes(outcomeOf(context, event) ?? ""),
  },
  actions: {
    nameRun: assign(({ context, event }) => ({
      runs: context.runs + 1,
      runId: runIdOf(context.lane, context.runs + 1),
      clockAtStart: event.reading.clock,
      watermarkAtStart: event.reading.coverage,
      triggered: false,
    })),
    startRun: emit(({ context }, { worker }: { worker: Worker }) => ({
      type: "startRun",
      runId: runIdOf(context.lane, context.runs),
      worker,
      failures: context.failures,
      emptyUpToId: context.emptyUpToId,
    })),
    /** The run is over for the lane; its result, which says that it was aborted, is none of its business any more. */
    abortRun: emit(({ context: { lane, runs } }) => ({ type: "abortRun", runId: runIdOf(lane, runs) })),
    endRun: assign({ runId: null }),
    rememberTrigger: assign({ triggered: true }),
    forgetTrigger: assign({ triggered: false }),
    rememberSuccess: assign({ failures: 0, retryAt: 0, emptyUpToId: null }),
    rememberEmptyRange: assign(({ context, event }) => ({
      failures: 0,
      retryAt: 0,
      clockAtStart: Math.min(context.clockAtStart, event.reading.clock),
      emptyUpToId: event.type === "result" ? event.result.coversUpToId : null,
    })),
    /** A further threshold of tokens counts from what the branch has now. */
    countFromHere: assign({ clockAtStart: ({ event }) => event.reading.clock }),
    rememberFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      retryAt: event.reading.at + backoffDelay(context.failures + 1),
    })),
    tellRecorded: emit(({ context }) => ({
      type: "notify",
      level: "info",
      lane: context.lane,
      about: "recorded",
      runId: runIdOf(context.lane, context.runs),
    })),
    tellFailed: emit(({ context }) => ({
      type: "notify",
      level: "warning",
      lane: context.lane,
      about: "failed",
      runId: runIdOf(context.lane, context.runs),
    })),
    /** Lets the same trigger that ends a back-off start the run. */
    passTriggerOn: raise(({ event }) => ({ type: "trigger", reading: event.reading })),
  },
});

/** Of the context's latest run: `runId` itself is gone by the time of what its end causes. */
function runIdOf(lane: WorkContext["lane"], run: number): string {
  return `${lane}-${run}`;
}

function isDue(reading: WorkInput): boolean {
  return reading.clock >= reading.threshold && reading.hasWork;
}

function mayRetry(context: WorkContext, at: number): boolean {
  return delayLeft(context, at) === 0;
}

/**
 * Milliseconds of the delay after a failure that are still to pass; 0 when it is over. A computer's clock that was set
 * back does not make it longer.
 */
export function delayLeft({ retryAt, failures }: WorkContext, at: number): number {
  const left = retryAt - at;
  return left > 0 && left <= backoffDelay(failures) ? left : 0;
}

/** The outcome of the lane's own current run; a result of any other run is none of its business. */
function outcomeOf(context: WorkContext, event: WorkLaneEvent): RunResult["outcome"] | undefined {
  return event.type === "result" && event.result.runId === context.runId ? event.result.outcome : undefined;
}
