import { estimateTextTokens } from "../../../reducers/entries/tokens.ts";

export interface BoundedLines {
  text: string;
  /** Estimated tokens of `text`, at least */
  tokens: number;
  omitted: number;
}

/** Room for the statement that lines were left out, in tokens. */
export const STATEMENT_TOKENS = 16;

/**
 * The newest lines (the last ones) that fit the budget, in their order, under a plain statement of how many older ones
 * were left out. So a worker's prompt stays within bounds at any size of memory. The statement is
 * made even where the budget has no room for it.
 *
 * Lines leave in steps of half the budget: as memory grows at its end, what is shown keeps its beginning until the next step,
 * and a provider need not read it anew.
 */
export function newestWithin(lines: readonly string[], maxTokens: number): BoundedLines {
  const costs = lines.map((line) => estimateTextTokens(line) + 1);
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  if (total <= maxTokens || lines.length === 0) return { text: lines.join("\n"), tokens: total, omitted: 0 };
  const room = maxTokens - STATEMENT_TOKENS;
  const step = Math.max(1, Math.floor(room / 2));
  const leaving = Math.ceil((total - room) / step) * step;
  let start = 0;
  let left = 0;
  while (start < lines.length && left < leaving) left += costs[start++] ?? 0;
  const statement = `(${start} older ${start === 1 ? "line is" : "lines are"} left out here)`;
  const text = [statement, ...lines.slice(start)].join("\n");
  return { text, tokens: total - left + STATEMENT_TOKENS, omitted: start };
}

/** A titled part of a prompt. */
export function section(title: string, text: string): string {
  return `## ${title}\n\n${text === "" ? "(none)" : text}`;
}
