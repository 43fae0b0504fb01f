import type { Api, Model } from "@earendil-works/pi-ai";
import { windowOf } from "./prompt-room.ts";
import type { ModelAccess } from "./request.ts";

/** What models turned out to take. It is learnt from refusals, for as long as the session is open. */
export interface LearntWindows {
  /** The same model with the window that it is now taken to have */
  within(access: ModelAccess): ModelAccess;
  /** Says that a request of so many tokens, output included, was too long for the model. */
  refused(model: Model<Api>, tokens: number): void;
}

/** No further down: a request that is still refused has another fault. */
const SMALLEST_WINDOW = 4096;

/**
 * Pi takes a model that says nothing of its limits, as local ones do, to have a large window. A request that is refused as
 * too long tells better: half of it is what later ones may have, so that prompt, prior memory and output all shrink until
 * they pass, and stay so. Otherwise each run would begin with the same refusals.
 */
export function createLearntWindows(): LearntWindows {
  const learnt = new Map<string, number>();
  return {
    within(access) {
      const contextWindow = learnt.get(nameOf(access.model));
      return contextWindow === undefined ? access : { ...access, model: { ...access.model, contextWindow } };
    },
    refused(model, tokens) {
      const passes = Math.floor(Math.min(windowOf(model), tokens) / 2);
      learnt.set(nameOf(model), Math.max(Math.min(SMALLEST_WINDOW, windowOf(model)), passes));
    },
  };
}

function nameOf({ provider, id }: Model<Api>): string {
  return `${provider}/${id}`;
}
