import type { Api, Model } from "@earendil-works/pi-ai";
import { normalizeContext } from "@earendil-works/pi-ai";
import { streamSimple } from "@earendil-works/pi-ai/api/openai-completions";
import type { ModelAccess, WorkerLimits } from "../../../src/effects/workers/model/request.ts";

export function modelAt(
  url: string,
  changes: Partial<Model<"openai-completions">> = {},
): Model<"openai-completions"> {
  return {
    id: "scripted",
    name: "Scripted",
    api: "openai-completions",
    provider: "loopback",
    baseUrl: url,
    reasoning: false,
    input: ["text"],
    cost: { input: 1, output: 10, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 128_000,
    maxTokens: 16_384,
    ...changes,
  };
}

/** A model behind pi-ai's real OpenAI implementation, as Pi's registry would reach it. */
export function accessTo(url: string, changes: Partial<Model<"openai-completions">> = {}): ModelAccess {
  const model = modelAt(url, changes);
  return {
    model: model as Model<Api>,
    stream: (context, options) =>
      streamSimple(model, normalizeContext(context), { apiKey: "none", ...options }),
  };
}

export function limitsOf(changes: Partial<WorkerLimits> = {}): WorkerLimits {
  return {
    maxTurns: 16,
    maxTokens: 1000,
    timeoutMs: 20_000,
    retryAfterMs: 1,
    ...changes,
  };
}
