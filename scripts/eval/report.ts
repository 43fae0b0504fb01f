import Table from "cli-table3";
import { clipped, countOf, dollars, grouped } from "../../src/reducers/words.ts";
import {
  type Evaluation,
  type FoldResult,
  type QuestionResult,
  type Score,
  WAYS,
  type Way,
} from "./evaluation.ts";
import { PURPOSES, type Purpose, type Spend } from "./metered-models.ts";

const WAY_WORDS: Readonly<Record<Way, string>> = {
  summary: "summary alone",
  kept: "summary and kept messages",
  recall: "summary and recall",
};

const PURPOSE_WORDS: Readonly<Record<Purpose, string>> = {
  memory: "memory's workers",
  answers: "answers, summary alone",
  kept: "answers, with kept messages",
  recall: "answers, with recall",
  grading: "grading",
};

const LONGEST_WHY = 160;

/** An evaluation as people read it: score, size, spend, and what was not right. */
export function reportLines(evaluation: Evaluation): string[] {
  const { sourceTokens, folds, scores, spent, questions, warnings } = evaluation;
  const read = spent.memory.input / Math.max(1, sourceTokens);
  return [
    `Played ${grouped(sourceTokens)} source tokens.`,
    ...folds.map(foldWords),
    table(
      ["", "score", "critical", "no mark", "recall calls", "characters recalled"],
      WAYS.map((way) => [WAY_WORDS[way], ...scoreCells(scores[way])]),
    ),
    table(
      ["", "requests", "tokens in", "from cache", "tokens out", "cost"],
      PURPOSES.map((purpose) => [PURPOSE_WORDS[purpose], ...spendCells(spent[purpose])]),
    ),
    `Workers read ${read.toFixed(1)} tokens for each source token.`,
    ...WAYS.flatMap((way) => notRight(questions, way)),
    ...warnings.map((warning) => `Warning: ${warning}`),
  ];
}

/** Whether every question has a mark in every way. */
export function isComplete({ scores }: Evaluation): boolean {
  return WAYS.every((way) => scores[way].failed === 0);
}

function foldWords({ sourceTokens, folded, ...fold }: FoldResult): string {
  const at = `Compaction after ${grouped(sourceTokens)} tokens`;
  if (!folded) return `${at}: nothing to cut, or no memory to fold`;
  const { characters, tokens, fullFold, observations, reflections, unobserved } = fold;
  const hole = unobserved > 0 ? `; ${grouped(unobserved)} source tokens neither observed nor kept` : "";
  const lines = `${countOf(observations, "observation")}, ${countOf(reflections, "reflection")}`;
  return `${at}: summary of ${grouped(characters)} characters, about ${grouped(tokens)} tokens; ${lines}${fullFold ? " (full fold)" : ""}${hole}`;
}

function scoreCells({ points, of, critical, ofCritical, failed, calls, characters }: Score): string[] {
  return [
    `${points} of ${of}`,
    `${critical} of ${ofCritical}`,
    String(failed),
    String(calls),
    grouped(characters),
  ];
}

function spendCells({ requests, input, cacheRead, output, cost }: Spend): string[] {
  return [
    grouped(requests),
    grouped(input),
    grouped(cacheRead),
    grouped(output),
    cost === null ? "—" : dollars(cost),
  ];
}

function notRight(questions: readonly QuestionResult[], way: Way): string[] {
  const lines = questions.flatMap(({ id, critical, answers }) => {
    const { mark, why = "", error } = answers[way];
    if (mark === 1) return [];
    const name = `  ${id}${critical ? " (critical)" : ""}`;
    return [error === undefined ? `${name}: ${mark}, ${clipped(why, LONGEST_WHY)}` : `${name}: ${error}`];
  });
  return lines.length === 0 ? [] : [`Not right, ${WAY_WORDS[way]}:`, ...lines];
}

function table(head: string[], rows: string[][]): string {
  const made = new Table({ head, style: { head: [], border: [] } });
  made.push(...rows);
  return made.toString();
}
