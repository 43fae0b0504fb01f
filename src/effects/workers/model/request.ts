import type {
  Api,
  AssistantMessageEventStream,
  Context,
  Model,
  SimpleStreamOptions,
} from "@earendil-works/pi-ai";
import type { Usage } from "../../../reducers/engine/events.ts";
import type { Thinking, WantedThinking } from "./thinking.ts";

/** The only way to a model: Pi's registry resolves credentials, headers and custom providers behind `stream`. */
export interface ModelAccess {
  model: Model<Api>;
  /** As the settings have it for this model */
  thinking?: WantedThinking;
  /** Tokens that a request and its answer may have together, where the model was found to take less than it declares */
  servedWindow?: number;
  stream(context: Context, options: SimpleStreamOptions): AssistantMessageEventStream;
  /** Whether a run that has used so much may ask once more. Unset: always */
  mayAskAgain?(used: Usage): boolean;
}

/** What a tool tells the model. */
export interface ToolAnswer {
  text: string;
  isError: boolean;
  /** The model said with this call that it has nothing more to say; what was refused is asked for again all the same. */
  isLast?: boolean;
}

/** A tool that a worker may call. `accept` judges the arguments and answers in words for the model. */
export interface WorkerTool {
  name: string;
  description: string;
  /** JSON schema of the arguments */
  parameters: object;
  accept(args: unknown): ToolAnswer;
}

/** What a worker is asked. */
export interface WorkerRequest {
  systemPrompt: string;
  userPrompt: string;
  tool: WorkerTool;
}

export interface WorkerLimits {
  /** Replies that the run may have; a request that is tried again before it is answered is one turn */
  maxTurns: number;
  /** Output tokens per request */
  maxTokens: number;
  /** Unset: the model is asked for none */
  thinking?: Thinking | undefined;
  /** Milliseconds until the run counts as failed */
  timeoutMs: number;
  /** Milliseconds before the first retry at least; tests make it short */
  retryAfterMs?: number;
}

/** Tokens of the window that a reply may take, if its thinking comes on top. */
export function replyTokens({ maxTokens, thinking }: WorkerLimits): number {
  return maxTokens + (thinking?.budget ?? 0);
}

const LARGEST_OUTPUT = 8192;

/** Output tokens to ask for: the model's own limit, at most 8192 unless the settings say otherwise. */
export function outputBudget({ maxTokens }: Model<Api>, agentMaxTokens: number | undefined): number {
  const own = Number.isFinite(maxTokens) && maxTokens > 0 ? maxTokens : LARGEST_OUTPUT;
  return agentMaxTokens ?? Math.min(own, LARGEST_OUTPUT);
}
