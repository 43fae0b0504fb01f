import { assign, emit, raise, setup } from "xstate";
import type { EngineEventOf } from "../../reducers/engine/events.ts";
import type { Worker } from "../../reducers/engine/lane-names.ts";
import type { Command } from "../commands.ts";
import { backoffDelay } from "./backoff.ts";
import type { WorkInput } from "./inputs.ts";

/** What a worker lane hears: the engine's events by their own names, each with the lane's input at that moment. */
export type WorkLaneEvent = {
  input: WorkInput;
} /** Something happened that its guards may look at differently now. */ & (
  | { type: "input.changed" }
  /** Work that is due may start. */
  | { type: "turn.ended" | "agent.started" }
  | { type: "run.demanded" }
  | { type: "run.finished"; result: FinishedRun }
  | { type: "session.closed" }
);

/** What a lane looks at in a run's result. */
export type FinishedRun = Pick<EngineEventOf<"run.finished">, "runId" | "outcome" | "coversUpToId">;

export interface WorkContext {
  /** Prefix of this lane's run ids */
  lane: "observer" | "reflectDrop";
  runs: number;
  runId: string | null;
  /** Failures in a row */
  failures: number;
  /** Event time in milliseconds before which the lane does not try again */
  retryAt: number;
  /** The lane's clock when the current or last run started; at its lowest while cooling down */
  clockAtStart: number;
  watermarkAtStart: number;
  /** Last entry of a range that the observer judged empty */
  emptyUpToId: string | null;
  /** How often work might have started while the lane was held back */
  waits: number;
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
    waits: 0,
  };
}

/** How many triggers a lane that is held back lets pass. */
export const MOST_WAITS = 3;

/** The guards and actions that both worker lanes' charts are written in. */
export const workLane = setup({
  types: { context: {} as WorkContext, events: {} as WorkLaneEvent, emitted: {} as Command },
  guards: {
    isPassive: ({ event }) => event.input.passive,
    isActive: ({ event }) => !event.input.passive,
    isOverBudget: ({ event }) => event.input.overBudget,
    isWithinBudget: ({ event }) => !event.input.overBudget,
    hasAffordableWork: ({ event }) => event.input.hasWork && !event.input.overBudget,
    isDue: ({ event }) => isDue(event.input),
    isNotDue: ({ event }) => !isDue(event.input),
    /** Nobody waits for the observer without end: one that never catches up would stop all the others. */
    isHeldBack: ({ context, event }) => event.input.heldBack && context.waits < MOST_WAITS,
    wasTriggeredAndIsFree: ({ context, event }) => context.waits > 0 && !event.input.heldBack,
    /** An empty result stands until a whole threshold of new source tokens, or until the watermark moves. */
    hasCooledDown: ({ context, event: { input } }) =>
      input.clock >= context.clockAtStart + input.threshold || input.watermark !== context.watermarkAtStart,
    /** The branch was left for one with less to observe (or an entry was taken back). */
    hasShrunk: ({ context, event }) => event.input.clock < context.clockAtStart,
    mayRetry: ({ context, event }) => delayLeft(context, event.input.at) === 0,
    isDueTooEarly: ({ context, event }) => isDue(event.input) && delayLeft(context, event.input.at) > 0,
    recorded: ({ context, event }) => outcomeOf(context, event) === "recorded",
    /** More than a run can read was waiting: the rest is read at once, or it would fall behind with every turn. */
    recordedAndStillDue: ({ context, event }) =>
      outcomeOf(context, event) === "recorded" && mayGoOn(event.input) && isDue(event.input),
    recordedAndPoolOverTarget: ({ context, event }) =>
      outcomeOf(context, event) === "recorded" && event.input.poolOverTarget && !event.input.overBudget,
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
      clockAtStart: event.input.clock,
      watermarkAtStart: event.input.watermark,
      waits: 0,
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
    rememberTrigger: assign({ waits: ({ context }) => context.waits + 1 }),
    forgetTrigger: assign({ waits: 0 }),
    rememberSuccess: assign({ failures: 0, retryAt: 0, emptyUpToId: null }),
    rememberEmptyRange: assign(({ context, event }) => ({
      failures: 0,
      retryAt: 0,
      clockAtStart: Math.min(context.clockAtStart, event.input.clock),
      emptyUpToId: event.type === "run.finished" ? event.result.coversUpToId : null,
    })),
    /** A further threshold of tokens counts from what the branch has now. */
    countFromHere: assign({ clockAtStart: ({ event }) => event.input.clock }),
    rememberFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      retryAt: event.input.at + backoffDelay(context.failures + 1),
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
    /** Lets the event that ends a back-off start the run, too. */
    hearAgain: raise(({ event }) => event),
  },
});

/** Work that is due may start at either event. */
export function onTurn<T>(transition: T): { "turn.ended": T; "agent.started": T } {
  return { "turn.ended": transition, "agent.started": transition };
}

/** The states that both worker lanes share; they differ in what a demand does. Nobody's demand goes over the budget. */
export function workStates(whenDemanded: {
  guard: "isWithinBudget" | "hasAffordableWork";
  target: "running";
}) {
  return {
    passive: workLane.createStateConfig({
      description: "Proactive work is off.",
      on: {
        "input.changed": { guard: "isActive", target: "idle" },
        "run.demanded": whenDemanded,
      },
    }),
    idle: workLane.createStateConfig({
      description: "The clock is below its threshold, or there is nothing to work on.",
      on: {
        "input.changed": [
          { guard: "isPassive", target: "passive" },
          { guard: "isOverBudget", target: "overBudget" },
          // The branch was left while the lane backed off, and is back.
          { guard: "isDueTooEarly", target: "backingOff" },
          { guard: "isDue", target: "due" },
        ],
        "run.demanded": whenDemanded,
      },
    }),
    overBudget: workLane.createStateConfig({
      description: "A limit of the budget is used up; no run begins.",
      on: {
        "input.changed": [
          { guard: "isPassive", target: "passive" },
          { guard: "isWithinBudget", target: "idle" },
        ],
        "run.demanded": whenDemanded,
      },
    }),
    coolingDown: workLane.createStateConfig({
      description: "An empty result stands for this range.",
      on: {
        "input.changed": [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
          { guard: "hasCooledDown", target: "due" },
          { guard: "hasShrunk", actions: "countFromHere" },
        ],
        "run.demanded": whenDemanded,
      },
    }),
    backingOff: workLane.createStateConfig({
      description: "The last run failed.",
      on: {
        "input.changed": [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
        ],
        ...onTurn({ guard: "mayRetry", target: "due", actions: "hearAgain" } as const),
        "run.demanded": whenDemanded,
      },
    }),
  };
}

/** Of the context's latest run: `runId` itself is gone by the time of what its end causes. */
function runIdOf(lane: WorkContext["lane"], run: number): string {
  return `${lane}-${run}`;
}

function mayGoOn({ passive, overBudget }: WorkInput): boolean {
  return !passive && !overBudget;
}

function isDue(input: WorkInput): boolean {
  return input.clock >= input.threshold && input.hasWork;
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
function outcomeOf(context: WorkContext, event: WorkLaneEvent): FinishedRun["outcome"] | undefined {
  return event.type === "run.finished" && event.result.runId === context.runId
    ? event.result.outcome
    : undefined;
}
