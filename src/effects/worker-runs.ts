import type { Command } from "../machines/commands.ts";
import { NOWHERE, positionOf } from "../reducers/branch.ts";
import { recordById } from "../reducers/record-index.ts";
import type { SessionState } from "../reducers/session-state.ts";
import { JOBS, type JobEnd, type LedgerEntry, NOTHING_DONE } from "./jobs.ts";
import type { World } from "./world.ts";

type StartRun = Extract<Command, { type: "startRun" }>;

/** Carries out `startRun` and `abortRun` commands; each start is answered by exactly one `run.finished` event. */
export interface WorkerRuns {
  start(command: StartRun): void;
  abort(runId: string): void;
}

export function createWorkerRuns(world: World): WorkerRuns {
  const inFlight = new Map<string, (end: JobEnd) => void>();

  function start(command: StartRun): void {
    const { runId, worker } = command;
    const startedAt = world.now();
    const controller = new AbortController();

    /** Ends the run. The first caller wins, whatever the request does afterwards. */
    function finish({ entry: _, ...end }: JobEnd): void {
      if (!inFlight.delete(runId)) return;
      controller.abort();
      world.report({ type: "run.finished", runId, worker, durationMs: world.now() - startedAt, ...end });
    }
    inFlight.set(runId, finish);
    // Started one tick later: the hook that a run starts from must not wait for its prompt to be built.
    setImmediate(() => {
      if (!inFlight.has(runId)) return;
      const covered = world.state().session.ledger.watermarks.observe;
      runJob(world, command, controller.signal).then(
        (end) => inFlight.has(runId) && finish(appendRecords(world, end, covered)),
        (error: unknown) => finish(failedEnd(error)),
      );
    });
  }

  return {
    start,
    abort: (runId) => inFlight.get(runId)?.({ ...NOTHING_DONE, outcome: "aborted" }),
  };
}

async function runJob(world: World, command: StartRun, signal: AbortSignal): Promise<JobEnd> {
  const model = world.workerModel();
  if ("problem" in model) {
    return { ...NOTHING_DONE, outcome: "failed", failure: { kind: "no-model", message: model.problem } };
  }
  return JOBS[command.worker](world, command, model.access, signal);
}

/**
 * Writes what a run recorded, unless the branch that it read has been left meanwhile. `covered` is the position of the
 * observation coverage when the run began.
 */
function appendRecords(world: World, end: JobEnd, covered: number): JobEnd {
  if (end.throughId === null || end.outcome === "failed" || end.outcome === "aborted") return end;
  try {
    world.sync();
    const { session } = world.state();
    const isStale =
      positionOf(session.branch, end.throughId) === NOWHERE ||
      (end.entry && !holdsOn(session, end.entry, covered));
    if (isStale) return { ...end, outcome: "stale", records: 0 };
    if (end.entry) world.append(end.entry.customType, end.entry.data);
    return end;
  } catch (error) {
    return { ...end, ...failedEnd(error), usage: end.usage, requests: end.requests };
  }
}

/**
 * Whether a branch that has the entry's marker also has what the entry goes on from: for observations the same
 * coverage before them, or what lies between would never be observed; for the others the observations they rest on.
 */
function holdsOn({ ledger }: SessionState, { data }: LedgerEntry, covered: number): boolean {
  const { observe } = ledger.watermarks;
  if ("observations" in data) return observe === covered;
  const ids =
    "reflections" in data
      ? data.reflections.flatMap(({ supportingObservationIds }) => supportingObservationIds)
      : data.observationIds;
  return observe >= covered && ids.every((id) => recordById(ledger.observations, id) !== undefined);
}

function failedEnd(error: unknown): JobEnd {
  const message = error instanceof Error ? error.message : String(error);
  return { ...NOTHING_DONE, outcome: "failed", failure: { kind: "other", message } };
}
