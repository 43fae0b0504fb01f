import { filter, ignoreElements, Observable, take, tap } from "rxjs";
import type { Effect } from "./effect.ts";

/** How long something may go on at most after the session has gone, in milliseconds. */
const LOOK_EVERY_MS = 250;

/**
 * Calls `end`, once, when the session is gone without Pi having said so, as after `AgentSession.dispose()`. What is under way
 * must not wait for its next step to find out: a request that nobody will read costs money and keeps the process alive.
 */
export function whenGone(end: () => void): Effect {
  return (_steps$, session) =>
    looks.pipe(
      filter(() => !session.isOpen()),
      take(1),
      tap(end),
      ignoreElements(),
    );
}

/** A timer that keeps no process alive. */
const looks = new Observable<void>((subscriber) => {
  const timer = setInterval(() => subscriber.next(), LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
});
