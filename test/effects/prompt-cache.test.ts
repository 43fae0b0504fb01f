import { Subject } from "rxjs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watching } from "../../src/effects/effect.ts";
import type { LiveSession, PromptCache } from "../../src/effects/live-session.ts";
import { runLoop } from "../../src/effects/loop.ts";
import { promptCacheWatch } from "../../src/effects/prompt-cache.ts";
import { createEngine } from "../../src/machines/engine.ts";
import type { EngineEvent, Unstamped } from "../../src/reducers/engine/events.ts";
import { opened } from "../support/sessions/builders.ts";

const MINUTES = 60_000;
const CACHE: PromptCache = {
  ...{ model: "a/a", contextTokens: 50_000, keepTokens: 20_000 },
  ...{ lifetimeMs: 5 * MINUTES, usdPerMillion: 5 },
};

/** A session whose agent has just settled, with this prompt cache. */
function settled(cache: PromptCache = CACHE) {
  const piEvents$ = new Subject<Unstamped>();
  const closed$ = new Subject<void>();
  const expiries: EngineEvent[] = [];
  const current: { cache: PromptCache | undefined } = { cache };
  const session: Partial<LiveSession> = { promptCache: () => current.cache, now: () => Date.now() };
  runLoop({
    engine: createEngine(),
    piEvents$,
    closed$,
    session: session as LiveSession,
    effects: [
      watching(({ event }) => event.type === "cache.expired" && expiries.push(event)),
      promptCacheWatch,
    ],
    onFailure: (error) => {
      throw error;
    },
  });
  const tell = (event: Unstamped) => piEvents$.next(event);
  tell(opened([], {}));
  tell({ type: "agent.settled", aborted: false });
  return { tell, expiries, current, closed$ };
}

describe("the prompt cache", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("runs out once its lifetime is over, and is told of once, with what Pi says by then", () => {
    const { expiries, current } = settled();
    current.cache = { ...CACHE, contextTokens: 51_000 };
    vi.advanceTimersByTime(5 * MINUTES - 1);
    expect(expiries).toEqual([]);
    vi.advanceTimersByTime(60 * MINUTES);
    expect(expiries).toMatchObject([
      { reason: "lifetime", contextTokens: 51_000, keepTokens: 20_000, usdPerMillion: 5 },
    ]);
  });

  it("lives on when Pi refreshes it", () => {
    const { tell, expiries } = settled();
    vi.advanceTimersByTime(4.5 * MINUTES);
    tell({ type: "cache.warmed" });
    vi.advanceTimersByTime(5 * MINUTES - 1);
    expect(expiries).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(expiries).toHaveLength(1);
  });

  it("is cold for another model that has stood for ten seconds, and not for the one that comes back", () => {
    const { tell, expiries, current } = settled();
    current.cache = { ...CACHE, model: "b/b" };
    tell({ type: "model.selected" });
    vi.advanceTimersByTime(9999);
    current.cache = CACHE;
    tell({ type: "model.selected" });
    vi.advanceTimersByTime(4 * MINUTES);
    expect(expiries).toEqual([]);
    current.cache = { ...CACHE, model: "b/b", lifetimeMs: undefined };
    tell({ type: "model.selected" });
    vi.advanceTimersByTime(10_000);
    expect(expiries).toMatchObject([{ reason: "model" }]);
  });

  it.each<[string, Unstamped]>([
    ["the agent goes on", { type: "agent.started" }],
    ["Pi compacts", { type: "compaction.started", reason: "manual" }],
    ["the session moves to another branch", { type: "branch.replaced", branch: [] }],
    ["the session is closed", { type: "session.closed", reason: "quit" }],
  ])("is nobody's concern once %s", (_what, event) => {
    const { tell, expiries } = settled();
    tell(event);
    vi.advanceTimersByTime(60 * MINUTES);
    expect(expiries).toEqual([]);
  });

  it("is said nothing of where Pi does not know its lifetime or the context, nor after the end", () => {
    const { expiries } = settled({ ...CACHE, lifetimeMs: undefined });
    vi.advanceTimersByTime(60 * MINUTES);
    expect(expiries).toEqual([]);
    const gone = settled();
    gone.current.cache = undefined;
    vi.advanceTimersByTime(60 * MINUTES);
    expect(gone.expiries).toEqual([]);
    const ended = settled();
    ended.closed$.next();
    vi.advanceTimersByTime(60 * MINUTES);
    expect(ended.expiries).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
