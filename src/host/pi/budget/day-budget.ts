import { join } from "node:path";
import { defer, filter, finalize, from, map, type Observable, repeat, take } from "rxjs";
import type { DayBudget, RunGrant } from "../../../effects/live-session.ts";
import type { DaySpent } from "../../../reducers/engine/budget.ts";
import { openDayFile } from "./day-file.ts";

interface DayBudgetOptions {
  agentDir: string;
  /** USD a day */
  limit: number;
  /** How long a run may take, in ms */
  runMs: number;
  now: () => number;
  /** What the engine takes for the day's figure */
  known: () => DaySpent | null;
  warn: (message: string) => void;
}

/** The file of an agent directory's day */
export function dayFileOf(agentDir: string): string {
  return join(agentDir, "observational-memory", "spent-today.json");
}

/** How often a run that waits for its turn looks again, in ms */
const LOOK_EVERY_MS = 200;

/** A session's part in the day's budget; `idle` resolves when all that it has to tell the others is written. */
export function openDayBudget(options: DayBudgetOptions): DayBudget & { idle(): Promise<unknown> } {
  const { agentDir, limit, runMs, now, known, warn } = options;
  const file = dayFileOf(agentDir);
  const day = openDayFile({
    ...{ file, now },
    onFailure: (why) =>
      warn(`Memory: the day's budget counts this Pi alone for now, since ${file} cannot be used: ${why}`),
  });
  const writing = new Set<Promise<void>>();

  function end(id: string, usd: number): Promise<void> {
    const written = day.end(id, usd).finally(() => writing.delete(written));
    writing.add(written);
    return written;
  }

  function grantOf(id: string): RunGrant {
    let ended: Promise<void> | undefined;
    return {
      end(usd) {
        ended ??= end(id, usd);
        return ended;
      },
    };
  }

  /** Whether a run may begin now; what is granted to nobody is given back. */
  function attempt(): Observable<RunGrant | "waits" | "over"> {
    let isGone = false;
    const answer = day.begin(limit, runMs).then((granted) => {
      if (typeof granted === "string") return granted;
      const grant = grantOf(granted.id);
      if (isGone) void grant.end(0);
      return grant;
    });
    return from(answer).pipe(
      finalize(() => {
        isGone = true;
      }),
    );
  }

  return {
    begin: () =>
      defer(attempt).pipe(
        repeat({ delay: LOOK_EVERY_MS }),
        filter((answer) => answer !== "waits"),
        take(1),
        map((answer) => (answer === "over" ? undefined : answer)),
      ),
    news() {
      const spent = day.spent();
      const before = known();
      return spent.date === before?.date && spent.usd === before.usd ? {} : { daySpent: spent };
    },
    idle: () => Promise.allSettled(writing),
  };
}
