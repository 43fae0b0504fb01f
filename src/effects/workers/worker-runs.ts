import type { Command } from "../../machines/commands.ts";
import { type Branch, isSourceAt, NOWHERE, positionOf } from "../../reducers/branch.ts";
import type { SessionState } from "../../reducers/session.ts";
import type { World } from "../live-session.ts";
import { JOBS, type JobEnd, type LedgerEntry, NOTHING_DONE } from "./jobs.ts";
import { createLearntWindows, type LearntWindows } from "./learnt-windows.ts";

type StartRun = Extract<Command, { type: "startRun" }>;

/** Carries out `startRun` and `abortRun` commands; each start is answered by exactly one `run.finished` event. */
export interface WorkerRuns {
  start(command: StartRun): void;
  abort(runId: string): void;
}

export function createWorkerRuns(world: World): WorkerRuns {
  const windows = createLearntWindows();
  /** What the observer read when it found nothing */
  let foundEmpty: SessionState | undefined;
  const inFlight = new Map<string, (end: JobEnd) => void>();

  function start(command: StartRun): void {
    const { runId, worker } = command;
    const startedAt = world.now();
    const controller = new AbortController();

    /** Ends the run. The first caller wins, whatever the request does afterwards. */
    function finish({ entry: _, asked: __, ...end }: JobEnd): void {
      if (!inFlight.delete(runId)) return;
      controller.abort();
      world.report({ type: "run.finished", runId, worker, durationMs: world.now() - startedAt, ...end });
    }
    inFlight.set(runId, finish);
    // Started one tick later: the hook that a run starts from must not wait for its prompt to be built.
    setImmediate(() => {
      if (!inFlight.has(runId)) return;
      const { session } = world.state();
      const asked = isJudgedAnew(session, command, foundEmpty) ? { ...command, emptyUpToId: null } : command;
      runJob(world, asked, windows, controller.signal).then(
        (end) => {
          if (!inFlight.has(runId)) return;
          if (worker === "observer" && end.outcome === "empty") foundEmpty = session;
          finish(appendRecords(world, end, session));
        },
        (error: unknown) => finish(failedEnd(error)),
      );
    });
  }

  return {
    start,
    abort: (runId) => inFlight.get(runId)?.({ ...NOTHING_DONE, outcome: "aborted" }),
  };
}

async function runJob(
  world: World,
  command: StartRun,
  windows: LearntWindows,
  signal: AbortSignal,
): Promise<JobEnd> {
  const model = world.workerModel();
  if ("problem" in model) {
    return { ...NOTHING_DONE, outcome: "failed", failure: { kind: "no-model", message: model.problem } };
  }
  const access = windows.within(model.access);
  const end = await JOBS[command.worker](world, command, access, signal);
  if (end.failure?.kind === "prompt-too-long") windows.refused(access.model, end.asked ?? 0);
  return end;
}

/** Writes what a run recorded, unless the branch that it read, which is `read`'s, has been left meanwhile. */
function appendRecords(world: World, end: JobEnd, read: SessionState): JobEnd {
  if (end.coversUpToId === null || end.outcome === "failed" || end.outcome === "aborted") return end;
  try {
    world.sync();
    const { session } = world.state();
    const isStale =
      positionOf(session.branch, end.coversUpToId) === NOWHERE ||
      (end.entry && !holdsOn(session, end.entry, read));
    if (isStale) return { ...end, outcome: "stale", records: 0 };
    if (end.entry) world.append(end.entry.customType, end.entry.data);
    return end;
  } catch (error) {
    return { ...end, ...failedEnd(error), usage: end.usage, requests: end.requests };
  }
}

/**
 * Whether a branch that has the entry's marker also has what the entry goes on from: for observations the same coverage
 * before them and nothing to observe that was omitted where they were made, or it would never be observed; for the
 * others the observations that they rest on.
 */
function holdsOn({ branch, ledger }: SessionState, { data }: LedgerEntry, read: SessionState): boolean {
  const { observe } = ledger.watermarks;
  const covered = read.ledger.watermarks.observe;
  if ("observations" in data) {
    return observe === covered && !standsAnew(branch, read.branch, covered, data.coversUpToId);
  }
  const ids =
    "reflections" in data
      ? data.reflections.flatMap(({ supportingObservationIds }) => supportingObservationIds)
      : data.observationIds;
  return observe >= covered && ids.every((id) => ledger.observations.has(id));
}

/** Whether a range that the observer judged empty has had an entry put back since, which nobody has judged. */
function isJudgedAnew(
  { branch, ledger }: SessionState,
  { worker, emptyUpToId }: StartRun,
  foundEmpty: SessionState | undefined,
): boolean {
  return (
    worker === "observer" &&
    emptyUpToId !== null &&
    foundEmpty !== undefined &&
    standsAnew(branch, foundEmpty.branch, ledger.watermarks.observe, emptyUpToId)
  );
}

/** Whether an entry after `covered` is a source on one branch and was none on the other, to which it is common. */
function standsAnew(branch: Branch, before: Branch, covered: number, coversUpToId: string): boolean {
  const through = positionOf(branch, coversUpToId);
  for (let at = covered + 1; at <= through; at++) {
    if (isSourceAt(branch, at) && !isSourceAt(before, at)) return true;
  }
  return false;
}

function failedEnd(error: unknown): JobEnd {
  const message = error instanceof Error ? error.message : String(error);
  return { ...NOTHING_DONE, outcome: "failed", failure: { kind: "other", message } };
}
