import type { Step } from "../../../machines/engine.ts";
import { clocksByLane } from "../../../machines/lanes/inputs.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import { type EngineState, evolve, initialState } from "../../../reducers/engine/engine-state.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import type { CompactionMark, RunMark } from "./viewer-data.ts";

/** A step without the state after it, which is worked out when somebody asks. */
export interface PastStep extends Omit<ReplayStep, "state"> {
  /** Event time in milliseconds since the epoch */
  at: number;
  clocks: ReturnType<typeof clocksByLane>;
}

/** A lane's state from an event on, until its next one. */
export interface LaneMove {
  index: number;
  state: string;
  /** The arrows of its chart that led there; none where the lanes were started anew */
  arrows: readonly string[];
}

/** All that has happened at one source, by the index of the event. */
export interface EventHistory {
  readonly steps: readonly PastStep[];
  readonly moves: Readonly<Record<LaneName, readonly LaneMove[]>>;
  readonly runs: readonly RunMark[];
  readonly compactions: readonly CompactionMark[];
  /** How often each arrow of a lane's chart was taken */
  readonly taken: Readonly<Record<LaneName, Record<string, number>>>;
  /** The first event that moved a lane or asked for something, openings aside; null when none has yet */
  readonly firstDecision: number | null;
  take(step: Step | ReplayStep): void;
  /** What was true after the event at an index (before all events: -1). */
  stateAt(index: number): EngineState;
}

const IN_FLIGHT = { to: null, outcome: null, records: 0, durationMs: null };

/** A state kept for every so many events; those in between are worked out from it. */
const CHECKPOINT_EVERY = 512;

export function perLane<T>(make: (lane: LaneName) => T): Record<LaneName, T> {
  return Object.fromEntries(LANES.map((lane) => [lane, make(lane)])) as Record<LaneName, T>;
}

/** The last position of a rising list whose value is not above `limit`; -1 when all are above it. */
export function lastAtMost<T>(list: readonly T[], keyOf: (item: T) => number, limit: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyOf(list[middle] as T) > limit) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}

export function createEventHistory(): EventHistory {
  const steps: PastStep[] = [];
  const moves = perLane((): LaneMove[] => []);
  const runs: RunMark[] = [];
  const inFlight = new Map<string, RunMark>();
  const compactions: CompactionMark[] = [];
  const taken = perLane((): Record<string, number> => ({}));
  let firstDecision: number | null = null;
  const checkpoints = [{ index: -1, state: initialState() }];
  /** The state that was worked out last */
  let recent = { index: -1, state: initialState() };

  function noteMoves(index: number, { snapshot, transitions }: PastStep): void {
    for (const lane of LANES) {
      const state = snapshot.states[lane];
      if (moves[lane].at(-1)?.state === state) continue;
      moves[lane].push({ index, state, arrows: snapshot.since[lane]?.arrows ?? [] });
    }
    for (const { lane } of transitions) {
      const counts = taken[lane];
      for (const arrow of snapshot.since[lane]?.arrows ?? []) counts[arrow] = (counts[arrow] ?? 0) + 1;
    }
  }

  function noteWork(index: number, { event, at, commands }: PastStep): void {
    for (const command of commands) {
      if (command.type !== "startRun") continue;
      const { runId, worker } = command;
      const lane = worker === "observer" ? "observer" : "reflectDrop";
      const run: RunMark = { lane, worker, runId, from: index, ...IN_FLIGHT };
      runs.push(run);
      inFlight.set(runId, run);
    }
    if (event.type === "run.finished") {
      const run = inFlight.get(event.runId);
      if (!run) return;
      const { outcome, records } = event;
      const durationMs = at - (steps[run.from]?.at ?? at);
      Object.assign(run, { to: index, outcome, records, durationMs } satisfies Partial<RunMark>);
      inFlight.delete(event.runId);
    } else if (event.type === "compaction.finished") {
      compactions.push({ index, result: event.folded ? "folded" : "not ours" });
    } else if (event.type === "compaction.failed") compactions.push({ index, result: "failed" });
  }

  function stateAt(index: number): EngineState {
    let known = checkpoints[lastAtMost(checkpoints, (checkpoint) => checkpoint.index, index)];
    // Who asks for a state mostly asks for it again, or for the next one.
    if (recent.index <= index && recent.index > (known?.index ?? -1)) known = recent;
    const state = steps
      .slice((known?.index ?? -1) + 1, index + 1)
      .reduce((before, { event }) => evolve(before, event), known?.state ?? initialState());
    recent = { index, state };
    return state;
  }

  return {
    steps,
    moves,
    runs,
    compactions,
    taken,
    get firstDecision() {
      return firstDecision;
    },
    take(step: Step & Partial<ReplayStep>) {
      const { event, state, snapshot, transitions, commands, number = event.seq, modelled = false } = step;
      const index = steps.length;
      const at = Date.parse(event.at);
      const past = {
        event,
        number,
        modelled,
        at,
        snapshot,
        transitions,
        commands,
        clocks: clocksByLane(state),
      };
      steps.push(past);
      if (event.type !== "session.opened" && transitions.length + commands.length > 0)
        firstDecision ??= index;
      noteMoves(index, past);
      noteWork(index, past);
      // An opening brings things along that its event alone does not tell: where a keyframe stood.
      if (index % CHECKPOINT_EVERY === 0 || event.type === "session.opened")
        checkpoints.push({ index, state });
    },
    stateAt,
  };
}
