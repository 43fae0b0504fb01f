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
 * made even where the budget has no room for it. Costs the budget, not the memory.
 */
export function newestWithin(lines: readonly string[], maxTokens: number): BoundedLines {
  let tokens = 0;
  let start = lines.length;
  let tokensFromStart = 0;
  for (let at = lines.length - 1; at >= 0; at--) {
    tokens += estimateTextTokens(lines[at] ?? "") + 1;
    if (tokens > maxTokens) {
      const kept = lines.slice(start);
      const text = [`(${start} older ${start === 1 ? "line is" : "lines are"} left out here)`, ...kept].join(
        "\n",
      );
      return { text, tokens: tokensFromStart + STATEMENT_TOKENS, omitted: start };
    }
    if (tokens <= maxTokens - STATEMENT_TOKENS) {
      start = at;
      tokensFromStart = tokens;
    }
  }
  return { text: lines.join("\n"), tokens, omitted: 0 };
}

/** A titled part of a prompt. */
export function section(title: string, text: string): string {
  return `## ${title}\n\n${text === "" ? "(none)" : text}`;
}
