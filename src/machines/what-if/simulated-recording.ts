import { idAt, NOWHERE } from "../../reducers/branch.ts";
import type { EngineState } from "../../reducers/engine/engine-state.ts";
import type { EngineEvent } from "../../reducers/engine/events.ts";
import type { EntryFact } from "../../reducers/entries/entry-fact.ts";
import { observerChunkBudget, type Settings } from "../../reducers/settings.ts";
import type { Command } from "../commands.ts";
import type { Step } from "../engine.ts";
import { createEngine, type Engine } from "../engine.ts";
import type { Keyframe } from "../keyframe.ts";
import type { LanesSnapshot } from "../lanes/lanes.ts";
import type { RecordingLine } from "../recording/recording.ts";
import type { ReplayStep } from "../recording/replay-step.ts";
import {
  type Answer,
  type AnswerCounts,
  createSimulation,
  type Request,
  type TimelineItem,
} from "./simulation.ts";
import { type Price, type Workload, workerOf } from "./workload.ts";

export interface RecordingSimulationOptions {
  /** Settings in place of the recorded ones */
  patch: Partial<Settings>;
  model: Workload;
  price?: Price | undefined;
}

export interface RecordingSimulation {
  take(line: RecordingLine): ReplayStep[];
  finish(): ReplayStep[];
  readonly counts: AnswerCounts;
}

/**
 * Runs a recording under other settings. The recorded schedule runs alongside: where both start the same worker at the
 * same event over the same memory, the recorded result is what would have come; elsewhere recorded results are left
 * out and modelled ones take their place.
 */
export function createRecordingSimulation(options: RecordingSimulationOptions): RecordingSimulation {
  const { patch, model, price } = options;
  const timeline = createRecordedTimeline();
  const simulation = createSimulation({
    patch,
    model,
    price,
    answer: (request, step, cause) => (cause ? timeline.answer(request, step) : { type: "modelled" }),
  });
  return {
    counts: simulation.counts,
    take(line) {
      if (line.type === "decision") return [];
      if (line.type === "header" || line.type === "keyframe") {
        const keyframe = line.type === "keyframe" ? line : undefined;
        timeline.open(keyframe);
        simulation.open(keyframe);
        return [];
      }
      return timeline.take(line).flatMap(simulation.take);
    },
    finish: simulation.finish,
  };
}

/** Tells a recording's results from what else happened in it, by running the recorded schedule. */
export interface RecordedTimeline {
  open(keyframe?: Keyframe): void;
  take(event: EngineEvent): TimelineItem[];
  /** What the recorded schedule got for the same request at the event taken last. */
  answer(request: Request, step: Step): Answer;
  /** What the recorded schedule did at the event taken last. */
  readonly step: Step | undefined;
}

export function createRecordedTimeline(): RecordedTimeline {
  let engine: Engine = createEngine();
  let step: Step | undefined;
  /** The compaction of ours that is under way */
  let ownCompaction: string | undefined;

  function itemsOf(event: EngineEvent): TimelineItem[] {
    const { snapshot } = engine;
    const { states, contexts } = snapshot;
    switch (event.type) {
      case "run.finished":
        return [{ event, resultOf: event.runId }];
      case "branch.extended":
        return splitByResult(event, (fact) => resultOf(fact, snapshot));
      case "compaction.started":
      case "compaction.failed":
      case "compaction.finished": {
        if (states.compaction === "requested") ownCompaction = contexts.compaction.runId ?? undefined;
        const item = ownCompaction === undefined ? { event } : { event, resultOf: ownCompaction };
        if (event.type !== "compaction.started") ownCompaction = undefined;
        return [item];
      }
      default:
        return [{ event }];
    }
  }

  /** The run in flight that an entry is the result of, if any. */
  function resultOf(fact: EntryFact, { states, contexts }: LanesSnapshot): string | undefined {
    if (fact.compaction) return ownCompaction;
    if (!fact.ledger) return undefined;
    switch (workerOf(fact.ledger)) {
      case "observer":
        return states.observer === "running" ? (contexts.observer.runId ?? undefined) : undefined;
      case "reflector":
        return states.reflectDrop === "running.reflecting"
          ? (contexts.reflectDrop.runId ?? undefined)
          : undefined;
      case "dropper":
        return states.reflectDrop === "running.dropping"
          ? (contexts.reflectDrop.runId ?? undefined)
          : undefined;
    }
  }

  return {
    open(keyframe) {
      engine.stop();
      engine = createEngine(keyframe ? { keyframe } : {});
      step = undefined;
      ownCompaction = undefined;
    },
    take(event) {
      const items = itemsOf(event);
      step = engine.step(event);
      return items;
    },
    answer(request, { state }) {
      const recorded = step?.commands.find((command) => isSameRequest(command, request));
      const isSame = recorded && step && memoryOf(step.state) === memoryOf(state);
      return isSame && "runId" in recorded
        ? { type: "recorded", resultOf: recorded.runId }
        : { type: "modelled" };
    },
    get step() {
      return step;
    },
  };
}

function isSameRequest(recorded: Command, request: Request): boolean {
  if (recorded.type === "requestCompaction") return request.type === "requestCompaction";
  return (
    recorded.type === "startRun" &&
    request.type === "startRun" &&
    recorded.worker === request.worker &&
    recorded.failures === request.failures &&
    recorded.emptyUpToId === request.emptyUpToId
  );
}

/** All that a run's result depends on, as text: what the ledger holds, its watermarks, and how much may be read. */
function memoryOf({ session, settings, contextWindow }: EngineState): string {
  const { branch, ledger } = session;
  const { observe, reflect, drop } = ledger.watermarks;
  const marks = [observe, reflect, drop, ledger.latestCompaction?.entry ?? NOWHERE];
  return JSON.stringify([
    marks.map((position) => (position === NOWHERE ? null : idAt(branch, position))),
    ledger.counts,
    ledger.activeTokens,
    observerChunkBudget(settings, contextWindow),
  ]);
}

/** The entries of one event as several, wherever what they are results of changes. */
function splitByResult(
  event: EngineEvent & { type: "branch.extended" },
  resultOf: (fact: EntryFact) => string | undefined,
): TimelineItem[] {
  const items: { entries: EntryFact[]; resultOf: string | undefined }[] = [];
  for (const fact of event.entries) {
    const result = resultOf(fact);
    const last = items.at(-1);
    if (last && last.resultOf === result) last.entries.push(fact);
    else items.push({ entries: [fact], resultOf: result });
  }
  return items.map(({ entries, resultOf: result }) => ({
    event: { ...event, entries },
    ...(result !== undefined && { resultOf: result }),
  }));
}
