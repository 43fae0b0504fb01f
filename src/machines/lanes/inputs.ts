import { NOWHERE, tokensAfter } from "../../reducers/branch.ts";
import type { Clocks } from "../../reducers/clocks.ts";
import { unobservedTail } from "../../reducers/ledger/compaction-plan.ts";
import { isPoolOverTarget } from "../../reducers/ledger/pool.ts";
import { clocksOfSession, hasUnreflectedCoverage, type SessionState } from "../../reducers/session.ts";
import { compactionThreshold, type Settings } from "../../reducers/settings.ts";

/** What every lane is told when it is woken: the event's time, and its clock against its threshold. */
export interface Reading {
  /** Event time in milliseconds since the epoch: the only time a lane knows. */
  readonly at: number;
  readonly passive: boolean;
  /** Source tokens on the lane's clock */
  readonly clock: number;
  /** Source tokens at which the lane is due */
  readonly threshold: number;
}

/** For the observer and the reflect/drop lane. */
export interface WorkInput extends Reading {
  /** Branch position of the lane's coverage: it moves when something was recorded or the branch changed. */
  readonly coverage: number;
  /** Observer: there are unobserved source tokens. Reflect/drop: observations cover what no reflection does. */
  readonly hasWork: boolean;
  /** Reflect/drop only: the observer is due or running. */
  readonly heldBack: boolean;
  readonly poolOverTarget: boolean;
}

export interface CompactionInput extends Reading {
  /** Source tokens since the latest compaction entry */
  readonly sinceCompaction: number;
  /** All source tokens of the branch: how the lane sees that new ones came */
  readonly total: number;
  readonly agentIdle: boolean;
  /**
   * More is unobserved than a cut made now could keep verbatim, and the observer is about to cover it: a cut made
   * after its run will lose nothing.
   */
  readonly observerBehind: boolean;
}

/** What the readings are taken from. */
export interface Readable {
  readonly session: SessionState;
  readonly settings: Settings;
  /** The session model's context window in tokens, when it is known. */
  readonly contextWindow: number | undefined;
}

/** Facts about the other lanes and the agent that arbitration needs. */
export interface Surroundings {
  /** Event time in milliseconds since the epoch */
  readonly at: number;
  /** The observer is due or running. */
  readonly observerBusy: boolean;
  /** The observer's clock is below its threshold; nothing has failed, and nothing was found empty. */
  readonly observerIdle: boolean;
  readonly agentIdle: boolean;
}

/** The observer lane's reading. All readings cost the same at any session length. */
export function observerInput({ session, settings }: Readable, { at }: Surroundings): WorkInput {
  const { branch, ledger } = session;
  const clock = tokensAfter(branch, ledger.watermarks.observe);
  return {
    at,
    passive: settings.passive,
    clock,
    threshold: settings.observeAfterTokens,
    coverage: ledger.watermarks.observe,
    hasWork: clock > 0,
    heldBack: false,
    poolOverTarget: false,
  };
}

export function reflectDropInput({ session, settings }: Readable, around: Surroundings): WorkInput {
  const { branch, ledger } = session;
  return {
    at: around.at,
    passive: settings.passive,
    clock: tokensAfter(branch, ledger.watermarks.reflect),
    threshold: settings.reflectAfterTokens,
    coverage: ledger.watermarks.reflect,
    hasWork: hasUnreflectedCoverage(session),
    heldBack: around.observerBusy,
    poolOverTarget: isPoolOverTarget(ledger, settings),
  };
}

export function compactionInput(readable: Readable, around: Surroundings): CompactionInput {
  const { session, settings, contextWindow } = readable;
  const clocks = clocksOfSession(session);
  const threshold = compactionThreshold(settings, contextWindow);
  return {
    at: around.at,
    passive: settings.passive,
    clock: clocks.compact,
    threshold,
    sinceCompaction: clocks.sinceCompaction,
    total: tokensAfter(session.branch, NOWHERE),
    agentIdle: around.agentIdle,
    observerBehind: clocks.compact >= threshold && isObserverBehind(readable, around, clocks),
  };
}

/**
 * An idle observer counts where it left off in the middle of a tool batch: the little that is left of it could be
 * kept only with the whole batch, and the next run is less than a threshold away.
 */
function isObserverBehind(
  { session, settings }: Readable,
  { observerBusy, observerIdle }: Surroundings,
  { observe, compact }: Clocks,
): boolean {
  if (!observerBusy && !observerIdle) return false;
  // Some of it has been cut away unobserved before; no cut can bring it back, the run can.
  if (observerBusy && observe > compact) return true;
  const { tokens, splitsBatch } = unobservedTail(session.branch, session.ledger);
  return (observerBusy || splitsBatch) && tokens > settings.compactionGapMaxTokens;
}
