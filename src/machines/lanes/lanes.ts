import { type Actor, type AnyActor, createActor, type InspectionEvent, type Snapshot } from "xstate";
import type { EngineState } from "../../reducers/engine/engine-state.ts";
import type { EngineEvent } from "../../reducers/engine/events.ts";
import { LANES, type LaneName } from "../../reducers/engine/lane-names.ts";
import type { Command } from "../commands.ts";
import type { LaneEventType } from "../scheduler.ts";
import { type CompactionContext, compactionLane } from "./compaction-lane.ts";
import { INPUTS, type LaneStates } from "./inputs.ts";
import { observerLane } from "./observer-lane.ts";
import { reflectDropLane } from "./reflect-drop-lane.ts";
import type { WorkContext } from "./work-lane.ts";

/** The event with which a lane came into its state. */
export interface Since {
  seq: number;
  /** ISO 8601 */
  at: string;
  /** The arrows of its chart that it took with the event, in order: `FROM>TO`; none where nobody asked for them */
  arrows: readonly string[];
}

/** What an arrow starts from that any state may take. */
export const ANY_STATE = "*";

/** Where the lanes are and what their machines remember. A value; it does not change when the lanes do. */
export interface LanesSnapshot {
  readonly states: LaneStates;
  readonly contexts: {
    readonly observer: WorkContext;
    readonly reflectDrop: WorkContext;
    readonly compaction: CompactionContext;
  };
  /** Null for a lane that is where it was at the start, or at the keyframe. */
  readonly since: Readonly<Record<LaneName, Since | null>>;
}

export interface LanesOptions {
  inspect?: ((event: InspectionEvent) => void) | undefined;
  /** Each machine's persisted snapshot, by name */
  persisted?: Readonly<Record<string, unknown>> | undefined;
  /** Whether `since` names the arrows that a lane took */
  drawsArrows: boolean;
  onCommand: (command: Command) => void;
  onError: (error: unknown) => void;
}

/** What the lanes are told of. */
export interface Happened {
  event: EngineEvent;
  /** Its time in milliseconds since the epoch */
  at: number;
  /** What is true after it */
  state: EngineState;
}

/** The lane actors as one. */
export interface Lanes {
  readonly snapshot: LanesSnapshot;
  /** Sends a lane an event with its input of this moment. */
  send(lane: LaneName, as: LaneEventType, happened: Happened): void;
  persisted(): Record<LaneName, Snapshot<unknown>>;
  /** The actors themselves, in the lanes' order, for who inspects them. */
  readonly actors: readonly AnyActor[];
  stop(): void;
}

/** Starts the lanes, from where they were when `persisted` says so. */
export function createLanes({ inspect, persisted, drawsArrows, onCommand, onError }: LanesOptions): Lanes {
  const optionsFor = (id: LaneName) => {
    const snapshot = persisted?.[id] as Snapshot<unknown> | undefined;
    return { id, ...(inspect && { inspect }), ...(snapshot && { snapshot }) };
  };
  const actors = {
    observer: createActor(observerLane, optionsFor("observer")),
    reflectDrop: createActor(reflectDropLane, optionsFor("reflectDrop")),
    compaction: createActor(compactionLane, optionsFor("compaction")),
  };
  /** What the lane that hears something just now takes */
  let arrows: string[] = [];
  for (const lane of LANES) {
    // An actor without an error observer would throw into the host process.
    (actors[lane] as AnyActor).subscribe({ error: onError });
    actors[lane].on("*", onCommand);
    if (drawsArrows) actors[lane].system.inspect((message) => arrows.push(...arrowsOf(message)));
    actors[lane].start();
  }
  /** What was true when each lane last heard that its input changed and stayed as it was. */
  const unmoved: { [lane in LaneName]?: Known } = {};
  let snapshot = snapshotOf(actors, { observer: null, reflectDrop: null, compaction: null });

  return {
    get snapshot() {
      return snapshot;
    },
    send(lane, as, { event, at, state }) {
      const actor = actors[lane] as AnyActor;
      const before = actor.getSnapshot();
      const { observer } = snapshot.states;
      // An input is made of the engine's state and the observer's: the same ones are no change to a lane that has not moved.
      const known = as === "input.changed" ? unmoved[lane] : undefined;
      if (known && known.lane === before && known.state === state && known.observer === observer) return;
      const input = INPUTS[lane](state, observer, at);
      const heard = as === "run.finished" ? { type: as, input, result: event } : { type: as, input };
      arrows = [];
      actor.send(heard);
      const after = actor.getSnapshot();
      if (after === before) {
        if (as === "input.changed") unmoved[lane] = { lane: before, state, observer };
        return;
      }
      const { since } = snapshot;
      if (pathOf(after.value) === snapshot.states[lane]) {
        snapshot = snapshotOf(actors, since);
        return;
      }
      // One event may move a lane twice: by what it changes, then by itself.
      const earlier = since[lane]?.seq === event.seq ? since[lane].arrows : [];
      const moved: Since = { seq: event.seq, at: event.at, arrows: [...earlier, ...arrows] };
      snapshot = snapshotOf(actors, { ...since, [lane]: moved });
    },
    persisted: () => ({
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

/** The arrows of a microstep's transitions; without a target a lane stays where it is. */
function arrowsOf(message: InspectionEvent): string[] {
  if (message.type !== "@xstate.microstep") return [];
  return message._transitions.flatMap(({ source, target }) => {
    const to = target?.[0]?.path.join(".");
    return to === undefined ? [] : [`${source.path.join(".") || ANY_STATE}>${to}`];
  });
}

interface Known {
  lane: unknown;
  state: EngineState;
  /** The observer's state */
  observer: string;
}

interface LaneActors {
  observer: Actor<typeof observerLane>;
  reflectDrop: Actor<typeof reflectDropLane>;
  compaction: Actor<typeof compactionLane>;
}

function snapshotOf(actors: LaneActors, since: LanesSnapshot["since"]): LanesSnapshot {
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

/** Whether something that the lane started goes on in this state, and will move it when it ends. */
export function isUnderWay(state: string): boolean {
  return /^(?:running|requested|compacting)/.test(state);
}

/** `{ running: "dropping" }` as `running.dropping`: the name of a state as users see it. */
export function pathOf(value: unknown): string {
  if (typeof value === "string") return value;
  return Object.entries(value as Record<string, unknown>)
    .map(([outer, inner]) => `${outer}.${pathOf(inner)}`)
    .join();
}
