import { NOWHERE, positionOf } from "../../reducers/branch.ts";
import { noUsage } from "../../reducers/engine/engine-state.ts";
import { type EngineEvent, EVENT_VERSION, type Unstamped } from "../../reducers/engine/events.ts";
import type { Worker } from "../../reducers/engine/lane-names.ts";
import type { EntryFact } from "../../reducers/entries/entry-fact.ts";
import { planCut } from "../../reducers/ledger/compaction-plan.ts";
import { foldRoom } from "../../reducers/ledger/fold-room.ts";
import { isEmptySelection } from "../../reducers/ledger/projections.ts";
import { proposedCut } from "../../reducers/ledger/proposed-cut.ts";
import type { Settings } from "../../reducers/settings.ts";
import type { Command } from "../commands.ts";
import type { Step } from "../engine.ts";
import { createEngine } from "../engine.ts";
import type { Keyframe } from "../keyframe.ts";
import type { ReplayStep } from "../recording/replay-step.ts";
import { createBranchChanges } from "./simulated-branch.ts";
import { createRunMaker, type ModelledRun, type StartRun } from "./simulated-runs.ts";
import type { Price, Workload } from "./workload.ts";

/** One thing that happened, on the way through a simulation. */
export interface TimelineItem {
  event: EngineEvent;
  /**
   * Names the run or the compaction of the recorded schedule that this is a result of. It happens here only if the
   * simulated schedule took that result over.
   */
  resultOf?: string;
}

export type Request = StartRun | Extract<Command, { type: "requestCompaction" }>;

/** What comes of a run or a compaction that the simulated schedule asks for. */
export type Answer =
  /** The result that was recorded under this name. */
  | { type: "recorded"; resultOf: string }
  | { type: "modelled" }
  /** Nothing was recorded for it: a run is taken to have found nothing, a compaction to have been lost. */
  | { type: "noTrace" };

export interface SimulationOptions {
  /** Settings in place of the recorded ones */
  patch: Partial<Settings>;
  model: Workload;
  price?: Price | undefined;
  /** `cause` is the item that led to the request; undefined when a modelled event did. */
  answer: (request: Request, step: Step, cause: TimelineItem | undefined) => Answer;
}

/** How many requests were answered in which way. */
export type AnswerCounts = Record<Worker | "compaction", Record<Answer["type"], number>>;

/** A schedule run anew over recorded events: it asks for runs and compactions of its own, and gets answers. */
export interface Simulation {
  /** Begins with another engine: what is still under way in the one before it never ends. */
  open(keyframe?: Keyframe): void;
  /** Goes on to an item of the timeline; gives the steps of all that happens up to it and with it. */
  take(item: TimelineItem): ReplayStep[];
  /** Lets what is still under way come to its end. */
  finish(): ReplayStep[];
  /** Whether a request of the simulated schedule waits for the result of this name. */
  awaits(resultOf: string): boolean;
  /** Has a lane asked to run, as a user does it, without an item that says so; gives the steps. */
  demand(lane: "observer" | "reflectDrop", at: number): ReplayStep[];
  readonly counts: AnswerCounts;
}

/** Something modelled that is still to happen. */
interface Pending {
  /** Milliseconds since the epoch */
  at: number;
  runId: string;
  happen(): void;
  abort(): void;
}

