import type { BudgetUse } from "./engine/budget.ts";
import type { Usage } from "./engine/events.ts";
import { WORKERS } from "./engine/lane-names.ts";
import { isPartial, NOTHING_SPENT, type Spend, type Spent, totalOf } from "./spend.ts";
import { countOf, dollars, grouped } from "./words.ts";

/** Money in words: `$0.4100`; `≥ $0.4100` where some of it is not known; `—` where none is. */
export function moneyWords(
  { runs, usd, unpriced }: Pick<Spent, "runs" | "usd" | "unpriced">,
  partial = false,
) {
  const priced = runs - unpriced;
  if (priced <= 0) return runs === 0 && !partial ? dollars(0) : "—";
  return `${unpriced > 0 || partial ? "≥ " : ""}${dollars(usd)}`;
}

/** The money of a usage that may have no price */
export function usageMoney({ cost }: Pick<Usage, "cost">): string {
  return cost > 0 ? dollars(cost) : "—";
}

/** `$0.0031 (3 runs, 4,120 in, 312 out)`, in model tokens */
export function spentWords(spent: Spent, partial = false): string {
  const { runs, input, output } = spent;
  return `${moneyWords(spent, partial)} (${countOf(runs, "run")}, ${grouped(input)} in, ${grouped(output)} out)`;
}

/** `$5.0200 of today's $5.0000`, `12,000 of this session's 10,000 tokens` */
export function budgetUseWords({ key, used, limit }: BudgetUse): string {
  if (key === "sessionTokens") return `${grouped(used)} of this session's ${grouped(limit)} tokens`;
  return `${dollars(used)} of ${key === "dayUsd" ? "today" : "this session"}'s ${dollars(limit)}`;
}

/** Each limit that is set as a row of its words, `used up` where it is. */
export function budgetRows(uses: readonly BudgetUse[]): { name: string; value: string }[] {
  return uses.map((use) => ({
    name: "budget",
    value: `${budgetUseWords(use)}${use.used >= use.limit ? ", used up" : ""}`,
  }));
}

/** How people get memory going again. */
export function budgetAdvice({ key }: BudgetUse): string {
  const raised = `when budget.${key} is raised in the settings and the session is reloaded (/reload)`;
  return key === "dayUsd" ? `tomorrow, or ${raised}` : raised;
}

/** What a used-up budget does not stop. */
export const STILL_WORKS = "Recall and the folding of compactions still work; they cost nothing";

const DAYS_SHOWN = 7;

/** A branch's spend as rows of a name and its words: as a whole, by worker, and by its latest days when it has several. */
export function spendRows(spend: Spend): { name: string; value: string }[] {
  const workers = WORKERS.filter((worker) => spend.byWorker[worker].runs > 0);
  const days = Object.keys(spend.byDay).sort();
  return [
    { name: "in all", value: spentWords(totalOf(spend), isPartial(spend)) },
    ...workers.map((worker) => ({ name: worker, value: spentWords(spend.byWorker[worker]) })),
    ...(days.length > 1 ? days.slice(-DAYS_SHOWN) : []).map((day) => ({
      name: day === "" ? "undated" : day,
      value: spentWords(spend.byDay[day] ?? NOTHING_SPENT),
    })),
  ];
}
