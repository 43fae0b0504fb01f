import { assign, emit, setup } from "xstate";
import type { Command } from "../commands.ts";
import { backoffTokens } from "./backoff.ts";
import type { CompactionInput } from "./inputs.ts";
import { MOST_WAITS } from "./work-lane.ts";

/** What the compaction lane hears: the engine's events by their own names, each with its input at that moment. */
export type CompactionLaneEvent = {
  input: CompactionInput;
} /** Something happened that its guards may look at differently now. */ & (
  | { type: "input.changed" }
  /** Nothing runs any more, so a compaction interrupts nobody. */
  | { type: "agent.settled" }
  /** The agent goes on: a compaction cannot be in progress. */
  | { type: "agent.started" }
  | { type: "compaction.started" | "compaction.finished" | "compaction.failed" }
  /** The agent was at work again before Pi could be asked. */
  | { type: "compaction.postponed" }
  | { type: "session.closed" }
);

export interface CompactionContext {
  requests: number;
  runId: string | null;
  /** Failures in a row */
  failures: number;
  /** Source tokens of the branch at the last failure */
  totalAtFailure: number;
  /** How often the agent settled while the observer was behind */
  waits: number;
}

const compactionSetup = setup({
  types: { context: {} as CompactionContext, events: {} as CompactionLaneEvent, emitted: {} as Command },
  guards: {
    isPassive: ({ event }) => event.input.passive,
    isActive: ({ event }) => !event.input.passive,
    isDue: ({ context, event: { input } }) => isDue(context, input),
    isDueWithMemory: ({ context, event: { input } }) => isDue(context, input) && input.hasMemory,
    isNotDue: ({ event }) => !isCompactionDue(event.input),
    hasNoMemory: ({ event }) => !event.input.hasMemory,
    isObserverBehind: ({ context, event }) => event.input.observerBehind && context.waits < MOST_WAITS,
    mayGoAheadNow: ({ context, event: { input } }) =>
      context.waits > 0 && input.agentIdle && !input.observerBehind,
    /** It may be asked for though it is not due, or without waiting for the agent, which has settled. */
    paysWhileIdle: ({ context, event: { input } }) =>
      input.coldPays &&
      input.agentIdle &&
      input.hasMemory &&
      !input.observerBehind &&
      // A tail on which nothing has come is not compacted twice.
      input.sinceCompaction > 0 &&
      missingByFailure(context, input) <= 0,
    isFirstFailureOfOurs: ({ context }) => context.runId !== null && context.failures === 0,
  },
  actions: {
    nameRun: assign(({ context }) => ({
      requests: context.requests + 1,
      runId: runIdOf(context.requests + 1),
      waits: 0,
    })),
    requestCompaction: emit(({ context }) => ({
      type: "requestCompaction",
      runId: runIdOf(context.requests),
    })),
    rememberTrigger: assign({ waits: ({ context }) => context.waits + 1 }),
    forgetTrigger: assign({ waits: 0 }),
    forgetRequest: assign({ runId: null }),
    rememberSuccess: assign({ failures: 0, runId: null }),
    rememberFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      totalAtFailure: event.input.total,
      runId: null,
    })),
    tellFailed: emit(({ context }) => ({
      type: "notify",
      level: "warning",
      lane: "compaction",
      about: "failed",
      runId: runIdOf(context.requests),
    })),
  },
});

/** Pi may say that a compaction failed twice, by its hook and by the request's own callback: only a lane that waits hears it. */
const onFailure = [
  { guard: "isFirstFailureOfOurs", target: "backingOff", actions: ["tellFailed", "rememberFailure"] },
  { target: "backingOff", actions: "rememberFailure" },
] as const;

/**
 * Asks Pi to compact when the clock says so, there is memory to fold and the agent has settled. A compaction that Pi or the user
 * started counts like one of ours.
 */
