import type { Step } from "./engine.ts";
import type { EngineEvent } from "./events.ts";
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
  event(number: number, step: Step): void;
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
  let lastEvents: NumberedEvent[] = [];
  let pending: { number: number; actual: Decided } | undefined;
  let isLost = false;
  /** The event taken last may have had a decision that could not be read. */
  let isUnsure = false;

  function settle(expected: Decided): void {
    if (!pending || result.difference) return;
    const { number, actual } = pending;
    pending = undefined;
    result.compared++;
    if (expected !== NOTHING) result.decisions++;
    if (expected !== actual && !same(expected, actual)) report(number, expected, actual);
  }

  function report(number: number, expected: Decided, actual: Decided): void {
    const event = lastEvents.at(-1)?.event;
    if (event) result.difference = { number, event, expected, actual, lastEvents };
  }

  return {
    event(number, step) {
      settle(NOTHING);
      if (isUnsure) result.unverified++;
      isUnsure = false;
      if (result.difference) return;
      lastEvents = [...lastEvents.slice(1 - EVENTS_SHOWN), { number, event: step.event }];
      if (isLost) result.unverified++;
      else pending = { number, actual: decidedBy(step) };
    },
    decision({ seq, transitions, commands }) {
      if (isLost || result.difference) return;
      const expected = { transitions, commands };
      const last = lastEvents.at(-1);
      if (last?.event.seq === seq && pending) settle(expected);
      else if (last) report(last.number, expected, NOTHING);
    },
    lostLine() {
      // Nobody misses the last words of a process that was killed while it wrote: only a next event tells of a loss.
      isUnsure = pending !== undefined;
      pending = undefined;
    },
    lostEvents() {
      isLost = true;
    },
    opens() {
      settle(NOTHING);
      isUnsure = false;
      isLost = false;
    },
    end({ truncated }) {
      if (!truncated) settle(NOTHING);
    },
    result,
  };
}

function decidedBy({ transitions, commands }: Step): Decided {
  return transitions.length === 0 && commands.length === 0 ? NOTHING : { transitions, commands };
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
