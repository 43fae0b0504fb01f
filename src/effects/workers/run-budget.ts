import { concatMap, defer, finalize, from, map, mergeMap, type Observable, of } from "rxjs";
import { overBudget } from "../../reducers/engine/budget.ts";
import type { Usage } from "../../reducers/engine/events.ts";
import type { LiveSession } from "../live-session.ts";
import { type JobResult, NOTHING_DONE } from "./jobs.ts";

/**
 * Does a run when the day's budget has room for it, and tells the others what it cost before its result is known here. When the
 * budget turns out to be used up, nothing is asked of a model: the lane sees why with the result.
 */
export function withinDayBudget(
  { dayBudget }: LiveSession,
  run: () => Observable<JobResult>,
): Observable<JobResult> {
  if (!dayBudget) return defer(run);
  return dayBudget.begin().pipe(
    mergeMap((grant) => {
      if (!grant) return of<JobResult>({ ...NOTHING_DONE, outcome: "aborted" });
      return defer(run).pipe(
        concatMap((result) => from(grant.end(result.paid?.cost ?? 0)).pipe(map(() => result))),
        // A run that was broken off leaves no word of its cost.
        finalize(() => void grant.end(0)),
      );
    }),
  );
}

/** Whether a run that has used so much may ask its model once more; what it got accepted by then is recorded. */
export function mayAskAgain(
  session: LiveSession,
  { cost, input, output, cacheRead, cacheWrite }: Usage,
): boolean {
  const tokens = input + output + cacheRead + cacheWrite;
  return !overBudget({ ...session.state(), ...session.dayBudget?.news() }, { usd: cost, tokens });
}
