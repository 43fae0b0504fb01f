import { type Observable, Subject } from "rxjs";
import type { Command } from "../../../src/machines/commands.ts";
import { createEngine, type Engine, type Step } from "../../../src/machines/engine.ts";
import type { RunResult, Unstamped } from "../../../src/reducers/engine/events.ts";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import type { Settings } from "../../../src/reducers/settings.ts";
import { fact, finished, opened, stamped } from "../sessions/builders.ts";

/** An engine told events by hand, at a clock of its own: tests read "given these, when this, then that". */
export interface Schedule {
  readonly engine: Engine;
  readonly steps: Step[];
  readonly steps$: Observable<Step>;
  /** Puts an event in and gives what it did. */
  tell(event: Unstamped): Step;
  /** Moves event time on, in milliseconds. */
  wait(ms: number): void;
  /** Appends one user message of so many source tokens. */
  say(tokens: number): Step;
  /** A turn with so many new source tokens, up to its `turn_end`. */
  turn(tokens?: number): Step;
  settle(): Step;
  /** Ends the run in flight; `recorded` appends a ledger entry first, as the effect does. */
  finish(outcome: RunResult["outcome"], options?: { tokens?: number; watermark?: string }): Step;
  /** A compaction that kept the entries from this id on. */
  compact(firstKeptEntryId: string): Step;
  /** The run ids that were started and not finished. */
  readonly inFlight: Extract<Command, { type: "startRun" }>[];
  /** Id of the last entry on the branch */
  readonly tip: string;
}

const START = Date.parse("2026-01-15T14:30:00.000Z");

export function schedule(settings: Partial<Settings> = {}, contextWindow?: number): Schedule {
  const engine = createEngine();
  const steps: Step[] = [];
  const steps$ = new Subject<Step>();
  let at = START;
  let seq = 0;
  let entries = 0;
  let tip = "";
  let inFlight: Extract<Command, { type: "startRun" }>[] = [];

  function tell(event: Unstamped): Step {
    seq++;
    const step = engine.step(stamped(event, seq, at));
    steps.push(step);
    steps$.next(step);
    for (const command of step.commands) if (command.type === "startRun") inFlight.push(command);
    if (event.type === "run.finished") inFlight = inFlight.filter(({ runId }) => runId !== event.runId);
    return step;
  }
  function extend(next: (id: string) => EntryFact): Step {
    tip = `e${++entries}`;
    return tell({ type: "branch.extended", entries: [next(tip)] });
  }
  const self: Schedule = {
    engine,
    steps,
    steps$,
    tell,
    wait: (ms) => {
      at += ms;
    },
    say: (tokens) => extend((id) => fact.user(id, tokens)),
    turn(tokens = 0) {
      if (tokens > 0) self.say(tokens);
      return tell({ type: "turn.ended" });
    },
    settle: () => tell({ type: "agent.settled", aborted: false }),
    finish(outcome, { tokens = 100, watermark = tip } = {}) {
      const run = inFlight[0];
      if (!run) throw new Error("no run is in flight");
      const record = `${entries.toString(16).padStart(12, "0")}:${tokens}`;
      if (outcome === "recorded") extend((id) => fact.recorded(run.worker, id, watermark, record));
      return tell(finished(run.runId, run.worker, outcome, watermark));
    },
    compact(firstKeptEntryId) {
      tell({ type: "compaction.started", reason: "manual" });
      extend((id) => fact.compaction(id, firstKeptEntryId));
      return tell({ type: "compaction.finished", folded: true });
    },
    get inFlight() {
      return inFlight;
    },
    get tip() {
      return tip;
    },
  };
  tell(opened([], settings, { sessionId: "test", ...(contextWindow !== undefined && { contextWindow }) }));
  return self;
}
