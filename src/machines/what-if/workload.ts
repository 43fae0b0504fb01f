import { tokensThrough } from "../../reducers/branch.ts";
import { addUsage, type EngineState, noUsage } from "../../reducers/engine/engine-state.ts";
import type { EngineEventOf, Usage } from "../../reducers/engine/events.ts";
import { WORKERS, type Worker } from "../../reducers/engine/lane-names.ts";
import type { LedgerFact } from "../../reducers/entries/entry-fact.ts";
import { maximumDrops } from "../../reducers/ledger/pool.ts";
import { KEEP_RECENT_TOKENS } from "../../reducers/ledger/proposed-cut.ts";
import { clocksOfSession } from "../../reducers/session.ts";
import type { Step } from "../engine.ts";

/** How one worker's runs go on average. */
export interface RunModel {
  /** Recorded runs that it was measured on; 0 when it is the default. */
  measuredRuns: number;
  /** Share of runs that deliberately record nothing */
  emptyShare: number;
  /** Observer and reflector: records per source token that is newly covered. Dropper: per drop that is allowed. */
  recordsPerUnit: number;
  /** Estimated tokens of one record */
  tokensPerRecord: number;
  durationMs: number;
  requests: number;
  /** Input tokens of one request besides what the worker reads: prompt, tools, its own earlier answers. */
  overheadPerRequest: number;
  outputPerRequest: number;
}

export interface Workload extends Readonly<Record<Worker, RunModel>> {
  /** Source tokens that Pi keeps verbatim when it compacts */
  readonly keepTokens: number;
  /** Whether that was measured */
  readonly keepIsMeasured: boolean;
}

/** USD per million tokens */
export interface Price {
  input: number;
  output: number;
}

/**
 * What is assumed of a worker whose runs nobody recorded: a record for each few hundred source tokens, a run of one
 * request in some ten seconds. Orders of magnitude, from runs with mid-sized models.
 */
export const DEFAULT_MODEL: Workload = {
  observer: {
    measuredRuns: 0,
    emptyShare: 0,
    recordsPerUnit: 1 / 800,
    tokensPerRecord: 35,
    durationMs: 15_000,
    requests: 1,
    overheadPerRequest: 1500,
    outputPerRequest: 1000,
  },
  reflector: {
    measuredRuns: 0,
    emptyShare: 0,
    recordsPerUnit: 1 / 5000,
    tokensPerRecord: 45,
    durationMs: 15_000,
    requests: 1,
    overheadPerRequest: 1500,
    outputPerRequest: 800,
  },
  dropper: {
    measuredRuns: 0,
    emptyShare: 0,
    recordsPerUnit: 1,
    tokensPerRecord: 0,
    durationMs: 8_000,
    requests: 1,
    overheadPerRequest: 1500,
    outputPerRequest: 400,
  },
  keepTokens: KEEP_RECENT_TOKENS,
  keepIsMeasured: false,
};

/** Measures how the workers of a recording do. */
export interface RunStatistics {
  take(step: Step): void;
  model(): Workload;
  /** What the recorded model costs, going by the recorded spend; undefined when that says nothing. */
  price(): Price | undefined;
}

interface Tally {
  runs: number;
  empty: number;
  units: number;
  records: number;
  recordTokens: number;
  durationMs: number;
  requests: number;
  overhead: number;
  output: number;
  /** Of broken runs too */
  usage: Usage;
}

export function createRunStatistics(): RunStatistics {
  const tallies: Record<Worker, Tally> = { observer: newTally(), reflector: newTally(), dropper: newTally() };
  const started = new Map<string, EngineState>();
  let keepTokens: number | undefined;

  function finish(event: EngineEventOf<"run.finished">): void {
    const before = started.get(event.runId);
    started.delete(event.runId);
    const { usage } = event;
    const tally = tallies[event.worker];
    tally.usage = addUsage(tally.usage, usage);
    // A broken run says little about a whole one.
    if (!before || (event.outcome !== "recorded" && event.outcome !== "empty")) return;
    tally.runs++;
    if (event.outcome === "empty") tally.empty++;
    tally.units += unitsOf(event.worker, before, event.sourceTokens);
    tally.records += event.records;
    tally.durationMs += event.durationMs;
    tally.requests += event.requests;
    tally.output += usage.output;
    const sent = usage.input + usage.cacheRead + usage.cacheWrite;
    tally.overhead += sent - event.requests * readBy(event.worker, before, event.sourceTokens);
  }

  return {
    take({ event, state, commands }) {
      if (event.type === "branch.extended") {
        for (const { ledger } of event.entries)
          if (ledger) tallies[workerOf(ledger)].recordTokens += tokensOf(ledger);
      }
      if (event.type === "run.finished") finish(event);
      if (event.type === "compaction.finished") {
        const { compact, sinceCompaction } = clocksOfSession(state.session);
        // Some keep more than Pi proposed, for what nobody had observed.
        keepTokens = Math.min(keepTokens ?? Infinity, compact - sinceCompaction);
      }
      for (const command of commands) if (command.type === "startRun") started.set(command.runId, state);
    },
    model: () => ({
      observer: modelOf(tallies.observer, DEFAULT_MODEL.observer),
      reflector: modelOf(tallies.reflector, DEFAULT_MODEL.reflector),
      dropper: modelOf(tallies.dropper, DEFAULT_MODEL.dropper),
      keepTokens: keepTokens ?? KEEP_RECENT_TOKENS,
      keepIsMeasured: keepTokens !== undefined,
    }),
    price: () => priceOf(WORKERS.map((worker) => tallies[worker].usage).reduce(addUsage, noUsage())),
  };
}

