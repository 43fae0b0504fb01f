import { from, ignoreElements, mergeMap, type Observable, tap } from "rxjs";
import type { Command } from "../machines/commands.ts";
import type { Step } from "../machines/engine.ts";
import type { Unstamped } from "../reducers/engine/events.ts";
import type { LiveSession } from "./live-session.ts";

/**
 * Something that is done in the world because of what the engine decides: from steps to the events that answer them. It lives
 * as long as it is subscribed to, so unsubscribing is how everything that it has under way is cancelled.
 */
export type Effect = (steps$: Observable<Step>, session: LiveSession) => Observable<Unstamped>;

/** What the lanes ask for, command by command. */
export function commandsOf(steps$: Observable<Step>): Observable<Command> {
  return steps$.pipe(mergeMap(({ commands }) => from(commands)));
}

/** An effect that only looks on. */
export function watching(look: (step: Step) => void): Effect {
  return (steps$) => steps$.pipe(tap(quietly(look)), ignoreElements());
}

/**
 * The same function, but what it throws goes no further: a screen that cannot be drawn on must not end the session, nor keep
 * the lanes from their work.
 */
export function quietly<T>(act: (value: T) => void): (value: T) => void {
  return (value) => {
    try {
      act(value);
    } catch {
      // Whoever looks on has lost this step, and nothing else.
    }
  };
}
