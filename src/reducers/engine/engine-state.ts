import { positionOf, tokensBetween } from "../branch.ts";
import { emptySession, extendSession, type SessionState, sessionOf } from "../session.ts";
import { DEFAULT_SETTINGS, type Settings } from "../settings.ts";
import type { DaySpent } from "./budget.ts";
import { AGENT_BUSY, type EngineEvent, type EngineEventOf, type Failure, type Usage } from "./events.ts";
import type { Worker } from "./lane-names.ts";
import { PLAIN_HOST, type SessionHost } from "./session-host.ts";
import { failuresAfter, type ModelFailures } from "./worker-models.ts";

/** What a worker has done since the session was opened in this process. */
export interface WorkerRecord {
  readonly runs: number;
  readonly requests: number;
  readonly usage: Usage;
  readonly last: EngineEventOf<"run.finished"> | null;
  /** The latest failure, until a run ends well. */
  readonly failure: (Failure & { readonly at: string }) | null;
}

/** All that the engine knows; the lanes' own states live in their machines. */
export interface EngineState {
  /** A session is open. Nothing starts while none is. */
  readonly isOpen: boolean;
  readonly sessionId: string;
  readonly session: SessionState;
  readonly settings: Settings;
  readonly host: SessionHost;
  readonly contextWindow: number | undefined;
  readonly agentIdle: boolean;
  /** Null where no event has said. */
  readonly daySpent: DaySpent | null;
  readonly workers: Readonly<Record<Worker, WorkerRecord>>;
  /** Models that did not answer when they were asked last */
  readonly modelFailures: ModelFailures;
  /** The prompt cache has run out since the agent settled, and no compaction was tried since. */
  readonly coldCache: ColdCache | null;
  readonly compactionFailure: (Failure & { readonly at: string }) | null;
  /** Folds of ours that Pi did not use, since another extension answered after us. */
  readonly replacedFolds: ReplacedFolds | null;
  /** What the observer last judged to hold nothing worth recording. */
  readonly emptyRange: EmptyRange | null;
}

/** What Pi says of a context of which the provider's prompt cache holds nothing any more. */
export interface ColdCache {
  /** When that was found; ISO 8601 */
  readonly at: string;
  /** Tokens that the next request has to have read anew */
  readonly contextTokens: number;
  /** Tokens that Pi keeps verbatim when it compacts */
  readonly keepTokens: number;
  /** USD per million of them; undefined where Pi knows no price */
  readonly usdPerMillion: number | undefined;
}

export interface ReplacedFolds {
  readonly count: number;
  /** When it last happened; ISO 8601 */
  readonly at: string;
  /** Whose summary came instead: that extension's, or Pi's own, for which Pi asks a model. */
  readonly by: "extension" | "pi";
}

/** A range of the branch from the observe watermark on. */
export interface EmptyRange {
  /** Its last entry */
  readonly upToId: string;
  /** Its source tokens when it was judged */
  readonly tokens: number;
}

export function initialState(): EngineState {
  return {
    isOpen: false,
    sessionId: "",
    session: emptySession(),
    settings: DEFAULT_SETTINGS,
    host: PLAIN_HOST,
    contextWindow: undefined,
    agentIdle: true,
    daySpent: null,
    workers: { observer: idleWorker(), reflector: idleWorker(), dropper: idleWorker() },
    modelFailures: {},
    coldCache: null,
    compactionFailure: null,
    replacedFolds: null,
    emptyRange: null,
  };
}

/** What is true after an event. */
export function evolve(state: EngineState, event: EngineEvent): EngineState {
  const next = evolved(state, event);
  return event.daySpent ? { ...next, daySpent: event.daySpent } : next;
}

