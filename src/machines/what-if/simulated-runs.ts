import { idAt, isSourceAt, NOWHERE, tokensAt } from "../../reducers/branch.ts";
import { type EngineState, noUsage } from "../../reducers/engine/engine-state.ts";
import type { EngineEventOf } from "../../reducers/engine/events.ts";
import { WORKERS, type Worker } from "../../reducers/engine/lane-names.ts";
import { observerChunk } from "../../reducers/engine/observer-chunk.ts";
import type { EntryFact } from "../../reducers/entries/entry-fact.ts";
import { isPinned } from "../../reducers/ledger/hand/hand.ts";
import { activeObservations, maximumDrops } from "../../reducers/ledger/pool.ts";
import { RELEVANCES } from "../../reducers/ledger/records.ts";
import { observerChunkBudget } from "../../reducers/settings.ts";
import type { Command } from "../commands.ts";
import { type Price, readBy, unitsOf, type Workload } from "./workload.ts";

export type StartRun = Extract<Command, { type: "startRun" }>;

/** How a modelled run ends. */
export interface ModelledRun {
  finished: Omit<EngineEventOf<"run.finished">, "v" | "seq" | "at">;
  /** The ledger entry that it appends, if it records something. */
  fact?: EntryFact;
}

/** Makes up the runs of a schedule that nobody recorded. The same starts in the same order give the same runs. */
export interface RunMaker {
  make(command: StartRun, state: EngineState): ModelledRun;
  /** A run that left no trace: it is taken for one that found nothing. */
  makeEmpty(command: StartRun, state: EngineState): ModelledRun;
  /** An id that no entry of a session has. */
  nextEntryId(): string;
}

export function createRunMaker(model: Workload, price: Price | undefined): RunMaker {
  /** What is left of records and of empty runs when both are whole numbers. */
  const carry = Object.fromEntries(WORKERS.map((worker) => [worker, { records: 0, empty: 0 }])) as Record<
    Worker,
    { records: number; empty: number }
  >;
  let entries = 0;
  let records = 0;

  function endOf(
    command: StartRun,
    state: EngineState,
    scope: Scope,
    count: number,
  ): ModelledRun["finished"] {
    const { worker, runId } = command;
    const { durationMs, overheadPerRequest, outputPerRequest, ...mean } = model[worker];
    const requests = Math.max(1, Math.round(mean.requests));
    const input = Math.round(requests * (overheadPerRequest + readBy(worker, state, scope.sourceTokens)));
    const output = Math.round(requests * outputPerRequest);
    const cost = price ? (input * price.input + output * price.output) / 1_000_000 : 0;
    return {
      type: "run.finished",
      runId,
      worker,
      outcome: count === 0 ? "empty" : "recorded",
      coversUpToId: scope.coversUpToId,
      records: count,
      rejected: 0,
      requests,
      sourceTokens: scope.sourceTokens,
      durationMs: Math.round(durationMs),
      usage: { ...noUsage(), input, output, cost },
    };
  }

  function countOf({ worker }: StartRun, state: EngineState, { sourceTokens }: Scope): number {
    const { emptyShare, recordsPerUnit } = model[worker];
    const left = carry[worker];
    left.empty += emptyShare;
    if (left.empty >= 1) {
      left.empty--;
      return 0;
    }
    // Runs that record make up for those that record nothing.
    left.records += (unitsOf(worker, state, sourceTokens) * recordsPerUnit) / Math.max(0.01, 1 - emptyShare);
    const count = Math.floor(left.records + 1e-9);
    left.records -= count;
    return worker === "dropper" ? Math.min(count, maximumDrops(state.session.ledger, state.settings)) : count;
  }

  function recordIds(count: number): string[] {
    return Array.from({ length: count }, () => modelId(++records));
  }

  function factOf(worker: Worker, scope: Scope, count: number, state: EngineState): EntryFact {
    const base = { id: nextEntryId(), kind: "ledger", tokens: 0 } as const;
    const coversUpToId = scope.coversUpToId ?? "";
    const tokens = model[worker].tokensPerRecord;
    if (worker === "observer") {
      const stride = scope.sourceIds.length / count;
      const entries = recordIds(count).map((id, index) => {
        const source = scope.sourceIds[Math.floor(index * stride)] ?? coversUpToId;
        return { id, tokens, relevance: "medium" as const, sources: [source], index };
      });
      return { ...base, ledger: { type: "observations", coversUpToId, records: entries } };
    }
    if (worker === "reflector") {
      const entries = recordIds(count).map((id, index) => ({ id, tokens, supports: [], index }));
      return { ...base, ledger: { type: "reflections", coversUpToId, records: entries } };
    }
    return { ...base, ledger: { type: "drops", coversUpToId, observationIds: leastRelevant(state, count) } };
  }

  function nextEntryId(): string {
    return `modelled-${++entries}`;
  }

  return {
    nextEntryId,
    make(command, state) {
      const scope = scopeOf(command, state);
      if (scope.coversUpToId === null) return { finished: nothingToDo(endOf(command, state, scope, 0)) };
      const count = countOf(command, state, scope);
      const finished = endOf(command, state, scope, count);
      return count === 0 ? { finished } : { finished, fact: factOf(command.worker, scope, count, state) };
    },
    makeEmpty(command, state) {
      return { finished: endOf(command, state, scopeOf(command, state), 0) };
    },
  };
}

