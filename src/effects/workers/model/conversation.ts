import type { AssistantMessage, Message, ToolCall } from "@earendil-works/pi-ai";
import { catchError, defer, EMPTY, expand, filter, map, type Observable, of, take, timeout } from "rxjs";
import { addUsage, noUsage } from "../../../reducers/engine/engine-state.ts";
import type { RequestTimes, Usage } from "../../../reducers/engine/events.ts";
import { estimateTextTokens } from "../../../reducers/entries/tokens.ts";
import { messageOf } from "../../../reducers/message-of.ts";
import { failureFrom, type WorkerFailure } from "./failure.ts";
import { fixedTokens, usableWindow } from "./prompt-room.ts";
import { replyTo, usageOf } from "./reply.ts";
import {
  type ModelAccess,
  replyTokens,
  type ToolAnswer,
  type WorkerLimits,
  type WorkerRequest,
  type WorkerTool,
} from "./request.ts";

/** What a run takes, counted while it goes. */
export interface Spend {
  /** Answered requests */
  turns: number;
  /** All requests, retries included */
  requests: number;
  /** Of all replies, also of those that tell of a failure */
  usage: Usage;
  /** Each request in order, retries counted apart */
  requestTimes: RequestTimes[];
  /** Tokens of the request made last, as far as they are known, with the output that it allowed */
  asked: number;
  /** The model would have gone on, but had had its turns, had filled its window or used up a budget. */
  capped: boolean;
}

/** Why a run broke; null when it came to its end. */
export type Break = WorkerFailure | null;

export type SpentRun = Spend & { failure: Break };

/**
 * Runs one worker: asks the model, answers its tool calls, and goes on until a call is its last, it replies without one, has
 * had `maxTurns` turns, has no room in its window for another reply, or has used up a budget; those are no failure. What is refused is asked for
 * again, and so is more where a model does not say that it is done: most runs are one request. A loop of our own on purpose: it is
 * short, and the options of Pi's loop have changed in ways that left workers without prompt and without cap.
 *
 * Emits once and never errors; that comes by the deadline even if the provider ignores that its request was aborted. A
 * run with a failure has failed as a whole: what its tool accepted must not be used. Unsubscribing aborts the run.
 */
export function runWorker(
  request: WorkerRequest,
  access: ModelAccess,
  limits: WorkerLimits,
): Observable<SpentRun> {
  return spentBy((spend) => converse(request, access, limits, spend), limits);
}

/** What a run takes and how it ends, by its deadline. */
export function spentBy(
  run: (spend: Spend) => Observable<Break>,
  { timeoutMs }: WorkerLimits,
): Observable<SpentRun> {
  return defer(() => {
    const spend: Spend = {
      turns: 0,
      requests: 0,
      usage: noUsage(),
      requestTimes: [],
      asked: 0,
      capped: false,
    };
    return run(spend).pipe(
      timeout({
        first: Math.min(timeoutMs, LONGEST_TIMER_MS),
        with: () => of(timeoutFailure(timeoutMs)),
      }),
      catchError((error: unknown) => of(failureFrom(messageOf(error)))),
      map((failure) => ({ ...spend, failure })),
    );
  });
}

/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function timeoutFailure(timeoutMs: number): WorkerFailure {
  const time = timeoutMs < 1000 ? `${Math.round(timeoutMs)} ms` : `${Math.round(timeoutMs / 1000)} s`;
  return { kind: "timeout", message: `no result within ${time}` };
}

/** A conversation between two requests, or at its end. */
interface Conversation {
  messages: readonly Message[];
  /** Estimated tokens of all of it, prompt and tool included */
  tokens: number;
  turns: number;
  /** Set at its end */
  end?: Break;
}