function evolved(state: EngineState, event: EngineEvent): EngineState {
  switch (event.type) {
    case "session.opened":
      return {
        ...initialState(),
        isOpen: true,
        sessionId: event.sessionId,
        session: sessionOf(event.branch),
        settings: event.settings,
        host: event.host ?? PLAIN_HOST,
        contextWindow: event.contextWindow,
      };
    case "session.closed":
      return { ...state, isOpen: false };
    case "branch.extended":
      return { ...state, session: extendSession(state.session, event.entries) };
    case "branch.replaced":
      return { ...state, session: sessionOf(event.branch), coldCache: null };
    case "model.selected":
      return { ...state, contextWindow: event.contextWindow, coldCache: null };
    case "cache.expired":
      return {
        ...state,
        coldCache: {
          at: event.at,
          contextTokens: event.contextTokens,
          keepTokens: event.keepTokens,
          usdPerMillion: event.usdPerMillion,
        },
      };
    case "agent.started":
      return { ...state, agentIdle: false, coldCache: null };
    case "agent.settled":
      return { ...state, agentIdle: true };
    case "run.finished":
      return {
        ...state,
        workers: { ...state.workers, [event.worker]: afterRun(state.workers, event) },
        modelFailures: failuresAfter(state.modelFailures, event),
        emptyRange: emptyRangeAfter(state, event),
      };
    case "compaction.finished":
      return {
        ...state,
        coldCache: null,
        compactionFailure: null,
        replacedFolds: replacedFoldsAfter(state, event),
      };
    case "compaction.failed":
      // What was tried once for the cache's sake is not tried again: the lane waits for new tokens, or for the next time.
      if (event.failure.kind === AGENT_BUSY) return { ...state, coldCache: null };
      return { ...state, coldCache: null, compactionFailure: { ...event.failure, at: event.at } };
    default:
      return state;
  }
}

/** The part of a state that `session.opened` alone does not tell. */
export type Resumed = Pick<EngineState, "agentIdle" | "workers" | "compactionFailure" | "emptyRange"> & {
  /** Older keyframes do not say. */
  readonly replacedFolds?: ReplacedFolds | null | undefined;
  /** Likewise */
  readonly modelFailures?: ModelFailures | undefined;
};

/** The state with what a keyframe adds to its `session.opened`. */
export function restored(
  state: EngineState,
  { agentIdle, workers, modelFailures = {}, compactionFailure, replacedFolds = null, emptyRange }: Resumed,
): EngineState {
  return { ...state, agentIdle, workers, modelFailures, compactionFailure, replacedFolds, emptyRange };
}

export function noUsage(): Usage {
  return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 };
}

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    cost: a.cost + b.cost,
  };
}

function replacedFoldsAfter(
  { replacedFolds }: EngineState,
  { folded, offered, fromExtension, at }: EngineEventOf<"compaction.finished">,
): ReplacedFolds | null {
  if (folded || !offered) return replacedFolds;
  return { count: (replacedFolds?.count ?? 0) + 1, at, by: fromExtension ? "extension" : "pi" };
}

function emptyRangeAfter(state: EngineState, event: EngineEventOf<"run.finished">): EmptyRange | null {
  const { worker, outcome, coversUpToId } = event;
  if (worker !== "observer" || outcome !== "empty" || coversUpToId === null) return state.emptyRange;
  const { branch, ledger } = state.session;
  const tokens = tokensBetween(branch, ledger.watermarks.observe, positionOf(branch, coversUpToId));
  return { upToId: coversUpToId, tokens };
}

function idleWorker(): WorkerRecord {
  return { runs: 0, requests: 0, usage: noUsage(), last: null, failure: null };
}

function afterRun(workers: EngineState["workers"], event: EngineEventOf<"run.finished">): WorkerRecord {
  const before = workers[event.worker];
  const endedWell = event.outcome === "recorded" || event.outcome === "empty";
  return {
    runs: before.runs + 1,
    requests: before.requests + event.requests,
    usage: addUsage(before.usage, event.usage),
    last: event,
    failure: event.failure ? { ...event.failure, at: event.at } : endedWell ? null : before.failure,
  };
}
