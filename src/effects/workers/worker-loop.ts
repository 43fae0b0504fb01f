import type {
  Api,
  AssistantMessage,
  AssistantMessageEventStream,
  Context,
  Message,
  Model,
  SimpleStreamOptions,
  ToolCall,
} from "@earendil-works/pi-ai";
import pRetry, { AbortError } from "p-retry";
import { addUsage, noUsage } from "../../reducers/engine/engine-state.ts";
import type { Usage } from "../../reducers/engine/events.ts";
import { estimateTextTokens } from "../../reducers/entries/tokens.ts";
import { classifyFailure, failureFrom, isPassing, type WorkerFailure } from "./failure.ts";
import { fixedTokens, windowOf } from "./prompt-room.ts";

/** The only way to a model: Pi's registry resolves credentials, headers and custom providers behind `stream`. */
export interface ModelAccess {
  model: Model<Api>;
  stream(context: Context, options: SimpleStreamOptions): AssistantMessageEventStream;
}

/** What a tool tells the model. */
export interface ToolAnswer {
  text: string;
  isError: boolean;
}

/** A tool that a worker may call. `accept` judges the arguments and answers in words for the model. */
export interface WorkerTool {
  name: string;
  description: string;
  /** JSON schema of the arguments */
  parameters: object;
  accept(args: unknown): ToolAnswer;
}

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
  /** Milliseconds until the run counts as failed */
  timeoutMs: number;
  signal: AbortSignal;
  /** Milliseconds before the first retry at least; tests make it short */
  retryAfterMs?: number;
}

export interface WorkerReport {
  outcome: "completed" | "failed" | "aborted";
  failure?: WorkerFailure;
  /** Answered requests */
  turns: number;
  /** All requests, retries included */
  requests: number;
  /** Of all replies, also of those that tell of a failure */
  usage: Usage;
  /** Tokens of the request made last, as far as they are known, with the output that it allowed */
  asked: number;
  /** The model would have gone on, but had had its turns, or had filled its window. */
  capped: boolean;
}

const RETRIES = 2;
const RETRY_AFTER_MS = 1000;
/** Each wait is this many times the one before it, and up to twice as long by chance. */
const RETRY_FACTOR = 3;

/**
 * Runs one worker: asks the model, answers its tool calls, and goes on until it replies without one, has had `maxTurns`
 * turns, or has no room in its window for another reply; the last two are no failure. A loop of our own on purpose: it is
 * short, and the options of Pi's loop have changed in ways that left workers without prompt and without cap (COMPLAINTS 1
 * and 2).
 *
 * Never rejects, and ends at the deadline or at an abort even if the provider ignores both. A run that did not
 * complete has failed as a whole: what its tool accepted must not be used.
 */
export async function runWorker(
  request: WorkerRequest,
  access: ModelAccess,
  limits: WorkerLimits,
): Promise<WorkerReport> {
  const report = newReport();
  const controller = new AbortController();
  const ended = endFromOutside(limits, controller);
  try {
    const conversation = converse(request, access, limits, controller.signal, report).catch(failedBy);
    const end = await Promise.race([conversation, ended.promise]);
    return { ...report, ...end };
  } finally {
    ended.cancel();
    controller.abort();
  }
}

/** Of a run that has not asked anything yet */
export function newReport(): WorkerReport {
  return { outcome: "completed", turns: 0, requests: 0, usage: noUsage(), asked: 0, capped: false };
}

type End = Pick<WorkerReport, "outcome" | "failure">;

async function converse(
  { systemPrompt, userPrompt, tool }: WorkerRequest,
  access: ModelAccess,
  limits: WorkerLimits,
  signal: AbortSignal,
  report: WorkerReport,
): Promise<End> {
  const messages: Message[] = [{ role: "user", content: userPrompt, timestamp: Date.now() }];
  const tools = [{ name: tool.name, description: tool.description, parameters: tool.parameters }];
  let tokens = fixedTokens(systemPrompt, tool) + estimateTextTokens(userPrompt);
  do {
    report.asked = tokens + limits.maxTokens;
    const reply = await ask(access, { systemPrompt, messages: [...messages], tools }, limits, signal, report);
    // After the run has ended its records have been counted: a late reply must not add to them.
    if (signal.aborted) return { outcome: "aborted" };
    report.turns++;
    if (reply.stopReason === "length") {
      return failed({ kind: "cut-off", message: "the model's output was cut off by its limit" });
    }
    const calls = reply.content.filter((block) => block.type === "toolCall");
    if (calls.length === 0) {
      // Servers that truncate too long a prompt without a word answer with nothing; no model that was told to say
      // "done" means that as an answer. After its records a model may well be silent.
      const isSilent = report.turns === 1 && !reply.content.some(saysSomething);
      return isSilent ? failed({ kind: "bad-response", message: "the model's reply was empty" }) : COMPLETED;
    }
    const results = calls.map((call) => toolResult(call, answerTo(call, tool)));
    messages.push(reply, ...results);
    tokens = tokensThrough(reply, tokens) + estimateTextTokens(JSON.stringify(results));
  } while (report.turns < limits.maxTurns && tokens + limits.maxTokens <= windowOf(access.model));
  report.capped = true;
  return COMPLETED;
}