/** The same without a deadline: emits how the conversation ended, once. What it takes is added to `spend`. */
export function converse(
  { systemPrompt, userPrompt, tool }: WorkerRequest,
  access: ModelAccess,
  limits: WorkerLimits,
  spend: Spend,
): Observable<Break> {
  const tools = [{ name: tool.name, description: tool.description, parameters: tool.parameters }];
  const meter = {
    requested: () => {
      spend.requests++;
      spend.requestTimes.push({ startedAt: Date.now() });
    },
    used: (usage: Usage) => {
      spend.usage = addUsage(spend.usage, usage);
      Object.assign(spend.requestTimes.at(-1) ?? {}, { usage });
    },
    ended: (failure?: string) => {
      const times = spend.requestTimes.at(-1);
      if (!times) return;
      times.durationMs = Math.max(0, Date.now() - times.startedAt);
      if (failure !== undefined) times.failure = failure;
    },
  };

  function turn(before: Conversation): Observable<Conversation> {
    spend.asked = before.tokens + replyTokens(limits);
    const context = { systemPrompt, messages: [...before.messages], tools };
    return replyTo(context, access, limits, meter).pipe(map((reply) => after(before, reply)));
  }

  function after({ messages, tokens, turns }: Conversation, reply: AssistantMessage): Conversation {
    spend.turns++;
    const answered = callsIn(reply).map((call) => ({ call, answer: answerTo(call, tool) }));
    const answers = answered.map(({ answer }) => answer);
    const results = answered.map(({ call, answer }) => toolResult(call, answer));
    const next: Conversation = {
      messages: [...messages, reply, ...results],
      tokens: tokensThrough(reply, tokens) + estimateTextTokens(JSON.stringify(results)),
      turns: turns + 1,
    };
    const end = endAt(reply, answers, next.turns);
    if (end !== undefined) return { ...next, end };
    const hasRoom = next.tokens + replyTokens(limits) <= usableWindow(access);
    const mayAskAgain = access.mayAskAgain?.(spend.usage) ?? true;
    if (next.turns < limits.maxTurns && hasRoom && mayAskAgain) return next;
    spend.capped = true;
    return { ...next, end: null };
  }

  const start: Conversation = {
    messages: [{ role: "user", content: userPrompt, timestamp: Date.now() }],
    tokens: fixedTokens(systemPrompt, tool) + estimateTextTokens(userPrompt),
    turns: 0,
  };
  return defer(() => turn(start)).pipe(
    expand((conversation) => (conversation.end === undefined ? turn(conversation) : EMPTY)),
    map(({ end }) => end),
    filter((end) => end !== undefined),
    take(1),
  );
}

/** How a reply ends the conversation, if it does. */
function endAt(reply: AssistantMessage, answers: readonly ToolAnswer[], turns: number): Break | undefined {
  if (reply.stopReason === "length") {
    return { kind: "cut-off", message: "the model's output was cut off by its limit" };
  }
  if (answers.some(({ isLast }) => isLast) && !answers.some(({ isError }) => isError)) return null;
  if (answers.length > 0) return undefined;
  // Servers that truncate too long a prompt without a word answer with nothing; no model that was told what to say means
  // that as an answer. After its records a model may well be silent.
  const isSilent = turns === 1 && !reply.content.some(saysSomething);
  return isSilent ? { kind: "bad-response", message: "the model's reply was empty" } : null;
}

/** A reply that was cut off calls nothing: its last call may lack half of its arguments. */
function callsIn({ content, stopReason }: AssistantMessage): ToolCall[] {
  return stopReason === "length" ? [] : content.filter((block) => block.type === "toolCall");
}

/** Tokens of a conversation up to and with a reply: the provider's own count, or an estimate where it gives none. */
function tokensThrough(reply: AssistantMessage, before: number): number {
  const { input, output, cacheRead, cacheWrite } = usageOf(reply);
  const counted = input + output + cacheRead + cacheWrite;
  return counted > 0 ? counted : before + estimateTextTokens(JSON.stringify(reply.content));
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

/** Arguments that are no JSON object reach us in words about them; what the model sent is at their end. */
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
