import type { Api, Model } from "@earendil-works/pi-ai";
import { from, lastValueFrom, mergeMap, toArray } from "rxjs";
import { UsageError } from "../../src/host/cli/io.ts";
import type { EntryLike } from "../../src/reducers/entries/entry.ts";
import { estimateTextTokens } from "../../src/reducers/entries/tokens.ts";
import { messageOf } from "../../src/reducers/message-of.ts";
import type { Settings } from "../../src/reducers/settings.ts";
import { type Answer, answerFrom, answerWithTool, type Grade, grade } from "./ask.ts";
import type { MeteredModels, Purpose, Spend } from "./metered-models.ts";
import { type Cut, type FoldMade, play, scriptOf } from "./play.ts";
import { playedSession } from "./played-session.ts";
import type { Question } from "./questions.ts";

/** From what questions are answered. */
export const WAYS = ["summary", "kept", "recall"] as const;
export type Way = (typeof WAYS)[number];

export interface EvaluationOptions {
  entries: readonly EntryLike[];
  questions: readonly Question[];
  models: MeteredModels;
  /** The workers' model, which also answers */
  model: Model<Api>;
  grader: Model<Api>;
  cuts: readonly Cut[];
  keepTokens: number;
  settings: Partial<Settings>;
  /** Questions that are asked at the same time */
  parallel: number;
  progress: (words: () => string) => void;
}

/** What became of one question in one way. */
export interface Asked extends Partial<Answer>, Partial<Grade> {
  /** Why it has no answer, or no mark */
  error?: string;
}

export interface QuestionResult extends Question {
  answers: Record<Way, Asked>;
}

export interface Score {
  /** Points, and how many there were to have among the questions that have a mark */
  points: number;
  of: number;
  critical: number;
  ofCritical: number;
  /** Questions without a mark */
  failed: number;
  /** Calls of `recall`, and the characters that they gave */
  calls: number;
  characters: number;
}

export interface FoldResult {
  /** Source tokens that had been played by then */
  sourceTokens: number;
  folded: boolean;
  fullFold: boolean;
  observations: number;
  reflections: number;
  /** Characters and estimated tokens of the summary */
  characters: number;
  tokens: number;
  /** Source tokens that are neither observed nor kept */
  unobserved: number;
}

export interface Evaluation {
  /** Source tokens of the session up to the last fold */
  sourceTokens: number;
  folds: FoldResult[];
  summary: string;
  scores: Record<Way, Score>;
  spent: Record<Purpose, Spend>;
  questions: QuestionResult[];
  /** What the extension warned of on the way: workers that failed, settings that it could not use */
  warnings: string[];
  /** The session as it was played, with its memory, root first */
  branch: readonly EntryLike[];
}

/**
 * Plays a session with the extension at work, compacts it, and asks of the last summary. A provider's errors are told in the
 * result, question by question. Throws a `UsageError` where there is nothing to ask of: a cut that is not in the session, or
 * a last compaction without memory.
 */
export async function evaluate(options: EvaluationOptions): Promise<Evaluation> {
  const { models, model, keepTokens, settings, progress, questions, parallel } = options;
  const script = scriptOf(options.entries, options.cuts);
  const session = playedSession({ model, registry: models.registry("memory"), settings, keepTokens });
  try {
    const folds = await play(script, session, (tokens) =>
      progress(
        () => `played ${tokens} of ${script.sourceTokens} tokens, ${models.spent.memory.requests} requests`,
      ),
    );
    const last = folds.at(-1);
    if (last?.fold === undefined) throw new UsageError(nothingWords(session.warnings));
    const { summary, kept } = last.fold;
    const { recall } = session;
    let done = 0;
    const ask = async (question: Question): Promise<QuestionResult> => {
      const answers = {
        summary: await graded(options, question, () => answerFrom(models, model, { summary }, question)),
        // What the agent has in its context. The session is the same in each, so that a provider's cache serves it.
        kept: await graded(options, question, () => answerFrom(models, model, { summary, kept }, question)),
        recall: await graded(options, question, () =>
          answerWithTool(models, model, summary, recall, question),
        ),
      };
      progress(() => `asked ${++done} of ${questions.length} questions`);
      return { ...question, answers };
    };
    const asked$ = from(questions.entries()).pipe(
      mergeMap(async ([at, question]) => ({ at, result: await ask(question) }), parallel),
      toArray(),
    );
    const asked = (await lastValueFrom(asked$)).sort((a, b) => a.at - b.at).map(({ result }) => result);
    return {
      sourceTokens: last.sourceTokens,
      folds: folds.map(foldResult),
      summary,
      scores: {
        summary: scoreOf(asked, "summary"),
        kept: scoreOf(asked, "kept"),
        recall: scoreOf(asked, "recall"),
      },
      spent: structuredClone(models.spent),
      questions: asked,
      warnings: [...session.warnings],
      branch: session.branch,
    };
  } finally {
    await session.close();
  }
}

async function graded(
  { models, grader }: EvaluationOptions,
  question: Question,
  answer: () => Promise<Answer>,
): Promise<Asked> {
  let given: Answer;
  try {
    given = await answer();
  } catch (error) {
    return { error: `not answered: ${messageOf(error)}` };
  }
  try {
    return { ...given, ...(await grade(models, grader, question, given.text)) };
  } catch (error) {
    return { ...given, error: `not graded: ${messageOf(error)}` };
  }
}

function scoreOf(questions: readonly QuestionResult[], way: Way): Score {
  const score: Score = { points: 0, of: 0, critical: 0, ofCritical: 0, failed: 0, calls: 0, characters: 0 };
  for (const { weight, critical, answers } of questions) {
    const { mark, calls = 0, characters = 0 } = answers[way];
    score.calls += calls;
    score.characters += characters;
    if (mark === undefined) {
      score.failed++;
      continue;
    }
    score.points += weight * mark;
    score.of += weight;
    if (!critical) continue;
    score.ofCritical++;
    if (mark === 1) score.critical++;
  }
  return score;
}

function foldResult({ sourceTokens, fold }: FoldMade): FoldResult {
  const { summary = "", details } = fold ?? {};
  return {
    sourceTokens,
    folded: fold !== undefined,
    fullFold: details?.fullFold ?? false,
    observations: details?.observations.length ?? 0,
    reflections: details?.reflections.length ?? 0,
    characters: summary.length,
    tokens: estimateTextTokens(summary),
    unobserved: fold?.unobserved ?? 0,
  };
}

function nothingWords(warnings: readonly string[]): string {
  const why = warnings.length > 0 ? ` The extension warned: ${warnings.join("; ")}` : "";
  return `the last compaction had nothing to cut or no memory to fold; compact later, or lower --keep-recent or observeAfterTokens.${why}`;
}
