import type {
  Api,
  AssistantMessage,
  AssistantMessageEventStream,
  Context,
  Message,
  Model,
  SimpleStreamOptions,
} from "@earendil-works/pi-ai";
import pRetry, { AbortError } from "p-retry";
import { addUsage, noUsage } from "../machines/engine-state.ts";
import type { Usage } from "../machines/events.ts";
import { failureFrom, isPassing, type WorkerFailure } from "./failure.ts";

/** The only way to a model: Pi's registry resolves credentials, headers and custom providers behind `stream`. */
export interface ModelAccess {
  model: Model<Api>;
  stream(context: Context, options: SimpleStreamOptions): AssistantMessageEventStream;
}

/** A tool that a worker may call. `accept` judges the arguments and answers in words for the model. */
export interface WorkerTool {
  name: string;
  description: string;
  /** JSON schema of the arguments */
  parameters: object;
  accept(args: unknown): { text: string; isError: boolean };
}

export interface WorkerRequest {
  systemPrompt: string;
  userPrompt: string;
  tool: WorkerTool;
}

export interface WorkerLimits {
  /** Model requests that the run may make */
  maxTurns: number;
  /** Output tokens per request */
  maxTokens: number;
  /** Milliseconds until the run counts as failed */
  timeoutMs: number;
  signal: AbortSignal;
  /** Milliseconds before the first retry; tests make it short */
  retryAfterMs?: number;
}

export interface WorkerReport {
  outcome: "completed" | "failed" | "aborted";
  failure?: WorkerFailure;
  /** Answered requests */
  turns: number;
  /** All requests, retries included */
  requests: number;
  usage: Usage;
}

const RETRIES = 2;
const RETRY_AFTER_MS = 1000;

/**
 * Runs one worker: asks the model, answers its tool calls, and goes on until it replies without one or has had
 * `maxTurns` requests, which is not a failure. A loop of our own on purpose: it is short, and the options of Pi's
 * loop have changed in ways that left workers without prompt and without cap (COMPLAINTS 1 and 2). Never throws; it
 * ends at the deadline even if the provider ignores the abort.
 */
export async function runWorker(
  request: WorkerRequest,
  access: ModelAccess,
  limits: WorkerLimits,
): Promise<WorkerReport> {
  const report: WorkerReport = { outcome: "completed", turns: 0, requests: 0, usage: noUsage() };
  const controller = new AbortController();
  const ended = endOf(limits, controller);
  try {
    const end = await Promise.race([
      converse(request, access, limits, controller.signal, report),
      ended.promise,
    ]);
    return { ...report, ...end };
  } finally {
    ended.cancel();
    controller.abort();
  }
}

type End = Pick<WorkerReport, "outcome" | "failure">;

async function converse(
  request: WorkerRequest,
  access: ModelAccess,
  limits: WorkerLimits,
  signal: AbortSignal,
  report: WorkerReport,
): Promise<End> {
  const messages: Message[] = [{ role: "user", content: request.userPrompt, timestamp: 0 }];
  const tools = [
    { name: request.tool.name, description: request.tool.description, parameters: request.tool.parameters },
  ];
  while (report.turns < limits.maxTurns && report.requests < limits.maxTurns) {
    const context: Context = { systemPrompt: request.systemPrompt, messages: [...messages], tools };
    let reply: AssistantMessage;
    try {
      reply = await ask(access, context, limits, signal, report);
    } catch (error) {
      if (signal.aborted) return { outcome: "aborted" };
      return {
        outcome: "failed",
        failure: failureFrom(error instanceof Error ? error.message : String(error)),
      };
    }
    // After the run has ended its records have been counted: a late reply must not add to them.
    if (signal.aborted) return { outcome: "aborted" };
    report.turns++;
    if (reply.stopReason === "length") {
      return {
        outcome: "failed",
        failure: { kind: "cut-off", message: "the model's output was cut off by its limit" },
      };
    }
    const calls = reply.content.filter((block) => block.type === "toolCall");
    if (calls.length === 0) return { outcome: "completed" };
    messages.push(reply);
    for (const call of calls) {
      const answer =
        call.name === request.tool.name
          ? request.tool.accept(call.arguments)
          : { text: `There is no tool ${call.name}; the only one is ${request.tool.name}.`, isError: true };
      messages.push({
        role: "toolResult",
        toolCallId: call.id,
        toolName: call.name,
        content: [{ type: "text", text: answer.text }],
        isError: answer.isError,
        timestamp: 0,
      });
    }
  }
  return { outcome: "completed" };
}

/** One reply, tried up to three times where trying again can help. Each try counts as a request. */
function ask(
  access: ModelAccess,
  context: Context,
  { maxTokens, maxTurns, retryAfterMs = RETRY_AFTER_MS }: WorkerLimits,
  signal: AbortSignal,
  report: WorkerReport,
): Promise<AssistantMessage> {
  return pRetry(
    async () => {
      report.requests++;
      // The provider's own retries are off: together with these they would multiply.
      const reply = await access.stream(context, { signal, maxTokens, maxRetries: 0 }).result();
      report.usage = addUsage(report.usage, usageOf(reply));
      if (reply.stopReason === "stop" || reply.stopReason === "toolUse" || reply.stopReason === "length")
        return reply;
      const text = reply.errorMessage ?? `the request ended with ${reply.stopReason}`;
      if (!isPassing(failureFrom(text).kind) || report.requests >= maxTurns) throw new AbortError(text);
      throw new Error(text);
    },
    { retries: RETRIES, minTimeout: retryAfterMs, factor: 3, randomize: true, signal },
  );
}

function usageOf({ usage }: AssistantMessage): Usage {
  return {
    input: usage?.input ?? 0,
    output: usage?.output ?? 0,
    cacheRead: usage?.cacheRead ?? 0,
    cacheWrite: usage?.cacheWrite ?? 0,
    cost: usage?.cost?.total ?? 0,
  };
}

/** Resolves when the run must end from outside: by its deadline or by its caller's abort. */
function endOf({ timeoutMs, signal }: WorkerLimits, controller: AbortController) {
  let timer: NodeJS.Timeout | undefined;
  let onAbort: () => void = () => {};
  const promise = new Promise<End>((resolve) => {
    const end = (value: End) => {
      resolve(value);
      controller.abort();
    };
    onAbort = () => end({ outcome: "aborted" });
    timer = setTimeout(
      () =>
        end({
          outcome: "failed",
          failure: { kind: "timeout", message: `no result within ${Math.round(timeoutMs / 1000)} s` },
        }),
      timeoutMs,
    );
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  return {
    promise,
    cancel: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

const LARGEST_OUTPUT = 8192;

/** Output tokens to ask for: the model's own limit, at most 8192 unless the settings say otherwise (DESIGN 7). */
export function outputBudget(model: Model<Api>, agentMaxTokens: number | undefined): number {
  return agentMaxTokens ?? Math.min(model.maxTokens > 0 ? model.maxTokens : LARGEST_OUTPUT, LARGEST_OUTPUT);
}
