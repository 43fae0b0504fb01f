import type { Api, Model, ThinkingLevel } from "@earendil-works/pi-ai";
import type { ModelSetting } from "../../../reducers/settings.ts";

/** What a model is asked to think. */
export interface Thinking {
  level: ThinkingLevel;
  /** Tokens that it may take where the provider counts them; they come on top of the output or out of it, as the provider has it */
  budget: number;
}

/** How much the settings want a model to think; unset where they do not say. */
export type WantedThinking = ModelSetting["thinking"];

/** V3's */
const THINKING_WHEN_UNSET: NonNullable<WantedThinking> = "low";
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
/** As Pi's providers have them */
const BUDGETS: Readonly<Record<ThinkingLevel, number>> = {
  ...{ minimal: 1024, low: 2048, medium: 8192, high: 16_384, xhigh: 16_384, max: 16_384 },
};

/**
 * What is wanted, at the nearest level that the model has: as Pi chooses it, the next one above, else the next below.
 * Undefined: it does not think, or is not to.
 */
export function thinkingFor(
  { reasoning, thinkingLevelMap }: Pick<Model<Api>, "reasoning" | "thinkingLevelMap">,
  wantedThinking: WantedThinking,
): Thinking | undefined {
  if (!reasoning) return undefined;
  const wanted = LEVELS.indexOf(wantedThinking ?? THINKING_WHEN_UNSET);
  const level = [...LEVELS.slice(wanted), ...LEVELS.slice(0, wanted).toReversed()].find((candidate) => {
    const mapped = thinkingLevelMap?.[candidate];
    return mapped !== null && (mapped !== undefined || (candidate !== "xhigh" && candidate !== "max"));
  });
  return level === undefined || level === "off" ? undefined : { level, budget: BUDGETS[level] };
}

/** With less some providers refuse to think at all. */
const LEAST_THINKING = 1024;
/** Pi's providers leave so much of the output to the answer. */
const LEAST_ANSWER = 1024;

/**
 * The same with no larger a budget than leaves room to answer, if providers take it out of `maxTokens` and if they put it on
 * top of that and of `most` for both. Undefined where there is no room for it.
 */
export function thinkingWithin(
  thinking: Thinking | undefined,
  maxTokens: number,
  most: number,
): Thinking | undefined {
  if (!thinking) return undefined;
  const budget = Math.floor(Math.min(thinking.budget, maxTokens - LEAST_ANSWER, (most - LEAST_ANSWER) / 2));
  return budget < LEAST_THINKING ? undefined : { ...thinking, budget };
}
