import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

/** Tokens of the window of `small/small-model`. */
export const SMALL_WINDOW = 8192;

/** Another extension, for tests: a model with a small window behind the scripted server, for workers beside a large session. */
export default function smallModel(pi: ExtensionAPI): void {
  const path = join(process.env.PI_CODING_AGENT_DIR ?? "", "models.json");
  const { providers } = JSON.parse(readFileSync(path, "utf8")) as {
    providers: Record<string, { baseUrl: string }>;
  };
  pi.registerProvider("small", {
    baseUrl: providers.scripted?.baseUrl ?? "",
    apiKey: "no-secret",
    api: "openai-completions",
    models: [
      {
        id: "small-model",
        name: "A small local model",
        reasoning: false,
        input: ["text"],
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        contextWindow: SMALL_WINDOW,
        maxTokens: SMALL_WINDOW,
      },
    ],
  });
}
