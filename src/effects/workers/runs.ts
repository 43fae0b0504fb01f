import { catchError, defer, filter, map, merge, mergeMap, Observable, of, take, tap } from "rxjs";
import type { Command } from "../../machines/commands.ts";
import { type Branch, isSourceAt, NOWHERE, positionOf } from "../../reducers/branch.ts";
import type { Unstamped } from "../../reducers/engine/events.ts";
import type { Worker } from "../../reducers/engine/lane-names.ts";
import { COST, type CostRecorded } from "../../reducers/ledger/records.ts";
import type { SessionState } from "../../reducers/session.ts";
import { commandsOf, type Effect } from "../effect.ts";
import type { LiveSession } from "../live-session.ts";
import { attemptsOf, failedResult } from "./attempts.ts";
import { type JobResult, type LedgerEntry, NOTHING_DONE } from "./jobs.ts";
import { createLearntWindows, type LearntWindows } from "./model/learnt-windows.ts";
import { withinDayBudget } from "./run-budget.ts";

const ABORTED: JobResult = { ...NOTHING_DONE, outcome: "aborted" };

type StartRun = Extract<Command, { type: "startRun" }>;

/**
 * Carries out `startRun` and `abortRun`: each start is answered by exactly one `run.finished`. An abort unsubscribes from the
 * run, and so does the end of the session; what the request does afterwards concerns nobody.
 */
export const workerRuns: Effect = (steps$, session) => {
  const windows = createLearntWindows();
  const commands$ = commandsOf(steps$);
  return commands$.pipe(
    filter((command) => command.type === "startRun"),
    mergeMap((command) => {
      const aborted$ = commands$.pipe(
        filter(({ type, runId }) => type === "abortRun" && runId === command.runId),
        map(() => ABORTED),
      );
      const startedAt = session.now();
      return merge(runOf(command, session, windows), aborted$).pipe(
        take(1),
        map((result) => ({
          ...finished(command, result, session.now() - startedAt),
          ...session.dayBudget?.news(),
        })),
      );
    }),
  );
};

function finished({ runId, worker }: StartRun, result: JobResult, durationMs: number): Unstamped {
  const { entries: _, asked: __, paid: ___, failure, ...facts } = result;
  const why = failure && { failure: { kind: failure.kind, message: failure.message } };
  return { type: "run.finished", runId, worker, durationMs, ...facts, ...why };
}

/** One run, from its start to its records' being appended. */
function runOf(command: StartRun, session: LiveSession, windows: LearntWindows): Observable<JobResult> {
  const isTooLate = session.isEnding();
  const run$ = defer(() => {
    if (isTooLate) return of(ABORTED);
    if (session.isExtendedElsewhere()) return of(stale(NOTHING_DONE));
    return withinDayBudget(session, () =>
      attemptsOf(command, session, windows).pipe(
        map(({ result, read }) => appended(session, command.worker, result, read)),
        tap(({ paid }) => keepCost(session, paid)),
      ),
    );
  });
  // A tick later: the hook that a run starts from must not wait for its prompt to be built.
  return nextTick.pipe(
    mergeMap(() => run$),
    catchError((error: unknown) => of(failedResult(error))),
  );
}

const nextTick = new Observable<void>((subscriber) => {
  const tick = setImmediate(() => {
    subscriber.next();
    subscriber.complete();
  });
  return () => clearImmediate(tick);
});

/**
 * Writes what a run took, after what it recorded. A session that is gone, or written to by others, cannot be told; a run
 * whose records stand has not failed for it, and its spend reads "at least" from then on.
 */
function keepCost(session: LiveSession, paid: CostRecorded | undefined): void {
  if (!paid || !session.isOpen() || session.isExtendedElsewhere()) return;
  try {
    session.append([{ customType: COST, data: paid }]);
  } catch {
    // The file could not be written to; Pi says so itself at its next entry.
  }
}

/**
 * Writes what a run recorded, unless the session is gone, the branch that it read, which is `read`'s, was left, or somebody
 * else has written to the file.
 */
function appended(session: LiveSession, worker: Worker, result: JobResult, read: SessionState): JobResult {
  const { coversUpToId, entries = [] } = result;
  if (coversUpToId === null || result.outcome === "failed") return result;
  if (!session.isOpen()) return stale(result);
  try {
    session.sync();
    const now = session.state().session;
    const isStale =
      positionOf(now.branch, coversUpToId) === NOWHERE ||
      !(worker === "observer" ? holdsOn(now, coversUpToId, read) : restsOn(now, entries, read));
    if (isStale || (entries.length > 0 && session.isExtendedElsewhere())) return stale(result);
    if (entries.length > 0) session.append(entries);
    return result;
  } catch (error) {
    const { outcome, failure, records, coversUpToId } = failedResult(error);
    return { ...result, outcome, records, coversUpToId, ...(failure && { failure }) };
  }
}

function stale(result: Omit<JobResult, "outcome">): JobResult {
  return { ...result, outcome: "stale", records: 0 };
}

/**
 * Whether what an observer found out about a stretch, be it that it holds nothing, stands on a branch that has its end: the same
 * watermark is before it, and nothing to observe that was omitted where it was read, or it would never be observed.
 */
function holdsOn({ branch, ledger }: SessionState, coversUpToId: string, read: SessionState): boolean {
  const before = read.ledger.watermarks.observe;
  return ledger.watermarks.observe === before && !standsAnew(branch, read.branch, before, coversUpToId);
}

/** Whether a branch has the records that reflections or drops were made from. */
function restsOn(now: SessionState, entries: readonly LedgerEntry[], read: SessionState): boolean {
  const isBehind = now.ledger.watermarks.observe < read.ledger.watermarks.observe;
  return !isBehind && entries.every((entry) => hasRecordsOf(now, entry));
}

function hasRecordsOf({ ledger }: SessionState, { data }: LedgerEntry): boolean {
  if ("observations" in data) return true;
  if ("reflectionIds" in data) return data.reflectionIds.every((id) => ledger.reflections.has(id));
  const ids =
    "reflections" in data
      ? data.reflections.flatMap(({ supportingObservationIds }) => supportingObservationIds)
      : data.observationIds;
  return ids.every((id) => ledger.observations.has(id));
}

/** Whether an entry after `watermark` is a source on one branch and was none on the other, to which it is common. */
function standsAnew(branch: Branch, before: Branch, watermark: number, coversUpToId: string): boolean {
  const through = positionOf(branch, coversUpToId);
  for (let at = watermark + 1; at <= through; at++) {
    if (isSourceAt(branch, at) && !isSourceAt(before, at)) return true;
  }
  return false;
}
