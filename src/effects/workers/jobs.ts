import { map, type Observable, of } from "rxjs";
import type { Command } from "../../machines/commands.ts";
import { idAt, NOWHERE, positionOf, tokensAt } from "../../reducers/branch.ts";
import { noUsage } from "../../reducers/engine/engine-state.ts";
import type { RunResult } from "../../reducers/engine/events.ts";
import { observerChunk } from "../../reducers/engine/observer-chunk.ts";
import { type EntryLike, timeOf } from "../../reducers/entries/entry.ts";
import { renderSources } from "../../reducers/entries/sources.ts";
import { isPinned } from "../../reducers/ledger/hand/hand.ts";
import { memoryStatus } from "../../reducers/ledger/ledger.ts";
import { activeObservations, coverageTiers, maximumDrops } from "../../reducers/ledger/pool.ts";
import { resolveSelection, selectFull } from "../../reducers/ledger/projections.ts";
import {
  type CostRecorded,
  OBSERVATIONS_DROPPED,
  OBSERVATIONS_RECORDED,
  type ObservationsDropped,
  type ObservationsRecorded,
  REFLECTIONS_DROPPED,
  REFLECTIONS_RECORDED,
  type ReflectionsDropped,
  type ReflectionsRecorded,
} from "../../reducers/ledger/records.ts";
import { redacted } from "../../reducers/redact.ts";
import { observerChunkBudget, poolTarget } from "../../reducers/settings.ts";
import type { LiveSession } from "../live-session.ts";
import { runDropper } from "./dropper.ts";
import type { WorkerFailure } from "./model/failure.ts";
import { type ModelAccess, outputBudget, type WorkerLimits } from "./model/request.ts";
import { thinkingFor } from "./model/thinking.ts";
import { largestChunk, runObserver } from "./observer.ts";
import type { PoolInput } from "./pool-slices.ts";
import { runReflector } from "./reflector.ts";
import type { Clean } from "./tools/worker-tools.ts";
import type { WorkerResult } from "./worker-result.ts";

type StartRun = Extract<Command, { type: "startRun" }>;

/** What a run recorded, to be appended to the session. */
export interface LedgerEntry {
  customType: string;
  data: ObservationsRecorded | ReflectionsRecorded | ObservationsDropped | ReflectionsDropped;
}

/** A run's result before it is told: with the ledger entries to append, in order, if it recorded. */
export type JobResult = Omit<RunResult, "failure"> & {
  failure?: WorkerFailure;
  entries?: readonly LedgerEntry[];
  /** What was paid for, whatever became of the records */
  paid?: CostRecorded;
  /** Tokens of the last request; see `Spend` */
  asked?: number;
};

/** Gathers what a worker reads, runs it within `timeoutMs`, and emits its result, once. It appends nothing itself. */
export type Job = (
  session: LiveSession,
  command: StartRun,
  access: ModelAccess,
  timeoutMs: number,
) => Observable<JobResult>;

/** A result where nothing was done. */
export const NOTHING_DONE: Omit<JobResult, "outcome"> = {
  coversUpToId: null,
  records: 0,
  rejected: 0,
  requests: 0,
  sourceTokens: 0,
  usage: noUsage(),
};

const NOTHING_TO_READ: JobResult = { ...NOTHING_DONE, outcome: "empty" };

const observe: Job = (session, command, access, timeoutMs) => {
  const state = session.state();
  const { branch, ledger } = state.session;
  const limits = limitsFor(session, access, timeoutMs);
  const largest = largestChunk(access, limits);
  const whole = Math.min(largest, observerChunkBudget(state.settings, access.model.contextWindow));
  const { start, maxTokens } = observerChunk(state, command, whole);
  // Entries behind the chunk are passed too: a context edit among them may take one of its entries back.
  const chunk = renderSources(start === NOWHERE ? [] : entriesFrom(session, start), { maxTokens });
  const coversUpToId = chunk.sourceEntryIds.at(-1);
  if (coversUpToId === undefined) return of(NOTHING_TO_READ);
  const prior = resolveSelection(selectFull(ledger), branch, session.lookup);
  const tokens = chunk.sourceEntryIds.map((id) => tokensAt(branch, positionOf(branch, id)));
  const sourceTokens = tokens.reduce((sum, one) => sum + one, 0);
  return runObserver(
    {
      chunk: chunk.text,
      sources: new Map(chunk.sourceEntryIds.map((id) => [id, timeOfId(session, id)])),
      statusOf: (id) => memoryStatus(ledger, "observations", id),
      priorObservations: prior.observations,
      priorReflections: prior.reflections,
      priorShare: 1 / 2 ** command.failures,
      largestChunk: whole,
      ...cleaning(session),
    },
    access,
    limits,
  ).pipe(
    map((result) =>
      jobResult(
        result,
        coversUpToId,
        sourceTokens,
        { customType: OBSERVATIONS_RECORDED, data: { observations: result.records, coversUpToId } },
        ...superseded(result.replaced, coversUpToId),
      ),
    ),
  );
};

