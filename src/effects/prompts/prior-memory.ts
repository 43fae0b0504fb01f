import { estimateTextTokens } from "../../reducers/tokens.ts";

export interface BoundedLines {
  text: string;
  /** Estimated tokens of `text` */
  tokens: number;
  omitted: number;
}

/**
 * The newest lines (the last ones) that fit the budget, in their order, under a plain statement of how many older ones
 * were left out. So a worker's prompt stays within bounds at any size of memory (COMPLAINTS 13).
 */
export function newestWithin(lines: readonly string[], maxTokens: number): BoundedLines {
  const whole = lines.join("\n");
  // Cheap first: most memories fit.
  if (whole.length <= maxTokens) {
    const tokens = estimateTextTokens(whole);
    if (tokens <= maxTokens) return { text: whole, tokens, omitted: 0 };
  }
  const budget = maxTokens - STATEMENT_TOKENS;
  const kept: string[] = [];
  let tokens = 0;
  for (let i = lines.length - 1; i >= 0; i--) {
    const line = lines[i] ?? "";
    const cost = estimateTextTokens(line) + 1;
    if (tokens + cost > budget) break;
    kept.unshift(line);
    tokens += cost;
  }
  const omitted = lines.length - kept.length;
  if (omitted === 0) return { text: whole, tokens, omitted };
  const text = [`(${omitted} older lines are left out here)`, ...kept].join("\n");
  return { text, tokens: tokens + STATEMENT_TOKENS, omitted };
}

/** Room for the statement that lines were left out. */
const STATEMENT_TOKENS = 16;

/** A titled part of a prompt. */
export function section(title: string, text: string): string {
  return `## ${title}\n\n${text === "" ? "(none)" : text}`;
}
