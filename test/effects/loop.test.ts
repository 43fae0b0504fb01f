import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { mergeMap, NEVER, Observable, of, Subject, timer } from "rxjs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { commandsOf, type Effect, watching } from "../../src/effects/effect.ts";
import type { LiveSession } from "../../src/effects/live-session.ts";
import { runLoop } from "../../src/effects/loop.ts";
import { footer } from "../../src/host/pi/ui/footer.ts";
import { createEngine, type Step } from "../../src/machines/engine.ts";
import type { EngineEvent, Unstamped } from "../../src/reducers/engine/events.ts";
import { fact, finished, opened } from "../support/sessions/builders.ts";

const OPENED = opened([fact.user("e1", 20)], { observeAfterTokens: 10 });
const TURN: Unstamped = { type: "turn.ended" };

function started(...effects: Effect[]) {
  const piEvents$ = new Subject<Unstamped>();
  const closed$ = new Subject<void>();
  const steps: Step[] = [];
  const failures: unknown[] = [];
  const completed = vi.fn();
  const steps$ = runLoop({
    engine: createEngine(),
    piEvents$,
    closed$,
    session: { now: () => Date.now(), isOpen: () => true } as LiveSession,
    effects: [watching((step) => steps.push(step)), ...effects],
    onFailure: (error) => failures.push(error),
  });
  steps$.subscribe({ complete: completed });
  const types = () => steps.map(({ event }) => event.type);
  return { piEvents$, closed$, steps, steps$, types, failures, completed };
}

/** An effect that answers each run at once. */
const answering: Effect = (steps$) =>
  commandsOf(steps$).pipe(
    mergeMap((command) =>
      command.type === "startRun" ? of(finished(command.runId, command.worker, "empty", "e1")) : [],
    ),
  );

describe("the loop", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("has taken an event's step when it has been put in, and numbers the events", () => {
    const { piEvents$, steps, types } = started();
    piEvents$.next(OPENED);
    expect(types()).toEqual(["session.opened"]);
    piEvents$.next(TURN);
    expect(steps.map(({ event }) => event.seq)).toEqual([1, 2]);
  });

  it("takes an effect's answer after the step that it answers, which every effect has seen by then", () => {
    const seen: string[] = [];
    const last = watching(({ event }) => seen.push(event.type));
    const { piEvents$, types } = started(answering, last);
    piEvents$.next(OPENED);
    piEvents$.next(TURN);
    expect(types()).toEqual(["session.opened", "turn.ended", "run.finished"]);
    expect(seen).toEqual(types());
  });

  it("ends everything that is under way when the session is closed: no answer, no timer, no request", async () => {
    const cancelled = vi.fn();
    const request: Effect = (steps$) =>
      commandsOf(steps$).pipe(mergeMap(() => new Observable<Unstamped>(() => cancelled)));
    const late: Effect = (steps$) => steps$.pipe(mergeMap(() => timer(1000).pipe(mergeMap(() => of(TURN)))));
    const { piEvents$, closed$, steps, completed } = started(request, late);
    piEvents$.next(OPENED);
    piEvents$.next(TURN);
    expect(vi.getTimerCount()).toBeGreaterThan(0);
    closed$.next();
    expect(cancelled).toHaveBeenCalledOnce();
    expect(completed).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(5000);
    piEvents$.next(TURN);
    expect(steps).toHaveLength(2);
  });

  it("tells once of an engine that cannot go on, and ends everything then, too", () => {
    const cancelled = vi.fn();
    const request: Effect = (steps$) =>
      commandsOf(steps$).pipe(mergeMap(() => new Observable<Unstamped>(() => cancelled)));
    const { piEvents$, types, failures, completed } = started(request);
    piEvents$.next(OPENED);
    piEvents$.next(TURN);
    piEvents$.next({ type: "branch.extended" } as unknown as EngineEvent);
    piEvents$.next(TURN);
    expect(types()).toEqual(["session.opened", "turn.ended"]);
    expect(failures).toEqual([expect.objectContaining({ message: expect.stringContaining("event 3") })]);
    expect(cancelled).toHaveBeenCalledOnce();
    expect(completed).toHaveBeenCalledOnce();
  });

  it("gives whoever looks on later the end, and no loop of their own", () => {
    const { piEvents$, steps$, failures, types } = started();
    piEvents$.next(OPENED);
    piEvents$.next({ type: "branch.extended" } as unknown as EngineEvent);
    expect(failures).toHaveLength(1);
    const later = vi.fn();
    const seen: string[] = [];
    steps$.subscribe({ next: ({ event }) => seen.push(event.type), complete: later });
    expect(later).toHaveBeenCalledOnce();
    piEvents$.next({ type: "branch.extended" } as unknown as EngineEvent);
    expect(failures).toHaveLength(1);
    expect(seen).toEqual([]);
    expect(types()).toEqual(["session.opened"]);
  });

  it("lets nobody who looks on end the session", () => {
    const broken = watching(() => {
      throw new Error("no screen");
    });
    const { piEvents$, types } = started(broken, answering, () => NEVER);
    piEvents$.next(OPENED);
    piEvents$.next(TURN);
    expect(types()).toEqual(["session.opened", "turn.ended", "run.finished"]);
  });

  it("goes on when the footer's theme cannot colour a text", async () => {
    const setStatus = vi.fn();
    let broken = true;
    const fg = (_tone: string, text: string) => {
      if (broken) throw new Error("no theme");
      return text;
    };
    const ctx = { mode: "tui", hasUI: true, ui: { setStatus, theme: { fg } } } as unknown as ExtensionContext;
    const { piEvents$, closed$, types } = started(footer(ctx), answering);
    piEvents$.next(OPENED);
    piEvents$.next(TURN);
    expect(types()).toEqual(["session.opened", "turn.ended", "run.finished"]);
    broken = false;
    piEvents$.next(TURN);
    await vi.advanceTimersByTimeAsync(1000);
    expect(setStatus).toHaveBeenLastCalledWith("om", expect.stringContaining("observe"));
    closed$.next();
    expect(setStatus).toHaveBeenLastCalledWith("om", undefined);
  });

  it("ends, and tells of it once, when an effect fails", () => {
    const failing: Effect = (steps$) =>
      steps$.pipe(
        mergeMap(() => {
          throw new Error("no effect");
        }),
      );
    const { piEvents$, failures, completed } = started(failing);
    piEvents$.next(OPENED);
    piEvents$.next(TURN);
    vi.runAllTimers();
    expect(failures).toEqual([expect.objectContaining({ message: "no effect" })]);
    expect(completed).toHaveBeenCalledOnce();
  });
});
