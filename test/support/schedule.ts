import { type Observable, Subject } from "rxjs";
import type { Command } from "../../src/machines/commands.ts";
import { createEngine, type Engine, type Step } from "../../src/machines/engine.ts";
import { noUsage } from "../../src/reducers/engine/engine-state.ts";
import type { EngineEvent, RunResult, Unstamped } from "../../src/reducers/engine/events.ts";
import type { Worker } from "../../src/reducers/engine/lane-names.ts";
import { type EntryFact, EntryFactSchema, type LedgerFact } from "../../src/reducers/entries/entry-fact.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../src/reducers/settings.ts";

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
  finish(outcome: RunResult["outcome"], options?: { tokens?: number; covers?: string }): Step;
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
    const step = engine.step({ v: 1, seq, at: new Date(at).toISOString(), ...event } as EngineEvent);
    steps.push(step);
    steps$.next(step);
    for (const command of step.commands) if (command.type === "startRun") inFlight.push(command);
    if (event.type === "run.finished") inFlight = inFlight.filter(({ runId }) => runId !== event.runId);
    return step;
  }
  function extend(fact: Partial<EntryFact>): Step {
    tip = `e${++entries}`;
    return tell({
      type: "branch.extended",
      entries: [EntryFactSchema.parse({ id: tip, kind: "other", tokens: 0, ...fact })],
    });
  }
  const self: Schedule = {
    engine,
    steps,
    steps$,
    tell,
    wait: (ms) => {
      at += ms;
    },
    say: (tokens) => extend({ kind: "user", tokens, source: true }),
    turn(tokens = 0) {
      if (tokens > 0) self.say(tokens);
      return tell({ type: "turn.ended" });
    },
    settle: () => tell({ type: "agent.settled", aborted: false }),
    finish(outcome, { tokens = 100, covers = tip } = {}) {
      const run = inFlight[0];
      if (!run) throw new Error("no run is in flight");
      if (outcome === "recorded")
        extend({ kind: "ledger", ledger: ledgerFact(run.worker, covers, entries, tokens) });
      return tell(finished(run.runId, run.worker, outcome, covers));
    },
    compact(firstKeptEntryId) {
      tell({ type: "compaction.started", reason: "manual" });
      extend({ kind: "compaction", compaction: { firstKeptEntryId, folded: true, fullFold: false } });
      return tell({ type: "compaction.finished", folded: true });
    },
    get inFlight() {
      return inFlight;
    },
    get tip() {
      return tip;
    },
  };
  tell({
    type: "session.opened",
    reason: "startup",
    sessionId: "test",
    settings: { ...DEFAULT_SETTINGS, ...settings },
    ...(contextWindow === undefined ? {} : { contextWindow }),
    branch: [],
  });
  return self;
}

/** A user message of so many source tokens, for the branches that a test makes up. */
export function fact(id: string, tokens: number): EntryFact {
  return { id, kind: "user", tokens, source: true };
}

/** A ledger entry, likewise. */
export function ledgerEntry(id: string, ledger: LedgerFact): EntryFact {
  return { id, kind: "ledger", tokens: 0, ledger };
}

/** A branch on which something is remembered, and nothing else: no clock counts it. */
export const MEMORY: readonly EntryFact[] = [
  fact("m", 0),
  ledgerEntry("memory", {
    type: "observations",
    coversUpToId: "m",
    records: [{ id: "0123456789ab", tokens: 5, relevance: "medium", sources: ["m"], index: 0 }],
  }),
];

export function finished(
  runId: string,
  worker: Worker,
  outcome: RunResult["outcome"],
  coversUpToId: string | null,
): Unstamped {
  return {
    type: "run.finished",
    runId,
    worker,
    outcome,
    coversUpToId,
    records: outcome === "recorded" ? 1 : 0,
    rejected: 0,
    requests: 1,
    sourceTokens: 0,
    durationMs: 1,
    usage: noUsage(),
    ...(outcome === "failed" ? { failure: { kind: "other", message: "test" } } : {}),
  };
}

function ledgerFact(worker: Worker, coversUpToId: string, n: number, tokens: number): EntryFact["ledger"] {
  const id = n.toString(16).padStart(12, "0");
  switch (worker) {
    case "observer":
      return {
        type: "observations",
        coversUpToId,
        records: [{ id, tokens, relevance: "medium", sources: [coversUpToId], index: 0 }],
      };
    case "reflector":
      return { type: "reflections", coversUpToId, records: [{ id, tokens, supports: [], index: 0 }] };
    case "dropper":
      return { type: "drops", coversUpToId, observationIds: [id] };
  }
}
