import type { Command } from "../../machines/commands.ts";
import { idAt, NOWHERE, positionOf, tokensAt } from "../../reducers/branch.ts";
import { noUsage } from "../../reducers/engine/engine-state.ts";
import type { EngineEventOf } from "../../reducers/engine/events.ts";
import { type EntryLike, timeOf } from "../../reducers/entries/entry.ts";
import { renderSources } from "../../reducers/entries/sources.ts";
import { activeObservations, coverageTiers, maximumDrops } from "../../reducers/ledger/pool.ts";
import { resolveSelection, selectFull } from "../../reducers/ledger/projections.ts";
import {
  OBSERVATIONS_DROPPED,
  OBSERVATIONS_RECORDED,
  type ObservationsDropped,
  type ObservationsRecorded,
  REFLECTIONS_RECORDED,
  type ReflectionsRecorded,
} from "../../reducers/ledger/records.ts";
import { firstUnobserved } from "../../reducers/session.ts";
import { observerChunkBudget, poolTarget } from "../../reducers/settings.ts";
import type { World } from "../live-session.ts";
import { runDropper } from "./dropper.ts";
import { largestChunk, runObserver } from "./observer.ts";
import type { PoolInput } from "./pool-slices.ts";
import { runReflector } from "./reflector.ts";
import { type ModelAccess, outputBudget, type WorkerLimits } from "./worker-loop.ts";
import type { WorkerResult } from "./worker-result.ts";

type StartRun = Extract<Command, { type: "startRun" }>;

/** What is to be appended to the session. */
export interface LedgerEntry {
  customType: string;
  data: ObservationsRecorded | ReflectionsRecorded | ObservationsDropped;
}

/** How a job ended: the facts of a `run.finished` event, and the ledger entry to append if it recorded. */
export type JobEnd = Omit<
  EngineEventOf<"run.finished">,
  "v" | "seq" | "at" | "type" | "runId" | "worker" | "durationMs"
> & {
  entry?: LedgerEntry;
  /** Tokens of the last request; see `WorkerReport` */
  asked?: number;
};

/** Gathers what a worker reads, runs it, and says how it ended. It appends nothing itself. */
export type Job = (
  world: World,
  command: StartRun,
  access: ModelAccess,
  signal: AbortSignal,
) => Promise<JobEnd>;

/** An end at which nothing was done. */
export const NOTHING_DONE: Omit<JobEnd, "outcome"> = {
  coversUpToId: null,
  records: 0,
  rejected: 0,
  requests: 0,
  sourceTokens: 0,
  usage: noUsage(),
};

const SMALLEST_CHUNK = 500;

const observe: Job = async (world, command, access, signal) => {
  const { session, settings } = world.state();
  const limits = limitsFor(world, access, signal);
  const largest = largestChunk(access.model, limits);
  const whole = Math.min(largest, observerChunkBudget(settings, access.model.contextWindow));
  // Each failure in a row halves chunk and prior memory: where the prompt was too long, or the reply, that mends itself.
  const share = 1 / 2 ** command.failures;
  const budget = Math.max(Math.min(whole, SMALLEST_CHUNK), Math.floor(whole * share));
  const start = firstUnobserved(session, budget, command.emptyUpToId);
  // Entries behind the chunk are passed too: a context edit among them may take one of its entries back.
  const chunk = renderSources(start === NOWHERE ? [] : entriesFrom(world, start), { maxTokens: budget });
  const coversUpToId = chunk.sourceEntryIds.at(-1);
  if (coversUpToId === undefined) return { ...NOTHING_DONE, outcome: "empty" };
  const { branch, ledger } = session;
  const prior = resolveSelection(selectFull(ledger), branch, world.lookup);
  const result = await runObserver(
    {
      chunk: chunk.text,
      sources: new Map(chunk.sourceEntryIds.map((id) => [id, timeOfId(world, id)])),
      isKnown: (id) => ledger.observations.has(id),
      priorObservations: prior.observations,
      priorReflections: prior.reflections,
      priorShare: share,
      now: world.now(),
    },
    access,
    limits,
  );
  const sourceTokens = chunk.sourceEntryIds.reduce(
    (sum, id) => sum + tokensAt(branch, positionOf(branch, id)),
    0,
  );
  return endOf(result, coversUpToId, sourceTokens, {
    customType: OBSERVATIONS_RECORDED,
    data: { observations: result.records, coversUpToId },
  });
};

