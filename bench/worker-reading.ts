import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { normalizeContext } from "@earendil-works/pi-ai";
import { streamSimple } from "@earendil-works/pi-ai/api/openai-completions";
import { type SessionEntry, SessionManager } from "@earendil-works/pi-coding-agent";
import Table from "cli-table3";
import {
  type ChatRequest,
  chunkBlocks,
  defaultReflector,
  freshToolResults,
  type Handler,
  type RecordedRequest,
  type Reply,
  type Script,
  startScriptedModel,
  systemText,
  userText,
} from "../demo/model/scripted-model.ts";
import { estimateMessageTokens, estimateTextTokens } from "../src/reducers/entries/tokens.ts";
import { openWithModel } from "./memory-stand-in.ts";
import { syntheticSession } from "./synthetic-session.ts";

/**
 * `node bench/worker-reading.ts [SESSION.jsonl]`: what the workers read of a session that is played turn by turn, with a scripted
 * model that notes about as much as a strong one did of the real session beside the checkout: seven lines of some 290
 * characters to each stretch of 10,000 tokens.
 */
const REAL_SESSION = resolve(import.meta.dirname, "../../shared/sessions/real-session-a.jsonl");
const LINES_PER_RUN = 7;
const CHARACTERS_PER_LINE = 290;

interface Reading {
  sourceTokens: number;
  requests: readonly RecordedRequest[];
}

const file = process.argv[2] ?? (existsSync(REAL_SESSION) ? REAL_SESSION : undefined);
const entries = file === undefined ? syntheticSession(3000, 0).getBranch() : entriesOf(file);
console.log(file === undefined ? "A synthetic session:" : "The session:");
const table = new Table({
  head: ["model", "requests", "read per source token", "repeats the one before, from its start"],
  style: { head: [], border: [] },
});
table.push(row("says done", await played(entries, scripted())));
table.push(row("says it only when asked", await played(entries, scripted(withoutDone))));
console.log(table.toString());

function row(name: string, { requests, sourceTokens }: Reading): string[] {
  const total = sum(requests.map(tokensOf));
  const workers = ["observer", "reflector", "dropper"] as const;
  const shares = workers.flatMap((worker) => {
    const own = requests.filter(({ role }) => role === worker);
    return own.length === 0 ? [] : [`${worker} ${percent(repeated(own) / sum(own.map(tokensOf)))}`];
  });
  const all = sum(workers.map((worker) => repeated(requests.filter(({ role }) => role === worker))));
  return [
    name,
    `${requests.length}`,
    `${(total / sourceTokens).toFixed(2)}\n(${total} of ${sourceTokens})`,
    [`all ${percent(all / total)}`, ...shares].join("\n"),
  ];
}

/** Tokens that requests of one worker share with the one before each, from its start. */
function repeated(requests: readonly RecordedRequest[]): number {
  const texts = requests.map(({ body }) => textOf(body));
  return sum(
    texts.map((text, index) => {
      const before = texts[index - 1] ?? "";
      let at = 0;
      while (at < text.length && text[at] === before[at]) at++;
      return estimateTextTokens(text.slice(0, at));
    }),
  );
}

function tokensOf({ body }: RecordedRequest): number {
  return estimateTextTokens(textOf(body));
}

/** A request in the order in which providers read it. */
function textOf(body: ChatRequest): string {
  const others = body.messages.filter(({ role }) => role !== "system" && role !== "user");
  const followUp = others.length === 0 ? "" : JSON.stringify(others);
  return `${systemText(body)}\n${JSON.stringify(body.tools)}\n${userText(body)}\n${followUp}`;
}

/** Plays a session's messages, turn by turn; each turn's workers are waited for. */
async function played(messages: readonly SessionEntry[], script: Script): Promise<Reading> {
  const model = await startScriptedModel(script);
  const dir = mkdtempSync(join(tmpdir(), "memory-lanes-bench-"));
  try {
    // Sessions in memory run no workers by themselves.
    writeFileSync(
      join(dir, "settings.json"),
      JSON.stringify({ "observational-memory": { subagents: "on" } }),
    );
    const manager = SessionManager.inMemory(dir);
    const session = openWithModel(manager, dir, {
      model: modelAt(model.url),
      stream: (context, options) =>
        streamSimple(modelAt(model.url), normalizeContext(context), { apiKey: "none", ...options }),
    });
    let sourceTokens = 0;
    for (const entry of messages) {
      if (entry.type !== "message") continue;
      if (entry.message.role === "assistant") {
        session.turnEnded();
        await session.whenIdle();
      }
      manager.appendMessage(entry.message as Parameters<SessionManager["appendMessage"]>[0]);
      sourceTokens += estimateMessageTokens(entry.message);
    }
    session.turnEnded();
    await session.whenIdle();
    await session.close("quit");
    if (model.scriptErrors[0]) throw model.scriptErrors[0];
    return { sourceTokens, requests: model.requests };
  } finally {
    await model.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

function scripted(answering: (handler: Handler) => Handler = (handler) => handler): Script {
  return { observer: answering(observer), reflector: answering(defaultReflector) };
}

/** The same, but for the word that ends a run with its call. */
function withoutDone(handler: Handler): Handler {
  return async (request, nth) => {
    const reply = await handler(request, nth);
    if (!("toolCalls" in reply)) return reply;
    const toolCalls = reply.toolCalls?.map(({ name, arguments: args }) => ({
      name,
      arguments: typeof args === "string" ? args : { ...args, done: undefined },
    }));
    return { ...reply, toolCalls: toolCalls ?? [] };
  };
}

/** Notes lines evenly over what it is shown. */
function observer(request: ChatRequest): Reply {
  if (freshToolResults(request).length > 0) return { text: "nothing" };
  const blocks = chunkBlocks(request).filter(({ text }) => text !== "");
  const step = Math.max(1, Math.floor(blocks.length / LINES_PER_RUN));
  const observations = blocks
    .filter((_, index) => index % step === 0)
    .slice(0, LINES_PER_RUN)
    .map(({ entryId, speaker, text }) => ({
      content: `${speaker}: ${text.replace(/\s+/g, " ")}`.slice(0, CHARACTERS_PER_LINE),
      relevance: "medium",
      sourceEntryIds: [entryId],
    }));
  return { toolCalls: [{ name: "record_observations", arguments: { observations, done: true } }] };
}

/** The file's current branch, from a copy, since Pi migrates a file that it opens. */
function entriesOf(path: string): SessionEntry[] {
  const folder = mkdtempSync(join(tmpdir(), "memory-lanes-bench-"));
  try {
    const copy = join(folder, "session.jsonl");
    copyFileSync(path, copy);
    return SessionManager.open(copy).getBranch();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function modelAt(baseUrl: string) {
  return {
    ...{
      id: "scripted",
      name: "Scripted",
      api: "openai-completions" as const,
      provider: "loopback",
      baseUrl,
    },
    ...{ reasoning: false, input: ["text" as const], contextWindow: 200_000, maxTokens: 16_384 },
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
