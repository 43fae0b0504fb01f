import { estimateTextTokens } from "../../../reducers/entries/tokens.ts";
import { knownWindow, WINDOW_WHEN_UNKNOWN } from "../../../reducers/settings.ts";
import {
  type ModelAccess,
  replyTokens,
  type WorkerLimits,
  type WorkerRequest,
  type WorkerTool,
} from "./request.ts";
import { thinkingWithin } from "./thinking.ts";

/** What a worker's requests have room for in its model's context window. */
export interface RequestRoom {
  /** Tokens that the user prompt may have */
  userPrompt: number;
  /** The given limits, with no more output and thinking than the window allows */
  limits: WorkerLimits;
}

/** Pi's providers keep so much of a declared window free, whatever it is: what is left of the rest is output. */
const PROVIDER_MARGIN = 4096;
/** With less a worker could not say one record; Pi's providers would ask for a single token sooner than for none. */
const LEAST_OUTPUT = 512;
/** With less there is nothing to read beside the prompt's own headings. */
const LEAST_PROMPT = 400;
/** Output, thinking included, may take at most this share of what system prompt and tool leave of the window. */
const OUTPUT_SHARE = 1 / 3;
/** Estimates may be a tenth low, and a run should have more than one turn: its replies stay in its conversation. */
const SAFE_SHARE = 0.8;

/** A window that has no room for a worker's request. */
export class WindowTooSmallError extends Error {
  override name = "WindowTooSmallError";
}

/**
 * Shares a model's context window out among system prompt, tool, user prompt and output, so that a request of all four
 * fits it, whatever the settings ask for: a window too small for them has less to read, then less output.
 *
 * Throws a `WindowTooSmallError` where less than 512 tokens would be left to answer in.
 */
export function roomFor(
  access: Pick<ModelAccess, "model" | "servedWindow">,
  { systemPrompt, tool }: Pick<WorkerRequest, "systemPrompt" | "tool">,
  limits: WorkerLimits,
): RequestRoom {
  const window = usableWindow(access);
  const fixed = fixedTokens(systemPrompt, tool);
  const most = (window - fixed) * OUTPUT_SHARE;
  const thinking = thinkingWithin(limits.thinking, limits.maxTokens, most);
  const output = Math.max(LEAST_OUTPUT, Math.min(limits.maxTokens, most - (thinking?.budget ?? 0)));
  const fitting = { ...limits, maxTokens: Math.floor(output), thinking };
  const userPrompt = Math.floor((window - replyTokens(fitting) - fixed) * SAFE_SHARE);
  if (userPrompt >= LEAST_PROMPT) return { userPrompt, limits: fitting };
  const needed = fixed + LEAST_OUTPUT + Math.ceil(LEAST_PROMPT / SAFE_SHARE);
  throw new WindowTooSmallError(
    `the window of ${access.model.id} leaves ${window} tokens for a request and its answer, and a worker needs ${needed}; set "model" to one with a larger window`,
  );
}

/** Tokens that a request and its answer may have together, as the model declares it, or as it has been found to be served. */
export function usableWindow({ model, servedWindow }: Pick<ModelAccess, "model" | "servedWindow">): number {
  const declared = knownWindow(model.contextWindow);
  const usable = declared === undefined ? WINDOW_WHEN_UNKNOWN : Math.max(0, declared - PROVIDER_MARGIN);
  return Math.min(usable, servedWindow ?? usable);
}

/** Estimated tokens of what every request of a run begins with. */
export function fixedTokens(systemPrompt: string, { name, description, parameters }: WorkerTool): number {
  return (
    estimateTextTokens(systemPrompt) + estimateTextTokens(JSON.stringify({ name, description, parameters }))
  );
}
