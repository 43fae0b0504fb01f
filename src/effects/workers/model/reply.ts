import type {
  AssistantMessage,
  AssistantMessageEventStream,
  Context,
  SimpleStreamOptions,
} from "@earendil-works/pi-ai";
import { defer, map, Observable, retry, tap, throwError, timer } from "rxjs";
import type { Usage } from "../../../reducers/engine/events.ts";
import { messageOf } from "../../../reducers/message-of.ts";
import { classifyFailure, type FailureKind, isPassing } from "./failure.ts";
import type { ModelAccess, WorkerLimits } from "./request.ts";
import type { Thinking } from "./thinking.ts";

const RETRIES = 2;
const RETRY_AFTER_MS = 1000;
/** Each wait is this many times the one before it, and up to twice as long by chance. */
const RETRY_FACTOR = 3;

/** Hears of every request, of every reply's usage, also of those that tell of a failure, and how each request ended. */
export interface Meter {
  requested(): void;
  used(usage: Usage): void;
  ended(failure?: FailureKind): void;
}

/**
 * One reply of a model, tried up to three times where trying again can help: after a rate limit, an overload or a dropped
 * connection. Errors with the provider's words when there is none. Unsubscribing aborts the request, or the wait.
 */
export function replyTo(
  context: Context,
  { stream }: ModelAccess,
  { maxTokens, thinking, retryAfterMs = RETRY_AFTER_MS }: WorkerLimits,
  meter: Meter,
): Observable<AssistantMessage> {
  return defer(() => {
    meter.requested();
    // The provider's own retries are off: together with ours they would multiply.
    return replyFrom((signal) =>
      stream(context, { signal, maxTokens, maxRetries: 0, ...thinkingOptions(thinking) }),
    );
  }).pipe(
    tap((reply) => meter.used(usageOf(reply))),
    map((reply) => {
      if (isAnswer(reply)) return reply;
      throw new Error(reply.errorMessage ?? `the request ended with ${reply.stopReason}`);
    }),
    tap({
      next: () => meter.ended(),
      error: (error: unknown) => meter.ended(classifyFailure(messageOf(error))),
    }),
    retry({
      count: RETRIES,
      delay: (error, attempt) =>
        isPassing(classifyFailure(messageOf(error)))
          ? timer(retryAfterMs * RETRY_FACTOR ** (attempt - 1) * (1 + Math.random()))
          : throwError(() => error),
    }),
  );
}

/** Providers look the budget up under the highest level that they all have. */
function thinkingOptions(thinking: Thinking | undefined): SimpleStreamOptions {
  if (!thinking) return {};
  const { level, budget } = thinking;
  return {
    reasoning: level,
    thinkingBudgets: { [level]: budget, ...(isAboveHigh(level) && { high: budget }) },
  };
}

function isAboveHigh(level: Thinking["level"]): boolean {
  return level === "xhigh" || level === "max";
}

/** The message at the end of a stream; unsubscribing aborts the request, and so does its end. */
function replyFrom(open: (signal: AbortSignal) => AssistantMessageEventStream): Observable<AssistantMessage> {
  return new Observable((subscriber) => {
    const controller = new AbortController();
    const read = async () => lastOf(open(controller.signal));
    read().then(
      (message) => {
        subscriber.next(message);
        subscriber.complete();
      },
      (error: unknown) => subscriber.error(error),
    );
    return () => controller.abort();
  });
}

/** A provider's stream may also end without a message, and its `result()` then never. */
async function lastOf(stream: AssistantMessageEventStream): Promise<AssistantMessage> {
  for await (const event of stream) {
    if (event.type === "done") return event.message;
    if (event.type === "error") return event.error;
  }
  return Promise.race([stream.result(), Promise.reject(new Error("the stream ended without a reply"))]);
}

function isAnswer({ stopReason }: AssistantMessage): boolean {
  return stopReason === "stop" || stopReason === "toolUse" || stopReason === "length";
}

/** What a reply used; nothing where the server does not say. */
export function usageOf({ usage }: AssistantMessage): Usage {
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
