import { type Effect, watching } from "../../../effects/effect.ts";
import { type BudgetUse, budgetUses } from "../../../reducers/engine/budget.ts";
import { totalOf } from "../../../reducers/spend.ts";
import { budgetAdvice, budgetUseWords, STILL_WORKS } from "../../../reducers/spend-words.ts";

/** How far a limit is used: not worth a word, nearly, or up */
type Level = 0 | 1 | 2;

const NEARLY = 0.8;

/**
 * Warns when a limit of the budget is used by 80 %, and when it is used up: each once, when it comes to it while the session is
 * open. An opening repeats neither, since they have been said then and the footer and `/om:status` go on telling; but a session
 * that has spent nothing yet and is opened with no budget left has never heard of it.
 */
export const budgetNotices: Effect = (steps$, session) => {
  /** By limit, and by day for the day's */
  const told = new Map<string, Level>();
  return watching(({ event, state }) => {
    const isOpening = event.type === "session.opened";
    const isNew = totalOf(state.session.ledger.spend).runs === 0;
    for (const use of budgetUses(state)) {
      const level = levelOf(use);
      const of = use.key === "dayUsd" ? `${use.key} ${state.daySpent?.date}` : use.key;
      if (level <= (told.get(of) ?? 0)) continue;
      told.set(of, level);
      if (!isOpening || (isNew && level === 2)) session.notify(wordsFor(use, level), "warning");
    }
  })(steps$, session);
};

function levelOf({ used, limit }: BudgetUse): Level {
  if (used >= limit) return 2;
  return used >= NEARLY * limit ? 1 : 0;
}

function wordsFor(use: BudgetUse, level: Level): string {
  const used = budgetUseWords(use);
  if (level < 2)
    return `Memory: the budget is nearly used: ${used}. At its end no worker runs. ${STILL_WORKS}.`;
  return `Memory: over budget: ${used}. Nothing more is observed, reflected on or dropped; that goes on ${budgetAdvice(use)}. ${STILL_WORKS}.`;
}