/** Runs of a worker from which on their mean says something about sessions of any size */
export const ENOUGH_RUNS = 10;

/**
 * A model for sessions other than the one that was measured: of a worker with too few runs the defaults are taken, and
 * with too few runs of the observer, what a compaction keeps, too. `measuredRuns` stays what it was.
 */
export function generalModel(measured: Workload): Workload {
  const of = (worker: Worker): RunModel =>
    measured[worker].measuredRuns >= ENOUGH_RUNS
      ? measured[worker]
      : { ...DEFAULT_MODEL[worker], measuredRuns: measured[worker].measuredRuns };
  const { keepTokens, keepIsMeasured } =
    measured.observer.measuredRuns >= ENOUGH_RUNS ? measured : DEFAULT_MODEL;
  const workers = { observer: of("observer"), reflector: of("reflector"), dropper: of("dropper") };
  return { ...workers, keepTokens, keepIsMeasured };
}

/** Which worker writes such a ledger entry. */
export function workerOf(ledger: LedgerFact): Worker {
  if (ledger.type === "observations") return "observer";
  if (ledger.type === "reflections" || ledger.reflectionIds) return "reflector";
  return ledger.replacedBy ? "observer" : "dropper";
}

/** What a worker's records are counted per, given the state in which its run starts. */
export function unitsOf(worker: Worker, { session, settings }: EngineState, sourceTokens: number): number {
  const { branch, ledger } = session;
  if (worker === "observer") return sourceTokens;
  if (worker === "dropper") return maximumDrops(ledger, settings);
  const { observe, reflect } = ledger.watermarks;
  return Math.max(0, tokensThrough(branch, observe) - tokensThrough(branch, reflect));
}

/** Tokens that one request of a worker shows to the model: its part of the conversation, and memory. */
export function readBy(worker: Worker, { session }: EngineState, sourceTokens: number): number {
  const memory = session.ledger.activeTokens + session.ledger.reflectionTokens;
  return worker === "observer" ? sourceTokens + memory : memory;
}

function newTally(): Tally {
  return {
    runs: 0,
    empty: 0,
    units: 0,
    records: 0,
    recordTokens: 0,
    durationMs: 0,
    requests: 0,
    overhead: 0,
    output: 0,
    usage: noUsage(),
  };
}

function modelOf(tally: Tally, otherwise: RunModel): RunModel {
  const { runs, empty, units, records, requests } = tally;
  if (runs === 0) return otherwise;
  return {
    measuredRuns: runs,
    emptyShare: empty / runs,
    recordsPerUnit: units === 0 ? otherwise.recordsPerUnit : records / units,
    tokensPerRecord: records === 0 ? otherwise.tokensPerRecord : tally.recordTokens / records,
    durationMs: tally.durationMs / runs,
    requests: requests / runs,
    overheadPerRequest:
      requests === 0 ? otherwise.overheadPerRequest : Math.max(0, tally.overhead / requests),
    outputPerRequest: requests === 0 ? otherwise.outputPerRequest : tally.output / requests,
  };
}

function tokensOf(ledger: LedgerFact): number {
  return ledger.type === "drops" ? 0 : ledger.records.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** What most providers charge, in shares of the price of an input token. */
const OUTPUT_SHARE = 5;
const CACHE_READ_SHARE = 0.1;
const CACHE_WRITE_SHARE = 1.25;
const MILLION = 1_000_000;

function priceOf({ input, output, cacheRead, cacheWrite, cost }: Usage): Price | undefined {
  const weighted =
    input + cacheRead * CACHE_READ_SHARE + cacheWrite * CACHE_WRITE_SHARE + output * OUTPUT_SHARE;
  if (cost <= 0 || weighted <= 0) return undefined;
  const perToken = cost / weighted;
  return { input: perToken * MILLION, output: perToken * OUTPUT_SHARE * MILLION };
}
