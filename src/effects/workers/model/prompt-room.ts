import type { Api, Model } from "@earendil-works/pi-ai";
import { estimateTextTokens } from "../../../reducers/entries/tokens.ts";
import type { WorkerLimits, WorkerRequest, WorkerTool } from "./request.ts";

/** What a worker's requests have room for in its model's context window. */
export interface RequestRoom {
  /** Tokens that the user prompt may have */
  userPrompt: number;
  /** The given limits, with no more output than the window allows */
  limits: WorkerLimits;
}

const WINDOW_WHEN_UNKNOWN = 60_000;
/** Output may take at most this share of what system prompt and tool leave of the window. */
const OUTPUT_SHARE = 1 / 3;
/** Estimates may be a tenth low, and a run should have more than one turn: its replies stay in its conversation. */
const SAFE_SHARE = 0.8;

/**
 * Shares a model's context window out among system prompt, tool, user prompt and output, so that a request of all four
 * fits it, whatever the settings ask for: a window too small for them has less output, and less to read.
 */
export function roomFor(
  model: Model<Api>,
  { systemPrompt, tool }: Pick<WorkerRequest, "systemPrompt" | "tool">,
  limits: WorkerLimits,
): RequestRoom {
  const window = windowOf(model);
  const fixed = fixedTokens(systemPrompt, tool);
  const maxTokens = atLeastOne(Math.min(limits.maxTokens, (window - fixed) * OUTPUT_SHARE));
  const userPrompt = atLeastOne((window - maxTokens) * SAFE_SHARE - fixed);
  return { userPrompt, limits: { ...limits, maxTokens } };
}

/** A model's context window in tokens; a guess where it is not known. */
export function windowOf(model: Model<Api>): number {
  return model.contextWindow > 0 ? model.contextWindow : WINDOW_WHEN_UNKNOWN;
}

/** Estimated tokens of what every request of a run begins with. */
export function fixedTokens(systemPrompt: string, { name, description, parameters }: WorkerTool): number {
  return (
    estimateTextTokens(systemPrompt) + estimateTextTokens(JSON.stringify({ name, description, parameters }))
  );
}

function atLeastOne(tokens: number): number {
  return Math.max(1, Math.floor(tokens));
}