/** What a run reads. */
interface Scope {
  coversUpToId: string | null;
  sourceIds: string[];
  sourceTokens: number;
}

const NO_SCOPE: Scope = { coversUpToId: null, sourceIds: [], sourceTokens: 0 };

function scopeOf(command: StartRun, state: EngineState): Scope {
  const { worker } = command;
  const { session, settings, contextWindow } = state;
  const { branch, ledger } = session;
  if (worker !== "observer") {
    const { observe } = ledger.watermarks;
    if (observe === NOWHERE || ledger.counts.active === 0) return NO_SCOPE;
    if (worker === "dropper" && maximumDrops(ledger, settings) === 0) return NO_SCOPE;
    return { ...NO_SCOPE, coversUpToId: idAt(branch, observe) ?? null };
  }
  const whole = observerChunkBudget(settings, contextWindow);
  const { start, maxTokens } = observerChunk(state, command, whole);
  const scope: Scope = { coversUpToId: null, sourceIds: [], sourceTokens: 0 };
  for (let at = start; at !== NOWHERE && at < branch.length; at++) {
    if (!isSourceAt(branch, at)) continue;
    const tokens = tokensAt(branch, at);
    if (scope.sourceIds.length > 0 && scope.sourceTokens + tokens > maxTokens) break;
    const id = idAt(branch, at) ?? "";
    scope.sourceIds.push(id);
    scope.sourceTokens += tokens;
    scope.coversUpToId = id;
  }
  return scope;
}

/** Without anything to read, no request is made. */
function nothingToDo(finished: ModelledRun["finished"]): ModelledRun["finished"] {
  return { ...finished, requests: 0, durationMs: 0, usage: noUsage() };
}

function leastRelevant({ session }: EngineState, count: number): string[] {
  const { ledger } = session;
  return activeObservations(ledger)
    .filter(({ id }) => !isPinned(ledger.hand, id))
    .toSorted((a, b) => RELEVANCES.indexOf(a.relevance) - RELEVANCES.indexOf(b.relevance))
    .slice(0, count)
    .map(({ id }) => id);
}

/** Twelve hex digits, as different from the next one's as a hash is. */
function modelId(n: number): string {
  const half = (factor: number) => (Math.imul(n, factor) >>> 0).toString(16).padStart(8, "0");
  return (half(0x9e3779b1) + half(0x85ebca6b)).slice(0, 12);
}
