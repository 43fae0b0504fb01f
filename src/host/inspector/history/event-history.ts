import type { Step } from "../../../machines/engine.ts";
import { clocksByLane } from "../../../machines/lanes/inputs.ts";
import type { LanesSnapshot } from "../../../machines/lanes/lanes.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import type { Decided } from "../../../machines/recording/verify.ts";
import { type EngineState, evolve, initialState } from "../../../reducers/engine/engine-state.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import { LANES, type LaneName, type Worker } from "../../../reducers/engine/lane-names.ts";
import { arrowsTaken } from "../charts/chart-path.ts";
import {
  type Column,
  createColumn,
  createRangeColumn,
  createSpans,
  lastAtMostOf,
  type RangeColumn,
  type Spans,
} from "./columns.ts";
import { EVENT_TYPES } from "./event-words.ts";

/** Where the events themselves are: in memory, or on disk by the line. */
export interface EventStore {
  /** The events of these indexes, `from` included and `to` not. */
  read(from: number, to: number): EngineEvent[];
  /** Those of them whose JSON holds this text, which is in lower case, whatever their case. */
  matching(from: number, to: number, text: string): ReadonlySet<number>;
}

/** One worker run on the time line. */
export interface RunMark {
  lane: LaneName;
  worker: Worker;
  runId: string;
  from: number;
  /** The index of its result; null while it runs */
  to: number | null;
  outcome: string | null;
  records: number;
}

export interface CompactionMark {
  index: number;
  result: "folded" | "not ours" | "failed";
}

/** Everything that the viewer asks for, of all events of one source, in a few dozen bytes an event. */
export interface EventHistory {
  readonly length: number;
  /** Event time in milliseconds since the epoch */
  readonly at: Column;
  /** The events' numbers as users know them */
  readonly numbers: Column;
  readonly types: Column;
  readonly clocks: Readonly<Record<LaneName, RangeColumn>>;
  readonly thresholds: Readonly<Record<LaneName, Spans<number>>>;
  readonly states: Readonly<Record<LaneName, Spans<string>>>;
  readonly standings: Spans<LanesSnapshot>;
  readonly decisions: ReadonlyMap<number, Decided>;
  /** 1 for an event that has one: asking the map for each of a million costs a second. */
  readonly decided: Column;
  /** Events that a model of the workers made up */
  readonly modelled: ReadonlySet<number>;
  readonly runs: readonly RunMark[];
  readonly compactions: readonly CompactionMark[];
  /** How often each arrow of a lane's chart was taken */
  readonly taken: Readonly<Record<LaneName, ReadonlyMap<string, number>>>;
  /** The last arrows of a lane's chart that were taken at or before an index */
  readonly lastTaken: Readonly<Record<LaneName, Spans<readonly string[]>>>;
  take(step: Step | ReplayStep): void;
  /** What was true after the event at an index (before all events: -1). */
  stateAt(index: number): EngineState;
  /** What was true before it, and after it. */
  statesAround(index: number): { before: EngineState; after: EngineState };
}

/** A state kept for every so many events; those in between are worked out from it. */
const CHECKPOINT_EVERY = 512;

export function perLane<T>(make: (lane: LaneName) => T): Record<LaneName, T> {
  return Object.fromEntries(LANES.map((lane) => [lane, make(lane)])) as Record<LaneName, T>;
}

export function createEventHistory(store: EventStore): EventHistory {
  const at = createColumn("float64");
  const numbers = createColumn("float64");
  const types = createColumn("uint8");
  const clocks = perLane(() => createRangeColumn("uint32"));
  const thresholds = perLane(() => createSpans<number>());
  const states = perLane(() => createSpans<string>());
  const standings = createSpans<LanesSnapshot>();
  const decisions = new Map<number, Decided>();
  const decided = createColumn("uint8");
  const modelled = new Set<number>();
  const runs: RunMark[] = [];
  const open = new Map<string, RunMark>();
  const compactions: CompactionMark[] = [];
  const taken = perLane(() => new Map<string, number>());
  const lastTaken = perLane(() => createSpans<readonly string[]>());
  const checkpoints: { indexes: number[]; states: EngineState[] } = {
    indexes: [-1],
    states: [initialState()],
  };

  function noteDecision(index: number, { event, transitions, commands }: Step): void {
    if (transitions.length === 0 && commands.length === 0) return;
    decisions.set(index, { transitions, commands });
    for (const transition of transitions) {
      const arrows = arrowsTaken(transition, event);
      const counts = taken[transition.lane];
      for (const arrow of arrows) counts.set(arrow, (counts.get(arrow) ?? 0) + 1);
      lastTaken[transition.lane].set(index, arrows);
    }
    for (const command of commands) {
      if (command.type !== "startRun") continue;
      const { runId, worker } = command;
      const lane = worker === "observer" ? "observer" : "reflectDrop";
      const mark = { lane, worker, runId, from: index, to: null, outcome: null, records: 0 } as const;
      runs.push({ ...mark });
      const last = runs[runs.length - 1];
      if (last) open.set(runId, last);
    }
  }

  function noteResult(index: number, event: EngineEvent): void {
    if (event.type === "run.finished") {
      const mark = open.get(event.runId);
      if (!mark) return;
      open.delete(event.runId);
      mark.to = index;
      mark.outcome = event.outcome;
      mark.records = event.records;
    } else if (event.type === "compaction.finished") {
      compactions.push({ index, result: event.folded ? "folded" : "not ours" });
    } else if (event.type === "compaction.failed") compactions.push({ index, result: "failed" });
  }

  function stateAt(index: number): EngineState {
    const position = lastAtMostOf(checkpoints.indexes, index);
    const from = checkpoints.indexes[position] ?? -1;
    const base = checkpoints.states[position] ?? initialState();
    return store.read(from + 1, index + 1).reduce(evolve, base);
  }

  return {
    get length() {
      return at.length;
    },
    at,
    numbers,
    types,
    clocks,
    thresholds,
    states,
    standings,
    decisions,
    decided,
    modelled,
    runs,
    compactions,
    taken,
    lastTaken,
    take(step) {
      const index = at.length;
      const { event, state, snapshot } = step;
      at.push(Date.parse(event.at));
      numbers.push("number" in step ? step.number : event.seq);
      if ("modelled" in step && step.modelled) modelled.add(index);
      types.push(EVENT_TYPES.indexOf(event.type));
      const readings = clocksByLane(state);
      for (const lane of LANES) {
        clocks[lane].push(Math.max(0, Math.round(readings[lane].clock)));
        thresholds[lane].set(index, readings[lane].threshold);
        states[lane].set(index, snapshot.states[lane]);
      }
      standings.set(index, snapshot);
      decided.push(step.transitions.length > 0 || step.commands.length > 0 ? 1 : 0);
      noteDecision(index, step);
      noteResult(index, event);
      if (index % CHECKPOINT_EVERY === 0 || event.type === "session.opened") {
        checkpoints.indexes.push(index);
        checkpoints.states.push(state);
      }
    },
    stateAt,
    statesAround(index) {
      const before = stateAt(index - 1);
      // An opening brings things along that its event alone does not tell: where a keyframe stood.
      const known = checkpoints.states[checkpoints.indexes.lastIndexOf(index)];
      return { before, after: known ?? store.read(index, index + 1).reduce(evolve, before) };
    },
  };
}
