import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Api,
  type AssistantMessage,
  createAssistantMessageEventStream,
  getCurrentSystemPrompt,
  getCurrentTools,
  type Model,
  type SimpleStreamOptions,
  type TranscriptContext,
} from "@earendil-works/pi-ai";
import type { ExtensionAPI, ProviderConfig } from "@earendil-works/pi-coding-agent";

/** Where the provider without a server says what it was asked. */
export const STREAMED = "streamed.ndjson";
/** The file whose text is the key of the `locked` provider. */
export const KEY_FILE = "locked.key";

/**
 * Another extension, for tests: providers of its own, which workers may use through Pi's registry. `second` and `locked`
 * speak to the scripted model; `streamed` answers in process. `/test:provider on|off NAME` comes and goes.
 */
export default function otherProviders(pi: ExtensionAPI): void {
  const agentDir = process.env.PI_CODING_AGENT_DIR ?? "";
  const { providers } = JSON.parse(readFileSync(join(agentDir, "models.json"), "utf8")) as {
    providers: Record<string, { baseUrl: string }>;
  };
  const baseUrl = providers.scripted?.baseUrl ?? "";
  const model = {
    name: "A model of another extension",
    reasoning: false,
    input: ["text" as const],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 100_000,
    maxTokens: 4096,
  };
  const configs: Record<string, ProviderConfig> = {
    second: {
      baseUrl,
      apiKey: "no-secret",
      api: "openai-completions",
      headers: { "x-test-provider": "second" },
      models: [{ ...model, id: "second-model" }],
    },
    locked: {
      baseUrl,
      apiKey: `!cat ${join(agentDir, KEY_FILE)}`,
      api: "openai-completions",
      models: [{ ...model, id: "locked-model" }],
    },
    streamed: {
      baseUrl: "http://127.0.0.1:9",
      apiKey: "no-secret",
      api: "a-wire-of-its-own",
      models: [{ ...model, id: "streamed-model" }],
      streamSimple: (asked, context, options) => answer(asked, context, options, join(agentDir, STREAMED)),
    },
  };
  for (const name of ["second", "locked", "streamed"]) pi.registerProvider(name, configs[name] ?? {});

  pi.registerCommand("test:provider", {
    description: "Register a provider (on) or take it away (off)",
    handler: async (args) => {
      const [what, name = ""] = args.trim().split(" ");
      if (what === "on") pi.registerProvider(name, configs[name] ?? {});
      else pi.unregisterProvider(name);
    },
  });
}

/** Records one observation that cites the first block of the chunk, then is done. */
function answer(
  asked: Model<Api>,
  context: TranscriptContext,
  options: SimpleStreamOptions | undefined,
  log: string,
) {
  const tools = getCurrentTools(context.messages).map(({ name }) => name);
  const prompt = JSON.stringify(context.messages);
  const said = {
    systemPrompt: getCurrentSystemPrompt(context.messages) ?? "",
    tools,
    apiKey: options?.apiKey ?? "",
    hasSignal: options?.signal !== undefined,
  };
  appendFileSync(log, `${JSON.stringify(said)}\n`);
  const isFirst = !context.messages.some(({ role }) => role === "toolResult");
  const source = /\[Source entry id: ([0-9a-f]+)\]/.exec(prompt)?.[1] ?? "";
  const observation = { content: "Streamed in process.", relevance: "high", sourceEntryIds: [source] };
  const message: AssistantMessage = {
    role: "assistant",
    api: asked.api,
    provider: asked.provider,
    model: asked.id,
    content: isFirst
      ? [{ type: "toolCall", id: "1", name: tools[0] ?? "", arguments: { observations: [observation] } }]
      : [{ type: "text", text: "Done." }],
    usage: {
      input: 100,
      output: 10,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 110,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.25 },
    },
    stopReason: isFirst ? "toolUse" : "stop",
    timestamp: Date.now(),
  };
  const stream = createAssistantMessageEventStream();
  stream.push({ type: "start", partial: message });
  stream.push({ type: "done", reason: isFirst ? "toolUse" : "stop", message });
  stream.end();
  return stream;
}
