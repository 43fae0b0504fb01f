import type { Command } from "../machines/commands.ts";
import { noUsage } from "../machines/engine-state.ts";
import type { EngineEventOf } from "../machines/events.ts";
import { NOWHERE, positionOf } from "../reducers/branch.ts";
import { runDropperJob, runObserverJob, runReflectorJob } from "./jobs.ts";
import type { Job, JobEnd } from "./jobs.ts";
import type { World } from "./world.ts";

type StartRun = Extract<Command, { type: "startRun" }>;

/** Carries out `startRun` and `abortRun` commands; each start is answered by exactly one `run.finished` event. */
export interface WorkerRuns {
  start(command: StartRun): void;
  abort(runId: string): void;
}

const JOBS: Record<StartRun["worker"], Job> = {
  observer: runObserverJob,
  reflector: runReflectorJob,
  dropper: runDropperJob,
};

export function createWorkerRuns(world: World): WorkerRuns {
  const inFlight = new Map<string, (end: JobEnd) => void>();

  function start(command: StartRun): void {
    const startedAt = world.now();
    const controller = new AbortController();

    /** Ends the run: the first caller wins, whatever the request does afterwards. */
    function finish(end: JobEnd): void {
      if (!inFlight.delete(command.runId)) return;
      controller.abort();
      world.report(resultEvent(command, end, world.now() - startedAt));
    }
    inFlight.set(command.runId, finish);

    Promise.resolve()
      .then(() => JOBS[command.worker](world, command, controller.signal))
      .then(
        (end) => {
          if (inFlight.has(command.runId)) finish(settle(world, end));
        },
        (error: unknown) => finish(failedEnd(error)),
      );
  }

  return {
    start,
    abort: (runId) => inFlight.get(runId)?.({ ...NOTHING_DONE, outcome: "aborted" }),
  };
}

/** A run that did nothing, for the outcomes that need no more to be said. */
export const NOTHING_DONE: Omit<JobEnd, "outcome"> = {
  throughId: null,
  records: 0,
  rejected: 0,
  requests: 0,
  sourceTokens: 0,
  usage: noUsage(),
};

/** Writes what a run recorded, unless the branch it read has been left meanwhile. */
function settle(world: World, end: JobEnd): JobEnd {
  if (end.outcome !== "recorded" || !end.entry) return end;
  if (!world.isOpen()) return { ...end, outcome: "stale", records: 0 };
  world.sync();
  const { branch } = world.state().session;
  if (positionOf(branch, end.entry.data.coversUpToId) === NOWHERE) return { ...end, outcome: "stale", records: 0 };
  try {
    world.append(end.entry.customType, end.entry.data);
    return end;
  } catch (error) {
    return { ...failedEnd(error), usage: end.usage, requests: end.requests };
  }
}

function failedEnd(error: unknown): JobEnd {
  const message = error instanceof Error ? error.message : String(error);
  return { ...NOTHING_DONE, outcome: "failed", failure: { kind: "other", message } };
}

function resultEvent(
  { runId, worker }: StartRun,
  { entry: _, ...end }: JobEnd,
  durationMs: number,
): Omit<EngineEventOf<"run.finished">, "v" | "seq" | "at"> {
  return { type: "run.finished", runId, worker, durationMs, ...end };
}
