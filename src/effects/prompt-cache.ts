import { EMPTY, filter, map, mergeMap, Observable, of, switchMap } from "rxjs";
import type { EngineEvent, Unstamped } from "../reducers/engine/events.ts";
import type { Effect } from "./effect.ts";
import type { LiveSession, PromptCache } from "./live-session.ts";

/** Who looks through the models does not stop at each. */
const MODEL_STANDS_MS = 10_000;

/** Events after which the cache is another, or there is nobody to wait for. */
const CONCERNING: readonly EngineEvent["type"][] = [
  ...(["agent.started", "agent.settled", "model.selected", "cache.warmed"] as const),
  ...(["branch.replaced", "compaction.started", "session.closed"] as const),
];

/**
 * Says that the provider's prompt cache holds nothing of the context any more: once its lifetime is over since the agent settled or
 * Pi refreshed it, or when another model has stood for ten seconds. The lifetime is counted from the end of the last
 * request, so the cache is cold by then. Pi knows it of some models only; of the others nothing is said.
 */
export const promptCacheWatch: Effect = (steps$, session) => {
  /** Who has read the context last */
  let reader: string | undefined;
  return steps$.pipe(
    filter(({ event }) => CONCERNING.includes(event.type)),
    switchMap(({ event: { type }, state }): Observable<Unstamped> => {
      const cache = state.isOpen && state.agentIdle ? session.promptCache() : undefined;
      if (!cache) return EMPTY;
      if (type === "agent.settled") reader = cache.model;
      const isOther = reader !== undefined && reader !== cache.model;
      if (type === "model.selected" && isOther) return expired("model", MODEL_STANDS_MS, session);
      const isCounted = type === "agent.settled" || type === "cache.warmed" || type === "model.selected";
      if (!isCounted || isOther || cache.lifetimeMs === undefined) return EMPTY;
      return expired("lifetime", cache.lifetimeMs, session);
    }),
  );
};

/** After so many milliseconds: that the cache is cold, with what Pi says of the context by then. */
function expired(reason: "lifetime" | "model", ms: number, session: LiveSession): Observable<Unstamped> {
  return after(ms).pipe(
    map(() => session.promptCache()),
    mergeMap((cache) => (cache ? of(eventOf(reason, cache)) : EMPTY)),
  );
}

function eventOf(
  reason: "lifetime" | "model",
  { contextTokens, keepTokens, usdPerMillion }: PromptCache,
): Unstamped {
  return {
    type: "cache.expired",
    reason,
    contextTokens,
    keepTokens,
    ...(usdPerMillion !== undefined && { usdPerMillion }),
  };
}

/** A timer that keeps no process alive. */
function after(ms: number): Observable<void> {
  return new Observable((subscriber) => {
    const timer = setTimeout(() => {
      subscriber.next();
      subscriber.complete();
    }, ms);
    timer.unref();
    return () => clearTimeout(timer);
  });
}