/** Tokens of a conversation up to and with a reply: the provider's own count, or an estimate where it gives none. */
function tokensThrough(reply: AssistantMessage, before: number): number {
  const { input, output, cacheRead, cacheWrite } = usageOf(reply);
  const counted = input + output + cacheRead + cacheWrite;
  return counted > 0 ? counted : before + estimateTextTokens(JSON.stringify(reply.content));
}

const COMPLETED: End = { outcome: "completed" };

function failed(failure: WorkerFailure): End {
  return { outcome: "failed", failure };
}

function failedBy(error: unknown): End {
  return failed(failureFrom(wordsOf(error)));
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function saysSomething(block: AssistantMessage["content"][number]): boolean {
  if (block.type === "text") return block.text.trim() !== "";
  return block.type === "thinking" ? block.thinking.trim() !== "" : true;
}

function answerTo(call: ToolCall, tool: WorkerTool): ToolAnswer {
  if (call.name !== tool.name) {
    return { text: `There is no tool ${call.name}; the only one is ${tool.name}.`, isError: true };
  }
  return tool.accept(call.argumentsError === undefined ? call.arguments : textSent(call.argumentsError));
}

/** Arguments that are no JSON object reach us in words about them; what the model sent stands at their end. */
function textSent(argumentsError: string): string {
  return /\n\nReceived arguments:\n([\s\S]*)$/.exec(argumentsError)?.[1] ?? argumentsError;
}

function toolResult({ id, name }: ToolCall, { text, isError }: ToolAnswer): Message {
  return {
    role: "toolResult",
    toolCallId: id,
    toolName: name,
    content: [{ type: "text", text }],
    isError,
    timestamp: Date.now(),
  };
}

/**
 * One reply, tried up to three times where trying again can help (DESIGN 7). Rejects with the provider's words when
 * there is none.
 */
function ask(
  access: ModelAccess,
  context: Context,
  { maxTokens, retryAfterMs = RETRY_AFTER_MS }: WorkerLimits,
  signal: AbortSignal,
  report: WorkerReport,
): Promise<AssistantMessage> {
  async function attempt(): Promise<AssistantMessage> {
    report.requests++;
    let words: string;
    try {
      // The provider's own retries are off: together with ours they would multiply.
      const reply = await replyOf(access.stream(context, { signal, maxTokens, maxRetries: 0 }));
      report.usage = addUsage(report.usage, usageOf(reply));
      if (isAnswer(reply)) return reply;
      words = reply.errorMessage ?? `the request ended with ${reply.stopReason}`;
    } catch (error) {
      words = wordsOf(error);
    }
    throw isPassing(classifyFailure(words)) ? new Error(words) : new AbortError(words);
  }
  return pRetry(attempt, {
    retries: RETRIES,
    minTimeout: retryAfterMs,
    factor: RETRY_FACTOR,
    randomize: true,
    signal,
  });
}

function isAnswer({ stopReason }: AssistantMessage): boolean {
  return stopReason === "stop" || stopReason === "toolUse" || stopReason === "length";
}

/** The reply at the end of a stream. A provider's stream may also end without one, and its `result()` then never. */
async function replyOf(stream: AssistantMessageEventStream): Promise<AssistantMessage> {
  for await (const event of stream) {
    if (event.type === "done") return event.message;
    if (event.type === "error") return event.error;
  }
  return Promise.race([stream.result(), Promise.reject(new Error("the stream ended without a reply"))]);
}

function usageOf({ usage }: AssistantMessage): Usage {
  return {
    input: amount(usage?.input),
    output: amount(usage?.output),
    cacheRead: amount(usage?.cacheRead),
    cacheWrite: amount(usage?.cacheWrite),
    cost: amount(usage?.cost?.total),
  };
}

/** Some servers count in text, or not at all. */
function amount(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Resolves when the run must end from outside: by its deadline or by its caller's abort. Aborts the request then. */
function endFromOutside({ timeoutMs, signal }: WorkerLimits, controller: AbortController) {
  const { promise, resolve } = Promise.withResolvers<End>();
  const end = (value: End) => {
    resolve(value);
    controller.abort();
  };
  const onAbort = () => end({ outcome: "aborted" });
  const timer = setTimeout(
    () => end(failed(timeoutFailure(timeoutMs))),
    Math.min(timeoutMs, LONGEST_TIMER_MS),
  );
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  return {
    promise,
    cancel: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

/** The failure of a run that had `timeoutMs` milliseconds. */
export function timeoutFailure(timeoutMs: number): WorkerFailure {
  const time = timeoutMs < 1000 ? `${Math.round(timeoutMs)} ms` : `${Math.round(timeoutMs / 1000)} s`;
  return { kind: "timeout", message: `no result within ${time}` };
}

const LARGEST_OUTPUT = 8192;

/** Output tokens to ask for: the model's own limit, at most 8192 unless the settings say otherwise (DESIGN 7). */
export function outputBudget(model: Model<Api>, agentMaxTokens: number | undefined): number {
  return agentMaxTokens ?? Math.min(model.maxTokens > 0 ? model.maxTokens : LARGEST_OUTPUT, LARGEST_OUTPUT);
}
