import { z } from "zod";
import type { SessionState } from "../session.ts";
import type { Settings } from "../settings.ts";
import { totalOf } from "../spend.ts";

/** What the workers of all sessions under a day's budget have spent on a day, as the file says that they share. */
export const DaySpentSchema = z.object({
  /** Local date, `YYYY-MM-DD` */
  date: z.string(),
  /** USD */
  usd: z.number(),
});
export type DaySpent = z.infer<typeof DaySpentSchema>;

export type BudgetKey = keyof NonNullable<Settings["budget"]>;

/** How much of one of the budget's limits is used; USD, or model tokens in and out. */
export interface BudgetUse {
  readonly key: BudgetKey;
  readonly used: number;
  readonly limit: number;
}

interface Budgeted {
  readonly settings: Settings;
  readonly session: SessionState;
  readonly daySpent: DaySpent | null;
}

/** What a run in flight has used that no session tells of yet: USD, and model tokens in and out. */
export interface InFlight {
  readonly usd: number;
  readonly tokens: number;
}

const NOTHING: InFlight = { usd: 0, tokens: 0 };

/** Each limit that is set, and what is used of it. What has no known price uses up no money. */
export function budgetUses(
  { settings: { budget = {} }, session, daySpent }: Budgeted,
  { usd, tokens } = NOTHING,
): BudgetUse[] {
  const total = totalOf(session.ledger.spend);
  const used = {
    sessionUsd: total.usd + usd,
    sessionTokens: total.input + total.output + tokens,
    dayUsd: (daySpent?.usd ?? 0) + usd,
  };
  return (["sessionUsd", "sessionTokens", "dayUsd"] as const).flatMap((key) => {
    const limit = budget[key];
    return limit === undefined ? [] : [{ key, used: used[key], limit }];
  });
}

/** The first limit that is used up; undefined while a worker may run. */
export function overBudget(budgeted: Budgeted, inFlight = NOTHING): BudgetUse | undefined {
  return budgetUses(budgeted, inFlight).find(({ used, limit }) => used >= limit);
}
