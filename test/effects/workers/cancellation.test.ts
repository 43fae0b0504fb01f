import { createAssistantMessageEventStream } from "@earendil-works/pi-ai";
import { Subject } from "rxjs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watching } from "../../../src/effects/effect.ts";
import type { LiveSession } from "../../../src/effects/live-session.ts";
import { runLoop } from "../../../src/effects/loop.ts";
import type { ModelAccess } from "../../../src/effects/workers/model/request.ts";
import { workerRuns } from "../../../src/effects/workers/runs.ts";
import { createEngine } from "../../../src/machines/engine.ts";
import type { EngineEvent, Unstamped } from "../../../src/reducers/engine/events.ts";
import { DEFAULT_SETTINGS } from "../../../src/reducers/settings.ts";
import { fact, opened, user } from "../../support/sessions/builders.ts";

/** A session whose observer's request hangs; nothing ends it but `abortRun`, since `closed$` stays silent. */
function hanging() {
  const engine = createEngine();
  const piEvents$ = new Subject<Unstamped>();
  const events: EngineEvent[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  const streams: ReturnType<typeof createAssistantMessageEventStream>[] = [];
  const stream: ModelAccess["stream"] = (_context, { signal }) => {
    signals.push(signal);
    const answer = createAssistantMessageEventStream();
    streams.push(answer);
    return answer;
  };
  const append = vi.fn();
  const model = {
    id: "m",
    provider: "fake",
    contextWindow: 100_000,
    maxTokens: 4096,
  } as ModelAccess["model"];
  const session: Partial<LiveSession> = {
    state: () => engine.state,
    lookup: (id) => user(id, "word ".repeat(20)),
    isOpen: () => true,
    isEnding: () => false,
    isExtendedElsewhere: () => false,
    sync() {},
    append,
    workerModel: () => ({ access: { model, stream } }),
    now: () => Date.now(),
  };
  runLoop({
    engine,
    piEvents$,
    closed$: new Subject(),
    session: session as LiveSession,
    effects: [watching(({ event }) => events.push(event)), workerRuns],
    onFailure: (error) => {
      throw error;
    },
  });
  piEvents$.next(opened([fact.user("e1", 20)], { observeAfterTokens: 10 }));
  piEvents$.next({ type: "turn.ended" });
  const results = () => events.filter(({ type }) => type === "run.finished");
  const abort = () => piEvents$.next({ type: "session.closed", reason: "new" });
  return { abort, results, signals, streams, append };
}

describe("a run that the lane aborts", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("lets go of its request and its timers at once, and ends in exactly one result", async () => {
    const { abort, results, signals, streams, append } = hanging();
    await vi.advanceTimersByTimeAsync(10);
    expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
    abort();
    expect(results()).toMatchObject([{ worker: "observer", outcome: "aborted", coversUpToId: null }]);
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
    expect(vi.getTimerCount()).toBe(0);
    streams[0]?.end();
    await vi.advanceTimersByTimeAsync(DEFAULT_SETTINGS.workerTimeoutMs * 2);
    expect(results()).toHaveLength(1);
    expect(append).not.toHaveBeenCalled();
  });

  it("makes no request when it was about to start", async () => {
    const { abort, results, signals } = hanging();
    abort();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(10);
    expect(signals).toEqual([]);
    expect(results()).toMatchObject([{ outcome: "aborted" }]);
  });
});
