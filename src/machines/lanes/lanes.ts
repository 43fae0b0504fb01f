import { type Actor, type AnyActor, createActor, type InspectionEvent, type Snapshot } from "xstate";
import type { EngineState } from "../../reducers/engine/engine-state.ts";
import { eventTime } from "../../reducers/engine/event-time.ts";
import type { EngineEvent } from "../../reducers/engine/events.ts";
import { LANES, type LaneName } from "../../reducers/engine/lane-names.ts";
import type { Command } from "../commands.ts";
import type { Wake } from "../scheduler.ts";
import { type Calm, calmAfter, isCalm } from "./calm.ts";
import { type CompactionContext, type CompactionLaneEvent, compactionLane } from "./compaction-lane.ts";
import { isOpenTo, pathOf } from "./gate.ts";
import {
  type CompactionInput,
  compactionInput,
  observerInput,
  reflectDropInput,
  type WorkInput,
} from "./inputs.ts";
import { type LaneEvent, OPENINGS } from "./lane-openings.ts";
import { observerLane } from "./observer-lane.ts";
import { reflectDropLane } from "./reflect-drop-lane.ts";
import type { WorkContext, WorkLaneEvent } from "./work-lane.ts";

/** The event with which a lane came into its state. */
export interface Since {
  seq: number;
  /** ISO 8601 */
  at: string;
}

/** How the lanes stand: what their machines hold. A value; it does not change when the lanes do. */
export interface LanesSnapshot {
  /** In the state names that users see (`running.dropping`) */
  readonly states: Readonly<Record<LaneName, string>>;
  readonly contexts: {
    readonly observer: WorkContext;
    readonly reflectDrop: WorkContext;
    readonly compaction: CompactionContext;
  };
  /** Null for a lane that stands where it stood at the start, or at the keyframe. */
  readonly since: Readonly<Record<LaneName, Since | null>>;
}

/** Every lane's reading at one moment. */
export interface LaneInputs {
  observer: WorkInput;
  reflectDrop: WorkInput;
  compaction: CompactionInput;
}

/** What the lanes read when they stand so. `at` is event time in milliseconds since the epoch. */
export function laneInputs(state: EngineState, states: LanesSnapshot["states"], at: number): LaneInputs {
  const around = {
    at,
    observerBusy: states.observer === "due" || states.observer === "running",
    observerIdle: states.observer === "idle",
    agentIdle: state.agentIdle,
  };
  return {
    observer: observerInput(state, around),
    reflectDrop: reflectDropInput(state, around),
    compaction: compactionInput(state, around),
  };
}

export interface LanesOptions {
  inspect?: ((event: InspectionEvent) => void) | undefined;
  /** Each machine's persisted snapshot, by name */
  snapshots?: Readonly<Record<string, unknown>> | undefined;
  onCommand: (command: Command) => void;
  onError: (error: unknown) => void;
}

/** The lane actors as one: who is told what, and how they stand. */
export interface Lanes {
  readonly snapshot: LanesSnapshot;
  /** Sends a lane the event that the scheduler chose, with the reading of this moment. */
  tell(wake: Wake, event: EngineEvent, state: EngineState): void;
  /** The same for several wakes in order, but a lane that would not react is left alone. */
  tellWhomItConcerns(wakes: readonly Wake[], event: EngineEvent, state: EngineState): void;
  snapshots(): Record<LaneName, Snapshot<unknown>>;
  /** The actors themselves, in the lanes' order, for who inspects them. */
  readonly actors: readonly AnyActor[];
  stop(): void;
}

export function createLanes({ inspect, snapshots, onCommand, onError }: LanesOptions): Lanes {
  const optionsFor = (id: LaneName) => {
    const snapshot = snapshots?.[id] as Snapshot<unknown> | undefined;
    return { id, ...(inspect && { inspect }), ...(snapshot && { snapshot }) };
  };
  const actors = {
    observer: createActor(observerLane, optionsFor("observer")),
    reflectDrop: createActor(reflectDropLane, optionsFor("reflectDrop")),
    compaction: createActor(compactionLane, optionsFor("compaction")),
  };
  // An actor without an error observer would throw into the host process.
  const watch = (actor: { subscribe(observer: { error(error: unknown): void }): unknown }) =>
    actor.subscribe({ error: onError });
  for (const lane of LANES) {
    watch(actors[lane]);
    actors[lane].on("*", onCommand);
  }
  let snapshot = standingOf(actors, { observer: null, reflectDrop: null, compaction: null });
  for (const lane of LANES) actors[lane].start();
  let calm: Calm | undefined;

  function send(lane: LaneName, laneEvent: LaneEvent, { seq, at }: EngineEvent): void {
    if (lane === "compaction") actors.compaction.send(laneEvent as CompactionLaneEvent);
    else actors[lane].send(laneEvent as WorkLaneEvent);
    const moved = pathOf(actors[lane].getSnapshot().value) !== snapshot.states[lane];
    calm = undefined;
    snapshot = standingOf(actors, moved ? { ...snapshot.since, [lane]: { seq, at } } : snapshot.since);
  }

  return {
    get snapshot() {
      return snapshot;
    },
    tell(wake, event, state) {
      const readings = laneInputs(state, snapshot.states, eventTime(event.at));
      send(wake.lane, laneEventFor(wake, event, readings), event);
    },
    tellWhomItConcerns(wakes, event, state) {
      if (calm && isCalm(calm, state, wakes)) return;
      const at = eventTime(event.at);
      let readings = laneInputs(state, snapshot.states, at);
      for (const wake of wakes) {
        const { lane } = wake;
        const openings = OPENINGS[lane].get(snapshot.states[lane]);
        if (!openings?.has(wake.as)) continue;
        const laneEvent = laneEventFor(wake, event, readings);
        if (!isOpenTo(openings, snapshot.contexts[lane], laneEvent)) continue;
        send(lane, laneEvent, event);
        readings = laneInputs(state, snapshot.states, at);
      }
      calm = calmAfter(state, snapshot, readings);
    },
    snapshots: () => ({
      observer: actors.observer.getPersistedSnapshot(),
      reflectDrop: actors.reflectDrop.getPersistedSnapshot(),
      compaction: actors.compaction.getPersistedSnapshot(),
    }),
    actors: LANES.map((lane) => actors[lane]),
    stop() {
      for (const lane of LANES) actors[lane].stop();
    },
  };
}

interface LaneActors {
  observer: Actor<typeof observerLane>;
  reflectDrop: Actor<typeof reflectDropLane>;
  compaction: Actor<typeof compactionLane>;
}

function laneEventFor({ lane, as }: Wake, event: EngineEvent, readings: LaneInputs): LaneEvent {
  const reading = readings[lane];
  if (as === "result") return { type: as, reading, result: event } as LaneEvent;
  return { type: as, reading } as LaneEvent;
}

function standingOf(actors: LaneActors, since: LanesSnapshot["since"]): LanesSnapshot {
  const observer = actors.observer.getSnapshot();
  const reflectDrop = actors.reflectDrop.getSnapshot();
  const compaction = actors.compaction.getSnapshot();
  return {
    states: {
      observer: pathOf(observer.value),
      reflectDrop: pathOf(reflectDrop.value),
      compaction: pathOf(compaction.value),
    },
    contexts: {
      observer: observer.context,
      reflectDrop: reflectDrop.context,
      compaction: compaction.context,
    },
    since,
  };
}
