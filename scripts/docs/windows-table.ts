import type { Api, Model } from "@earendil-works/pi-ai";
import { roomFor, WindowTooSmallError } from "../../src/effects/workers/model/prompt-room.ts";
import { outputBudget } from "../../src/effects/workers/model/request.ts";
import { largestChunk } from "../../src/effects/workers/observer.ts";
import { DROPPER_SYSTEM_PROMPT } from "../../src/effects/workers/prompts/dropper-prompt.ts";
import { REFLECTOR_SYSTEM_PROMPT } from "../../src/effects/workers/prompts/reflector-prompt.ts";
import { collectDrops, collectReflections } from "../../src/effects/workers/tools/worker-tools.ts";
import { foldRoom, summaryRoom } from "../../src/reducers/ledger/fold-room.ts";
import { DEFAULT_SETTINGS, observerChunkBudget } from "../../src/reducers/settings.ts";
import { markdownTable } from "./markdown-table.ts";

const WINDOWS = [4096, 8192, 16_384, 32_768, 131_072, 200_000, 1_000_000, 0];

/** What each worker is asked for in windows of these sizes, and what a full summary takes, at default settings. */
export function windowsTable(): string {
  const none = () => false;
  const memory = { statusOf: () => "unknown" as const, isShown: none };
  const rows = WINDOWS.map((contextWindow) => {
    const model = { id: "a model", contextWindow, maxTokens: 64_000 } as Model<Api>;
    const access = {
      model,
      stream: () => {
        throw new Error("nothing is asked");
      },
    };
    const limits = { maxTurns: 1, maxTokens: outputBudget(model, undefined), timeoutMs: 1 };
    const reads = (
      systemPrompt: string,
      { tool }: ReturnType<typeof collectDrops | typeof collectReflections>,
    ) => orNone(() => grouped(roomFor(access, { systemPrompt, tool }, limits).userPrompt));
    const chunk = () =>
      Math.min(largestChunk(access, limits), observerChunkBudget(DEFAULT_SETTINGS, contextWindow));
    const request = { systemPrompt: REFLECTOR_SYSTEM_PROMPT, tool: collectReflections(none, memory).tool };
    return [
      contextWindow === 0 ? "unknown" : grouped(contextWindow),
      orNone(() => grouped(chunk())),
      reads(REFLECTOR_SYSTEM_PROMPT, collectReflections(none, memory)),
      reads(DROPPER_SYSTEM_PROMPT, collectDrops(none)),
      orNone(() => grouped(roomFor(access, request, limits).limits.maxTokens)),
      grouped(fullSummary(contextWindow)),
    ];
  });
  const head = ["window", "observer reads", "reflector reads", "dropper reads", "output", "full summary"];
  return markdownTable(head, rows);
}

/** Tokens of Pi's own settings; in a smaller window, as somebody who uses one sets them. */
const [RESERVE, KEEP] = [16_384, 20_000];

function fullSummary(contextWindow: number): number {
  const share = contextWindow === 0 ? Number.POSITIVE_INFINITY : contextWindow / 4;
  const room = foldRoom(DEFAULT_SETTINGS, { contextWindow, reserveTokens: Math.min(RESERVE, share) });
  return summaryRoom(room, Math.min(KEEP, share));
}

function orNone(tokens: () => string): string {
  try {
    return tokens();
  } catch (error) {
    if (error instanceof WindowTooSmallError) return "does not run";
    throw error;
  }
}

function grouped(tokens: number): string {
  return tokens.toLocaleString("en-US");
}
