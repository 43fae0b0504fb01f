import { readFileSync } from "node:fs";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { PromptCache } from "../../../effects/live-session.ts";
import { fieldsOf } from "../../../reducers/entries/entry.ts";
import { KEEP_RECENT_TOKENS } from "../../../reducers/ledger/proposed-cut.ts";

/** The prompt cache of the session's context, where Pi says how large that is. */
export function promptCacheOf(ctx: ExtensionContext, keepTokens: number): PromptCache | undefined {
  const { model } = ctx;
  const contextTokens = ctx.getContextUsage?.()?.tokens;
  if (!model || !contextTokens) return undefined;
  const seconds = model.promptCache?.[retention()];
  const { cacheWrite = 0, input = 0 } = model.cost ?? {};
  const usdPerMillion = cacheWrite > 0 ? cacheWrite : input;
  return {
    model: `${model.provider}/${model.id}`,
    contextTokens,
    keepTokens,
    lifetimeMs: seconds === undefined ? undefined : seconds * 1000,
    usdPerMillion: usdPerMillion > 0 ? usdPerMillion : undefined,
  };
}

/** The tier of caching that Pi asks providers for. */
function retention(): "long" | "short" {
  return process.env.PI_CACHE_RETENTION === "long" ? "long" : "short";
}

/** What Pi keeps verbatim when it compacts, by its settings files; a later one is stronger. */
export function keptByPi(files: readonly string[]): number {
  const kept = files.map((file) => fieldsOf(fieldsOf(jsonIn(file)).compaction).keepRecentTokens);
  return (
    kept.findLast((tokens): tokens is number => typeof tokens === "number" && tokens >= 0) ??
    KEEP_RECENT_TOKENS
  );
}

function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  } catch {
    return undefined;
  }
}