export function createSimulation(options: SimulationOptions): Simulation {
  const { patch, model, price, answer } = options;
  const maker = createRunMaker(model, price);
  const branchChanges = createBranchChanges();
  const counts = newCounts();
  /** Recorded results that were taken over, and who waits for them. */
  const adopted = new Map<string, { runId: string; startedAt: number }>();
  let engine = createEngine();
  let pending: Pending[] = [];
  let steps: ReplayStep[] = [];
  let seq = 0;
  let now = 0;

  function open(keyframe?: Keyframe): void {
    engine.stop();
    engine = createEngine(keyframe ? { keyframe } : {});
    pending = [];
    adopted.clear();
    if (keyframe) for (const runId of runsInFlight(keyframe)) adopted.set(runId, { runId, startedAt: now });
  }

  function dispatch(event: Unstamped, cause?: TimelineItem): void {
    const at = cause?.event.at ?? new Date(now).toISOString();
    const step = engine.step({ ...event, v: EVENT_VERSION, seq: ++seq, at } as EngineEvent);
    steps.push({ ...step, number: seq, modelled: cause === undefined });
    for (const command of step.commands) obey(command, step, cause);
  }

  function obey(command: Command, step: Step, cause: TimelineItem | undefined): void {
    if (command.type === "abortRun") abort(command.runId);
    if (command.type !== "startRun" && command.type !== "requestCompaction") return;
    const { runId } = command;
    const answered = answer(command, step, cause);
    counts[command.type === "startRun" ? command.worker : "compaction"][answered.type]++;
    if (answered.type === "recorded") adopted.set(answered.resultOf, { runId, startedAt: now });
    else if (command.type === "requestCompaction") {
      if (answered.type === "modelled") pending.push({ at: now, runId, happen: compact, abort: () => {} });
    } else {
      const make = answered.type === "modelled" ? maker.make : maker.makeEmpty;
      const run = make(command, step.state);
      pending.push({
        at: now + run.finished.durationMs,
        runId,
        happen: () => end(run),
        abort: () => dispatch({ ...run.finished, outcome: "aborted", records: 0, usage: noUsage() }),
      });
    }
  }

  /** A recorded run that is aborted ends as it was recorded to. */
  function abort(runId: string): void {
    const run = pending.find((one) => one.runId === runId);
    pending = pending.filter((one) => one !== run);
    run?.abort();
  }

  /** As the effect does it: a run whose branch has been left appends nothing. */
  function end({ finished, fact }: ModelledRun): void {
    const { branch } = engine.state.session;
    const isStale = finished.coversUpToId !== null && positionOf(branch, finished.coversUpToId) === NOWHERE;
    if (fact && !isStale) insert(fact);
    dispatch(fact && isStale ? { ...finished, outcome: "stale", records: 0 } : finished);
  }

  function compact(): void {
    const { session, settings } = engine.state;
    const { branch, ledger } = session;
    const proposed = proposedCut(branch, ledger, model.keepTokens);
    if (proposed === undefined) {
      dispatch({ type: "compaction.failed", failure: { kind: "refused", message: "" } });
      return;
    }
    const { firstKeptEntryId, selection } = planCut(
      branch,
      ledger,
      { firstKeptEntryId: proposed, room: foldRoom(settings, { contextWindow: engine.state.contextWindow }) },
      settings,
    );
    const folded = !isEmptySelection(selection);
    dispatch({ type: "compaction.started", reason: "modelled" });
    insert({
      id: maker.nextEntryId(),
      kind: "compaction",
      tokens: 0,
      compaction: {
        // Without memory, Pi's own summariser does it where Pi proposed.
        firstKeptEntryId: folded ? firstKeptEntryId : proposed,
        folded,
        fullFold: folded && selection.fullFold,
      },
    });
    dispatch({ type: "compaction.finished", folded });
  }

  function insert(fact: EntryFact): void {
    branchChanges.insert(fact);
    dispatch({ type: "branch.extended", entries: [fact] });
  }

  /** Lets all that is modelled happen which is due by then. */
  function advance(until: number): void {
    for (;;) {
      const due = pending.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      const next = due[0];
      if (!next) return;
      pending = pending.filter((one) => one !== next);
      now = Math.max(now, next.at);
      next.happen();
    }
  }

  /** Goes on to a time of the timeline, which a clock that was set back does not turn round. */
  function goOnTo(at: number): void {
    advance(at);
    now = Math.max(now, at);
  }

  function follow(item: TimelineItem): void {
    const { event, resultOf } = item;
    const waiting = resultOf === undefined ? undefined : adopted.get(resultOf);
    if (resultOf !== undefined && !waiting) {
      if (event.type === "branch.extended") branchChanges.leaveOut(event.entries);
      return;
    }
    switch (event.type) {
      case "session.opened":
        dispatch(
          { ...event, settings: { ...event.settings, ...patch }, branch: branchChanges.moveTo(event.branch) },
          item,
        );
        return;
      case "branch.replaced":
        dispatch({ ...event, branch: branchChanges.moveTo(event.branch) }, item);
        return;
      case "branch.extended":
        branchChanges.extend(event.entries);
        dispatch(event, item);
        return;
      case "run.finished": {
        const { runId = event.runId, startedAt = now } = waiting ?? {};
        if (resultOf !== undefined) adopted.delete(resultOf);
        dispatch({ ...event, runId, durationMs: event.durationMs || now - startedAt }, item);
        return;
      }
      default:
        dispatch(event, item);
    }
  }

  function flush(): ReplayStep[] {
    const made = steps;
    steps = [];
    return made;
  }

  return {
    counts,
    open,
    awaits: (resultOf) => adopted.has(resultOf),
    demand(lane, at) {
      goOnTo(at);
      dispatch({ type: "run.demanded", lane });
      return flush();
    },
    take(item) {
      goOnTo(Date.parse(item.event.at));
      follow(item);
      return flush();
    },
    finish() {
      advance(Number.POSITIVE_INFINITY);
      engine.stop();
      return flush();
    },
  };
}

function newCounts(): AnswerCounts {
  const none = () => ({ recorded: 0, modelled: 0, noTrace: 0 });
  return { observer: none(), reflector: none(), dropper: none(), compaction: none() };
}

/** The runs that were under way when a recording was begun in the middle. */
function runsInFlight({ machines }: Keyframe): string[] {
  return Object.values(machines).flatMap((machine) => {
    const { runId } = (machine as { context?: { runId?: unknown } }).context ?? {};
    return typeof runId === "string" ? [runId] : [];
  });
}