const reflect: Job = async (world, _command, access, signal) => {
  const { input, reflected, coversUpToId } = poolOf(world);
  if (coversUpToId === undefined || input.observations.length === 0)
    return { ...NOTHING_DONE, outcome: "empty" };
  const result = await runReflector({ ...input, reflected }, access, limitsFor(world, access, signal));
  return endOf(result, coversUpToId, 0, {
    customType: REFLECTIONS_RECORDED,
    data: { reflections: result.records, coversUpToId },
  });
};

const drop: Job = async (world, _command, access, signal) => {
  const { input, coversUpToId } = poolOf(world);
  const { session, settings } = world.state();
  const maximum = maximumDrops(session.ledger, settings);
  if (coversUpToId === undefined || maximum === 0) return { ...NOTHING_DONE, outcome: "empty" };
  const result = await runDropper(
    {
      ...input,
      maximum,
      poolTokens: session.ledger.activeTokens,
      targetTokens: poolTarget(settings),
      now: world.now(),
    },
    access,
    limitsFor(world, access, signal),
  );
  return endOf(result, coversUpToId, 0, {
    customType: OBSERVATIONS_DROPPED,
    data: { observationIds: result.records, coversUpToId },
  });
};

export const JOBS: Readonly<Record<StartRun["worker"], Job>> = {
  observer: observe,
  reflector: reflect,
  dropper: drop,
};

/** Active memory as the reflector and the dropper read it; it is covered as far as the observations are. */
function poolOf(world: World): {
  input: PoolInput;
  /** How many of the observations a reflection takes into account already */
  reflected: number;
  coversUpToId: string | undefined;
} {
  const { branch, ledger } = world.state().session;
  const { observations, reflections } = resolveSelection(selectFull(ledger), branch, world.lookup);
  const { observe, reflect } = ledger.watermarks;
  return {
    input: { observations, reflections, coverage: coverageTiers(ledger) },
    reflected: activeObservations(ledger).filter(({ watermark }) => watermark <= reflect).length,
    coversUpToId: observe === NOWHERE ? undefined : idAt(branch, observe),
  };
}

function limitsFor(world: World, access: ModelAccess, signal: AbortSignal): WorkerLimits {
  const { settings } = world.state();
  return {
    maxTurns: settings.agentMaxTurns,
    maxTokens: outputBudget(access.model, settings.agentMaxTokens),
    timeoutMs: settings.workerTimeoutMs,
    signal,
  };
}

function endOf<T>(
  result: WorkerResult<T>,
  coversUpToId: string,
  sourceTokens: number,
  entry: LedgerEntry,
): JobEnd {
  return {
    outcome: result.outcome,
    coversUpToId,
    records: result.records.length,
    rejected: result.rejected,
    requests: result.report.requests,
    sourceTokens,
    usage: result.report.usage,
    asked: result.report.asked,
    ...(result.failure && { failure: result.failure }),
    ...(result.outcome === "recorded" && { entry }),
  };
}

function entriesFrom(world: World, start: number): EntryLike[] {
  const { branch } = world.state().session;
  const entries: EntryLike[] = [];
  for (let at = start; at < branch.length; at++) {
    const entry = world.lookup(idAt(branch, at) ?? "");
    if (entry) entries.push(entry);
  }
  return entries;
}

function timeOfId(world: World, id: string): number {
  const entry = world.lookup(id);
  return entry ? timeOf(entry) : 0;
}
