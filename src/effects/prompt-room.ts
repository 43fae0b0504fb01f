import type { Api, Model } from "@earendil-works/pi-ai";

const WINDOW_WHEN_UNKNOWN = 60_000;
/** Estimates may be a tenth low, and the tool's schema and the run's own later messages need room too. */
const SAFE_SHARE = 0.8;

/** Tokens that one request's prompt may have, so that prompt and output fit the model's context window. */
export function promptRoom(model: Model<Api>, maxOutputTokens: number): number {
  const window = model.contextWindow > 0 ? model.contextWindow : WINDOW_WHEN_UNKNOWN;
  return Math.max(1, Math.floor((window - Math.min(maxOutputTokens, window / 2)) * SAFE_SHARE));
}