const reflect: Job = (session, _command, access, timeoutMs) => {
  const { input, reflected, coversUpToId } = poolOf(session);
  if (coversUpToId === undefined || input.observations.length === 0) return of(NOTHING_TO_READ);
  const { ledger } = session.state().session;
  const statusOf = (id: string) => memoryStatus(ledger, "reflections", id);
  const read = { ...input, reflected, statusOf, ...cleaning(session) };
  return runReflector(read, access, limitsFor(session, access, timeoutMs)).pipe(
    map((result) =>
      jobResult(
        result,
        coversUpToId,
        0,
        { customType: REFLECTIONS_RECORDED, data: { reflections: result.records, coversUpToId } },
        ...replacedReflections(result.replaced, coversUpToId),
      ),
    ),
  );
};

const drop: Job = (session, _command, access, timeoutMs) => {
  const { input, coversUpToId } = poolOf(session);
  const { session: memory, settings } = session.state();
  const maximum = maximumDrops(memory.ledger, settings);
  if (coversUpToId === undefined || maximum === 0) return of(NOTHING_TO_READ);
  const { hand } = memory.ledger;
  const pool = {
    ...input,
    observations: input.observations.filter(({ id }) => !isPinned(hand, id)),
    maximum,
    poolTokens: memory.ledger.activeTokens,
    targetTokens: poolTarget(settings),
  };
  return runDropper(pool, access, limitsFor(session, access, timeoutMs)).pipe(
    map((result) =>
      jobResult(result, coversUpToId, 0, {
        customType: OBSERVATIONS_DROPPED,
        data: { observationIds: result.records, coversUpToId },
      }),
    ),
  );
};

/** The drops of what new observations supersede, written after them: were only they written, nothing would be lost. */
function superseded(replaced: ReadonlyMap<string, string>, coversUpToId: string): LedgerEntry[] {
  if (replaced.size === 0) return [];
  const observationIds = [...replaced.keys()];
  const supersededBy = Object.fromEntries(replaced);
  const data: ObservationsDropped = { observationIds, coversUpToId, reason: "superseded", supersededBy };
  return [{ customType: OBSERVATIONS_DROPPED, data }];
}

/** The same for reflections, an entry for each new one: other readers of this type know one replacement to an entry. */
function replacedReflections(replaced: ReadonlyMap<string, string>, coversUpToId: string): LedgerEntry[] {
  return [...new Set(replaced.values())].map((replacedBy) => {
    const reflectionIds = [...replaced.keys()].filter((id) => replaced.get(id) === replacedBy);
    const data: ReflectionsDropped = { reflectionIds, replacedBy, kind: "replaced", coversUpToId };
    return { customType: REFLECTIONS_DROPPED, data };
  });
}

export const JOBS: Readonly<Record<StartRun["worker"], Job>> = {
  observer: observe,
  reflector: reflect,
  dropper: drop,
};

/** Active memory as the reflector and the dropper read it; its watermark is that of the observations. */
function poolOf(session: LiveSession): {
  input: PoolInput;
  /** How many of the observations a reflection takes into account already */
  reflected: number;
  coversUpToId: string | undefined;
} {
  const { branch, ledger } = session.state().session;
  const { observations, reflections } = resolveSelection(selectFull(ledger), branch, session.lookup);
  const { observe, reflect } = ledger.watermarks;
  return {
    input: { observations, reflections, coverage: coverageTiers(ledger) },
    reflected: activeObservations(ledger).filter(({ watermark }) => watermark <= reflect).length,
    coversUpToId: observe === NOWHERE ? undefined : idAt(branch, observe),
  };
}

/** What a worker reads comes from `session.lookup`, which leaves secrets out; this is for what it says. */
function cleaning(session: LiveSession): { clean?: Clean } {
  return session.state().settings.redactSecrets ? { clean: (line) => redacted(line) } : {};
}

function limitsFor(session: LiveSession, access: ModelAccess, timeoutMs: number): WorkerLimits {
  const { settings } = session.state();
  return {
    maxTurns: settings.agentMaxTurns,
    maxTokens: outputBudget(access.model, settings.agentMaxTokens),
    thinking: thinkingFor(access.model, access.thinking),
    timeoutMs,
  };
}

function jobResult<T>(
  result: WorkerResult<T>,
  coversUpToId: string,
  sourceTokens: number,
  ...entries: LedgerEntry[]
): JobResult {
  return {
    outcome: result.outcome,
    coversUpToId,
    records: result.records.length,
    rejected: result.rejected,
    requests: result.requests,
    sourceTokens,
    usage: result.usage,
    requestTimes: result.requestTimes,
    asked: result.asked,
    ...(result.failure && { failure: result.failure }),
    ...(result.outcome === "recorded" && { entries }),
  };
}

function entriesFrom(session: LiveSession, start: number): EntryLike[] {
  const { branch } = session.state().session;
  const entries: EntryLike[] = [];
  for (let at = start; at < branch.length; at++) {
    const entry = session.lookup(idAt(branch, at) ?? "");
    if (entry) entries.push(entry);
  }
  return entries;
}

function timeOfId(session: LiveSession, id: string): number {
  const entry = session.lookup(id);
  return entry ? timeOf(entry) : 0;
}
