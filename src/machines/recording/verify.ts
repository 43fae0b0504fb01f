import type { EngineEvent } from "../../reducers/engine/events.ts";
import type { Step } from "../engine.ts";
import type { Decision } from "./recording.ts";

/** What an event made the lanes do. */
export type Decided = Pick<Decision, "transitions" | "commands">;

/** An event with its number in the recording. */
export interface NumberedEvent {
  number: number;
  event: EngineEvent;
}

/** Where a replay first came to another decision than the recording. */
export interface Difference extends NumberedEvent {
  /** What was recorded */
  expected: Decided;
  actual: Decided;
  /** The events up to this one, which is the last; five at most. */
  lastEvents: NumberedEvent[];
}

export interface Verification {
  /** Events whose decisions, or their absence, were compared. */
  compared: number;
  /** Events at which something was decided, among them. */
  decisions: number;
  /** Events that could not be compared, since lines before them or of them are missing. */
  unverified: number;
  /** The first one; nothing is compared after it. */
  difference?: Difference;
}

/** Compares what a replay decides with what was recorded, line by line. */
export interface Verifier {
  event(step: Step & { number: number }): void;
  decision(line: Decision): void;
  /** A line could not be read: it may have held the decision that is waited for. */
  lostLine(): void;
  /** Events are missing before the one that comes: from here on the lanes may stand elsewhere. */
  lostEvents(): void;
  /** Another engine's events begin. */
  opens(): void;
  end(options: { truncated: boolean }): void;
  readonly result: Verification;
}

const EVENTS_SHOWN = 5;
const NOTHING: Decided = { transitions: [], commands: [] };

export function createVerifier(): Verifier {
  const result: Verification = { compared: 0, decisions: 0, unverified: 0 };
  /** The events seen last, each in the place of the one five before it */
  const latest: NumberedEvent[] = [];
  let seen = 0;
  let pending: (Step & { number: number }) | undefined;
  let isLost = false;
  /** A line after the event taken last could not be read: it may have been its decision, or another event. */
  let isUnsure = false;

  function settle(expected: Decided): void {
    if (!pending || result.difference) return;
    const { number, transitions, commands } = pending;
    pending = undefined;
    const decidesNothing = transitions.length === 0 && commands.length === 0;
    const actual = decidesNothing ? NOTHING : { transitions, commands };
    count(expected);
    if (expected !== actual && !same(expected, actual)) report(number, expected, actual);
  }

  function count(expected: Decided): void {
    result.compared++;
    if (expected !== NOTHING) result.decisions++;
  }

  function report(number: number, expected: Decided, actual: Decided): void {
    const lastEvents = [...latest.slice(seen % EVENTS_SHOWN), ...latest.slice(0, seen % EVENTS_SHOWN)];
    const shown = lastEvents.map(({ number: n, event }) => ({ number: n, event }));
    const event = shown.at(-1)?.event;
    if (event) result.difference = { number, event, expected, actual, lastEvents: shown };
  }

  return {
    event(step) {
      // Nobody misses the last words of a process that was killed while it wrote: only a next event tells of a loss.
      if (isUnsure && pending) result.unverified++;
      else settle(NOTHING);
      isUnsure = false;
      if (result.difference) return;
      latest[seen++ % EVENTS_SHOWN] = step;
      if (isLost) result.unverified++;
      else pending = step;
    },
    decision({ seq, transitions, commands }) {
      if (isLost || isUnsure || result.difference) return;
      const expected = { transitions, commands };
      if (pending?.event.seq === seq) settle(expected);
      else {
        const last = latest[(seen - 1) % EVENTS_SHOWN];
        if (last) report(last.number, expected, NOTHING);
      }
    },
    lostLine() {
      isUnsure = true;
    },
    lostEvents() {
      isLost = true;
    },
    opens() {
      if (!isUnsure) settle(NOTHING);
      pending = undefined;
      isUnsure = false;
      isLost = false;
    },
    end({ truncated }) {
      if (!truncated && !isUnsure) settle(NOTHING);
    },
    result,
  };
}

/** Whether two values of a recording hold the same; keys that are undefined count as absent. */
function same(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const left = Object.entries(a).filter(([, value]) => value !== undefined);
  const right = new Map(Object.entries(b).filter(([, value]) => value !== undefined));
  return (
    left.length === right.size && left.every(([key, value]) => right.has(key) && same(value, right.get(key)))
  );
}
