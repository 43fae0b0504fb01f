import { catchError, EMPTY, map, merge, type Observable, Subject, share, takeUntil } from "rxjs";
import { type Engine, type Step, stepsOf } from "../machines/engine.ts";
import { type EngineEvent, EVENT_VERSION, type Unstamped } from "../reducers/engine/events.ts";
import type { Effect } from "./effect.ts";
import type { LiveSession } from "./live-session.ts";

export interface LoopOptions {
  engine: Engine;
  /** What happens in Pi. An event's step has been taken when `next` returns, unless it is put in during another step. */
  piEvents$: Observable<Unstamped>;
  effects: readonly Effect[];
  session: LiveSession;
  /** The end of the session: everything that is under way is unsubscribed from. */
  closed$: Observable<unknown>;
  /** Called once when the engine or an effect cannot go on; the loop has ended then. */
  onFailure: (error: unknown) => void;
}

/**
 * The loop: Pi's events and the effects' answers are one stream, the engine makes steps of it, and the effects act on them.
 * Runs until `closed$` or until the engine or an effect fails. Gives the steps, for who watches.
 */
export function runLoop(options: LoopOptions): Observable<Step> {
  const { engine, piEvents$, effects, session, closed$, onFailure } = options;
  const answers$ = new Subject<Unstamped>();
  const ended$ = new Subject<void>();
  let seq = 0;
  const fail = (error: unknown): void => {
    ended$.next();
    onFailure(error);
  };
  const steps$ = merge(piEvents$, answers$).pipe(
    map((event): EngineEvent => stamped(event, ++seq, session.now())),
    stepsOf(engine),
    catchError((error: unknown) => {
      fail(error);
      return EMPTY;
    }),
    takeUntil(merge(closed$, ended$)),
    share({ resetOnComplete: false, resetOnError: false, resetOnRefCountZero: false }),
  );
  merge(...effects.map((effect) => effect(steps$, session)))
    .pipe(takeUntil(merge(closed$, ended$)))
    .subscribe({ next: (event) => answers$.next(event), error: fail });
  return steps$;
}

function stamped(event: Unstamped, seq: number, at: number): EngineEvent {
  return { v: EVENT_VERSION, seq, at: new Date(at).toISOString(), ...event } as EngineEvent;
}
