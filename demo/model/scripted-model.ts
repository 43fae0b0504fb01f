import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Answer,
  completionBody,
  completionChunks,
  openingChunks,
  type Reply,
  type Usage,
  usageOf,
} from "./chat-reply.ts";
import { type ChatRequest, ChatRequestSchema, type Role, roleOf } from "./chat-request.ts";
import { defaultDropper, defaultObserver, defaultReflector } from "./scripted-workers.ts";

export { type Answer, FAULTS, type Reply, type ToolCall, type Usage } from "./chat-reply.ts";
export {
  type ChatMessage,
  type ChatRequest,
  freshToolResults,
  lastUserText,
  messageText,
  type Role,
  roleOf,
  systemText,
  toolNames,
  userText,
} from "./chat-request.ts";
export { chunkBlocks, defaultDropper, defaultObserver, defaultReflector } from "./scripted-workers.ts";

/** One request as it came in, and what became of it. */
export interface RecordedRequest {
  readonly role: Role;
  /** Counts from 1 within the role. */
  readonly nth: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly body: ChatRequest;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The client went away before it had the whole answer. */
  aborted: boolean;
  /** The answer is out, in whole or as a fault; false while the request waits or hangs. */
  answered: boolean;
  /** What the answer said that it took; unset without a whole answer. */
  usage?: Usage;
}

export type Handler = (request: ChatRequest, nthForRole: number) => Reply | Promise<Reply>;

/** What the model says, by who asks. Workers have sensible defaults; the agent and Pi's summariser answer briefly. */
export type Script = Partial<Record<Role, Handler>>;

export interface ScriptedModel {
  /** Base URL for an `openai-completions` provider. */
  readonly url: string;
  /** Oldest first; the array is live. */
  readonly requests: readonly RecordedRequest[];
  /** Faults of the script itself: a handler that threw, a request that was no chat completion. */
  readonly scriptErrors: readonly Error[];
  /** Replaces handlers from now on. */
  use(script: Script): void;
  /** Requests by role, oldest first. */
  by(role: Role): RecordedRequest[];
  close(): Promise<void>;
}

const DEFAULT_SCRIPT: Record<Role, Handler> = {
  agent: (_request, nth) => ({ text: `Answer ${nth}.` }),
  summariser: () => ({ text: "A summary by the host's own summariser." }),
  observer: defaultObserver,
  reflector: defaultReflector,
  dropper: defaultDropper,
};

/**
 * Starts a loopback server that speaks OpenAI chat completions, streaming and not, and answers by script, so
 * that a real Pi can be driven through its real provider path with no network and no key.
 */
export async function startScriptedModel(script: Script = {}): Promise<ScriptedModel> {
  let handlers = { ...DEFAULT_SCRIPT, ...script };
  const requests: RecordedRequest[] = [];
  const scriptErrors: Error[] = [];

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.destroyed) return;
      scriptErrors.push(error instanceof Error ? error : new Error(String(error)));
      if (!response.headersSent) sendJson(response, 500, { error: { message: String(error) } });
      else response.destroy();
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    if (request.method === "GET" && path.endsWith("/models")) {
      sendJson(response, 200, { object: "list", data: [{ id: "scripted", object: "model" }] });
      return;
    }
    if (request.method !== "POST" || !path.endsWith("/chat/completions")) {
      sendJson(response, 404, { error: { message: `No such endpoint: ${request.method} ${path}` } });
      return;
    }
    const text = await bodyText(request);
    const body = ChatRequestSchema.parse(JSON.parse(text));
    const role = roleOf(body);
    const record: RecordedRequest = {
      role,
      nth: requests.filter((earlier) => earlier.role === role).length + 1,
      at: Date.now(),
      body,
      headers: request.headers,
      aborted: false,
      answered: false,
    };
    requests.push(record);
    const gone = new AbortController();
    response.once("finish", () => {
      record.answered = true;
    });
    response.once("close", () => {
      record.aborted = !record.answered;
      gone.abort();
    });
    const reply = await handlers[role](body, record.nth);
    if (gone.signal.aborted) return;
    await send(response, reply, record, text.length, gone.signal);
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    scriptErrors,
    use(next) {
      handlers = { ...handlers, ...next };
    },
    by: (role) => requests.filter((request) => request.role === role),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function send(
  response: ServerResponse,
  reply: Reply,
  record: RecordedRequest,
  requestCharacters: number,
  gone: AbortSignal,
): Promise<void> {
  const id = `scripted-${record.role}-${record.nth}`;
  switch (reply.kind) {
    case "hang":
      if (reply.afterText !== undefined) writeStream(response, openingChunks(reply.afterText, id));
      return;
    case "status": {
      const isText = typeof reply.body === "string";
      response.writeHead(reply.status, {
        "content-type": isText ? "text/plain" : "application/json",
        ...reply.headers,
      });
      response.end(isText ? reply.body : JSON.stringify(reply.body));
      return;
    }
    case "drop":
      record.answered = true;
      if (reply.afterText === undefined) {
        response.destroy();
      } else {
        writeStream(response, openingChunks(reply.afterText, id));
        // Destroyed only once the opening has left, so that the client breaks in mid-stream and not before it.
        response.write(":\n\n", () => response.destroy());
      }
      return;
    case "garbage":
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(
        reply.body ?? 'data: {"choices": [{"delta": {"con\n\ndata: \u0000\u0001 not json at all\n\n',
      );
      return;
    case "cutOff":
      sendAnswer(
        response,
        { ...reply, kind: "answer", finishReason: "length" },
        id,
        record,
        requestCharacters,
      );
      return;
    default:
      if (reply.delayMs !== undefined) {
        await sleep(reply.delayMs, undefined, { signal: gone }).catch(() => {});
        if (gone.aborted) return;
      }
      sendAnswer(response, reply, id, record, requestCharacters);
  }
}

function sendAnswer(
  response: ServerResponse,
  answer: Answer,
  id: string,
  record: RecordedRequest,
  requestCharacters: number,
): void {
  const usage = usageOf(answer, requestCharacters);
  record.usage = usage;
  if (record.body.stream === true) {
    writeStream(response, completionChunks(answer, id, usage));
    response.end();
  } else {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(completionBody(answer, id, usage));
  }
}

function writeStream(response: ServerResponse, lines: Iterable<string>): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const line of lines) response.write(line);
}

function sendJson(response: ServerResponse, status: number, body: Record<string, unknown>): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function bodyText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
