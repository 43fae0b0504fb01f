import { assign, emit, setup } from "xstate";
import type { Command } from "../commands.ts";
import { backoffTokens } from "./backoff.ts";
import type { CompactionInput } from "./inputs.ts";

export type CompactionLaneEvent = { reading: CompactionInput } & (
  | { type: "reading" }
  /** `agent_settled`: nothing runs any more, so a compaction interrupts nobody. */
  | { type: "trigger" }
  /** Another sign that the agent goes on: a compaction cannot be in progress. */
  | { type: "boundary" }
  | { type: "compactionStarted" }
  | { type: "compactionFinished" }
  | { type: "compactionFailed" }
  /** The agent was at work again before Pi could be asked. */
  | { type: "compactionPostponed" }
  /** The session is about to be closed. */
  | { type: "closing" }
);

export interface CompactionContext {
  requests: number;
  runId: string | null;
  /** Failures in a row */
  failures: number;
  /** Source tokens of the branch at the last failure */
  totalAtFailure: number;
  /** A trigger came while the observer was behind */
  triggered: boolean;
}

const compactionSetup = setup({
  types: { context: {} as CompactionContext, events: {} as CompactionLaneEvent, emitted: {} as Command },
  guards: {
    isPassive: ({ event }) => event.reading.passive,
    isActive: ({ event }) => !event.reading.passive,
    isDue: ({ context, event: { reading } }) =>
      isCompactionDue(reading) && missingByFailure(context, reading) <= 0,
    isNotDue: ({ event }) => !isCompactionDue(event.reading),
    isObserverBehind: ({ event }) => event.reading.observerBehind,
    mayGoAheadNow: ({ context, event: { reading } }) =>
      context.triggered && reading.agentIdle && !reading.observerBehind,
    isFirstFailureOfOurs: ({ context }) => context.runId !== null && context.failures === 0,
  },
  actions: {
    nameRun: assign(({ context }) => ({
      requests: context.requests + 1,
      runId: runIdOf(context.requests + 1),
      triggered: false,
    })),
    requestCompaction: emit(({ context }) => ({
      type: "requestCompaction",
      runId: runIdOf(context.requests),
    })),
    rememberTrigger: assign({ triggered: true }),
    forgetTrigger: assign({ triggered: false }),
    forgetRequest: assign({ runId: null }),
    rememberSuccess: assign({ failures: 0, runId: null }),
    rememberFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      totalAtFailure: event.reading.total,
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
 * Asks Pi to compact when the clock says so and the agent has settled. A compaction that Pi or the user
 * started counts like one of ours. States and rules: DESIGN 6.
 */
export const compactionLane = compactionSetup.createMachine({
  id: "compaction",
  context: { requests: 0, runId: null, failures: 0, totalAtFailure: 0, triggered: false },
  initial: "idle",
  on: {
    compactionStarted: ".compacting",
    compactionFinished: { target: ".coolingDown", actions: "rememberSuccess" },
  },
  states: {
    passive: {
      description: "Proactive work is off.",
      on: {
        reading: { guard: "isActive", target: "idle" },
        compactionFailed: { guard: "isDue", actions: "rememberFailure" },
      },
    },
    idle: {
      description: "The clock is below its threshold.",
      on: {
        reading: [
          { guard: "isPassive", target: "passive" },
          { guard: "isDue", target: "due" },
        ],
      },
    },
    due: {
      description: "The clock is at its threshold; compaction waits for the agent to settle.",
      exit: "forgetTrigger",
      on: {
        reading: [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
          { guard: "mayGoAheadNow", target: "requested" },
        ],
        trigger: [{ guard: "isObserverBehind", actions: "rememberTrigger" }, { target: "requested" }],
        // The user's own attempt, on the very tokens that are due.
        compactionFailed: { target: "backingOff", actions: "rememberFailure" },
        // The next opening is no trigger.
        closing: "idle",
      },
    },
    requested: {
      description: "Pi has been asked to compact.",
      entry: ["nameRun", "requestCompaction"],
      on: {
        compactionFailed: onFailure,
        compactionPostponed: { target: "due", actions: "forgetRequest" },
        closing: { target: "idle", actions: "forgetRequest" },
        // The agent ran and settled again: Pi lost the request. Without this the lane would wait for ever.
        trigger: { target: "backingOff", actions: "rememberFailure" },
      },
    },
    compacting: {
      description: "A compaction is in progress, whoever started it.",
      on: {
        compactionFailed: onFailure,
        closing: { target: "idle", actions: "forgetRequest" },
        // Pi never runs the agent while it compacts, so this one ended without a word.
        trigger: { target: "backingOff", actions: "rememberFailure" },
        boundary: { target: "backingOff", actions: "rememberFailure" },
      },
    },
    coolingDown: {
      description: "A compaction stands; another one needs new source tokens.",
      on: {
        reading: [
          { guard: "isPassive", target: "passive" },
          { guard: "isDue", target: "due" },
        ],
      },
    },
    backingOff: {
      description: "The last compaction failed; another try needs new source tokens.",
      on: {
        reading: [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
          { guard: "isDue", target: "due" },
        ],
      },
    },
  },
});

function runIdOf(request: number): string {
  return `compaction-${request}`;
}

function isCompactionDue(reading: CompactionInput): boolean {
  return missingByClock(reading) <= 0 && missingByTail(reading) <= 0;
}

/** New source tokens that the threshold still asks for before a compaction is due; none are asked for at 0 or less. */
export function missingByClock({ threshold, clock }: CompactionInput): number {
  return threshold - clock;
}

/**
 * The same, by the rule that no tail is compacted twice: when what the last compaction kept is itself at the threshold, a
 * whole threshold of new source tokens must come first (DESIGN 6).
 */
export function missingByTail(reading: CompactionInput): number {
  const { threshold, sinceCompaction } = reading;
  return keptByCompaction(reading) < threshold ? 0 : threshold - sinceCompaction;
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