export const compactionLane = compactionSetup.createMachine({
  id: "compaction",
  context: { requests: 0, runId: null, failures: 0, totalAtFailure: 0, waits: 0 },
  initial: "idle",
  on: {
    "compaction.started": ".compacting",
    "compaction.finished": { target: ".coolingDown", actions: "rememberSuccess" },
  },
  states: {
    passive: {
      description: "Proactive work is off.",
      on: {
        "input.changed": { guard: "isActive", target: "idle" },
        "compaction.failed": { guard: "isDue", actions: "rememberFailure" },
      },
    },
    idle: {
      description:
        "The clock is below its threshold, or there is nothing to fold yet and Pi's own limit holds.",
      on: {
        "input.changed": [
          { guard: "isPassive", target: "passive" },
          { guard: "paysWhileIdle", target: "requested" },
          { guard: "isDueWithMemory", target: "due" },
        ],
        // Somebody's attempt on tokens that would be due, were there something to fold.
        "compaction.failed": { guard: "isDue", actions: "rememberFailure" },
      },
    },
    due: {
      description: "The clock is at its threshold; compaction waits for the agent to settle.",
      exit: "forgetTrigger",
      on: {
        "input.changed": [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
          { guard: "hasNoMemory", target: "idle" },
          { guard: "paysWhileIdle", target: "requested" },
          { guard: "mayGoAheadNow", target: "requested" },
        ],
        "agent.settled": [{ guard: "isObserverBehind", actions: "rememberTrigger" }, { target: "requested" }],
        // The user's own attempt, on the very tokens that are due.
        "compaction.failed": { target: "backingOff", actions: "rememberFailure" },
        // Opening the session again starts nothing.
        "session.closed": "idle",
      },
    },
    requested: {
      description: "Pi has been asked to compact.",
      entry: ["nameRun", "requestCompaction"],
      on: {
        "compaction.failed": onFailure,
        "compaction.postponed": { target: "due", actions: "forgetRequest" },
        "session.closed": { target: "idle", actions: "forgetRequest" },
        // The agent ran and settled again: Pi lost the request. Without this the lane would wait for ever.
        "agent.settled": { target: "backingOff", actions: "rememberFailure" },
      },
    },
    compacting: {
      description: "A compaction is in progress, whoever started it.",
      on: {
        "compaction.failed": onFailure,
        "session.closed": { target: "idle", actions: "forgetRequest" },
        // Pi never runs the agent while it compacts, so this one ended without a word.
        "agent.started": { target: "backingOff", actions: "rememberFailure" },
        "agent.settled": { target: "backingOff", actions: "rememberFailure" },
      },
    },
    coolingDown: {
      description: "A compaction stands; another one needs new source tokens.",
      on: {
        "input.changed": [
          { guard: "isPassive", target: "passive" },
          { guard: "paysWhileIdle", target: "requested" },
          { guard: "isDueWithMemory", target: "due" },
        ],
        // Somebody's attempt on tokens that would be due, were there something to fold.
        "compaction.failed": { guard: "isDue", actions: "rememberFailure" },
      },
    },
    backingOff: {
      description: "The last compaction failed; another try needs new source tokens.",
      on: {
        "input.changed": [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
          { guard: "hasNoMemory", target: "idle" },
          { guard: "isDueWithMemory", target: "due" },
        ],
      },
    },
  },
});

function runIdOf(request: number): string {
  return `compaction-${request}`;
}

function isDue(context: CompactionContext, input: CompactionInput): boolean {
  return isCompactionDue(input) && missingByFailure(context, input) <= 0;
}

function isCompactionDue(input: CompactionInput): boolean {
  return missingByClock(input) <= 0 && missingByTail(input) <= 0;
}

/** New source tokens that the threshold still asks for before a compaction is due; none are asked for at 0 or less. */
export function missingByClock({ threshold, clock }: CompactionInput): number {
  return threshold - clock;
}

/**
 * The same, by the rule that no tail is compacted twice: when what the last compaction kept is itself at the threshold, a
 * whole threshold of new source tokens must come first.
 */
export function missingByTail(input: CompactionInput): number {
  const { threshold, sinceCompaction } = input;
  return keptByCompaction(input) < threshold ? 0 : threshold - sinceCompaction;
}

/** Source tokens that the last compaction kept */
export function keptByCompaction({ clock, sinceCompaction }: CompactionInput): number {
  return clock - sinceCompaction;
}

/** The same, after a failure, whichever way the lane came since: the same tokens are not tried twice. */
export function missingByFailure(context: CompactionContext, { threshold, total }: CompactionInput): number {
  const { failures, totalAtFailure } = context;
  const grown = total - totalAtFailure;
  const needed = failures === 0 ? 0 : backoffTokens(failures, threshold);
  // A branch that has so many fewer is another one; as it grows, it comes past the old number first.
  return Math.abs(grown) >= needed ? 0 : needed - grown;
}
