/** Token counts as a provider reports them. */
export interface Usage {
  prompt: number;
  completion: number;
}

export interface ToolCall {
  name: string;
  /** Sent as JSON; a string is sent as it is, so that a script can send broken arguments. */
  arguments: Record<string, unknown> | string;
}

/** A well-formed reply: text, tool calls, or both. */
export interface Answer {
  kind?: "answer";
  text?: string;
  toolCalls?: ToolCall[];
  /** Unset: `tool_calls` if there are any, else `stop`. */
  finishReason?: string;
  /** Unset: a quarter of the characters, in and out. */
  usage?: Usage;
  delayMs?: number;
}

/** What a scripted model may do with a request. All but `Answer` are the faults a real provider shows. */
export type Reply =
  | Answer
  /** Accepts the request and never answers; with `afterText`, stops in mid-stream. */
  | { kind: "hang"; afterText?: string }
  /** An HTTP answer of any kind: 400, 401, 429, 503, an HTML page. */
  | {
      kind: "status";
      status: number;
      body: string | Record<string, unknown>;
      headers?: Record<string, string>;
    }
  /** Destroys the socket after some of the stream. */
  | { kind: "drop"; afterText?: string }
  /** 200 with a stream that is not SSE JSON. */
  | { kind: "garbage"; body?: string }
  /** The output token limit cuts the answer off. */
  | { kind: "cutOff"; text?: string; toolCalls?: ToolCall[] };

/** The usual error bodies of OpenAI-compatible servers, by what went wrong. */
export const FAULTS = {
  promptTooLong: () =>
    failed(400, "This model's maximum context length is 8192 tokens; your prompt is too long.", {
      code: "context_length_exceeded",
    }),
  unauthorised: () => failed(401, "Incorrect API key provided."),
  rateLimited: (retryAfterSeconds?: number) =>
    failed(
      429,
      "Rate limit reached.",
      {},
      retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) },
    ),
  unavailable: () => failed(503, "The server is overloaded or not ready yet."),
  htmlPage: (status = 502): Reply => ({
    kind: "status",
    status,
    body: "<!DOCTYPE html>\n<html><head><title>Bad gateway</title></head><body><h1>Bad gateway</h1></body></html>",
    headers: { "content-type": "text/html; charset=utf-8" },
  }),
} as const;

function failed(
  status: number,
  message: string,
  extra: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Reply {
  return { kind: "status", status, body: { error: { message, type: "error", ...extra } }, headers };
}

/** The reply as one `chat.completion` object, for a client that did not ask for a stream. */
export function completionBody(answer: Answer, id: string, usage: Usage): string {
  const toolCalls = wireToolCalls(answer.toolCalls ?? [], id);
  return JSON.stringify({
    id,
    object: "chat.completion",
    created: seconds(),
    model: "scripted",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: answer.text ?? null,
          ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
        },
        finish_reason: finishReasonOf(answer),
      },
    ],
    usage: wireUsage(usage),
  });
}

/** The reply as SSE lines: text in pieces, tool calls with their arguments in two halves, usage in the last chunk. */
export function* completionChunks(answer: Answer, id: string, usage: Usage): Generator<string> {
  yield chunk(id, { role: "assistant", content: "" });
  for (const piece of pieces(answer.text ?? "")) yield chunk(id, { content: piece });
  for (const [index, call] of wireToolCalls(answer.toolCalls ?? [], id).entries()) {
    const half = Math.ceil(call.function.arguments.length / 2);
    const head = call.function.arguments.slice(0, half);
    const tail = call.function.arguments.slice(half);
    yield chunk(id, {
      tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: head } }],
    });
    yield chunk(id, { tool_calls: [{ index, function: { arguments: tail } }] });
  }
  yield chunk(id, {}, finishReasonOf(answer));
  yield line({ ...envelope(id), choices: [], usage: wireUsage(usage) });
  yield "data: [DONE]\n\n";
}

/** The opening of a stream that then goes wrong. */
export function* openingChunks(text: string, id: string): Generator<string> {
  yield chunk(id, { role: "assistant", content: "" });
  for (const piece of pieces(text)) yield chunk(id, { content: piece });
}

/** Usage by characters, for answers that do not state it. */
export function usageOf(answer: Answer, requestCharacters: number): Usage {
  if (answer.usage) return answer.usage;
  const written =
    (answer.text ?? "").length +
    (answer.toolCalls ?? []).reduce((sum, call) => sum + argumentText(call).length, 0);
  return { prompt: Math.ceil(requestCharacters / 4), completion: Math.ceil(written / 4) };
}

const PIECE = 4000;

function* pieces(text: string): Generator<string> {
  for (let start = 0; start < text.length; start += PIECE) yield text.slice(start, start + PIECE);
}

function finishReasonOf(answer: Answer): string {
  return answer.finishReason ?? ((answer.toolCalls ?? []).length > 0 ? "tool_calls" : "stop");
}

function argumentText(call: ToolCall): string {
  return typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
}

function wireToolCalls(calls: readonly ToolCall[], id: string) {
  return calls.map((call, index) => ({
    id: `${id}-call-${index + 1}`,
    type: "function" as const,
    function: { name: call.name, arguments: argumentText(call) },
  }));
}

function wireUsage(usage: Usage) {
  return {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: usage.prompt + usage.completion,
  };
}

function envelope(id: string) {
  return { id, object: "chat.completion.chunk", created: seconds(), model: "scripted" };
}

function chunk(id: string, delta: Record<string, unknown>, finishReason: string | null = null): string {
  return line({ ...envelope(id), choices: [{ index: 0, delta, finish_reason: finishReason }] });
}

function line(data: Record<string, unknown>): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}
