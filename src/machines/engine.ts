import { map, type Observable, observeOn, queueScheduler, Subject, share } from "rxjs";
import { type Actor, createActor, type InspectionEvent, type Snapshot } from "xstate";
import type { Command } from "./commands.ts";
import { type CompactionLaneEvent, compactionLane } from "./compaction-lane.ts";
import { type EngineState, evolve, initialState, restoreBooks } from "./engine-state.ts";
import type { EngineEvent } from "./events.ts";
import { observerLane } from "./observer-lane.ts";
import {
  LANES,
  type LaneName,
  readCompaction,
  readObserver,
  readReflectDrop,
  type Surroundings,
  type Worker,
} from "./readings.ts";
import type { Keyframe } from "./recording.ts";
import { reflectDropLane } from "./reflect-drop-lane.ts";
import { type SchedulerEvent, schedulerMachine, type Wake } from "./scheduler.ts";
import type { WorkLaneEvent } from "./work-lane.ts";

/** A lane's move from one state to another, in the state names that users see (`running.dropping`). */
export interface Transition {
  lane: LaneName;
  from: string;
  to: string;
}

/** What one event did. */
export interface Step {
  event: EngineEvent;
  /** The engine's state after the event */
  state: EngineState;
  /** Every lane's state after the event */
  lanes: Record<LaneName, string>;
  transitions: Transition[];
  commands: Command[];
}

export interface EngineOptions {
  /** Sees every message between the scheduler and the lanes, as XState's inspection protocol has it. */
  inspect?: (event: InspectionEvent) => void;
  /** Goes on where another engine stood; the next event must be the `session.opened` that belongs to it. */
  keyframe?: Keyframe;
}

export interface Engine {
  /** Puts an event into the stream. Events put in from within a step are taken after it, in order. */
  dispatch(event: EngineEvent): void;
  /** What each event did, in order. It errors, and the engine stops, if a reducer or a machine throws. */
  readonly steps$: Observable<Step>;
  readonly state: EngineState;
  readonly lanes: Readonly<Record<LaneName, string>>;
  /** Where the machines and the books stand, for a recording that starts here. */
  keyframe(): Keyframe;
  /** Stops the actors and completes the stream. */
  stop(): void;
}

/** Which lane a worker's result belongs to. */
export function laneOf(worker: Worker): LaneName {
  return worker === "observer" ? "observer" : "reflectDrop";
}

/**
 * The loop: one stream of events, reducers that say what is true, machines that say what to do. It is
 * deterministic, holds no text, and knows no time but the events'. A live Pi session and a recording being
 * replayed run this same code.
 */
export function createEngine(options: EngineOptions = {}): Engine {
  const inspect = options.inspect ? { inspect: options.inspect } : {};
  const actorOptions = (id: string) => {
    const snapshot = options.keyframe?.machines[id] as Snapshot<unknown> | undefined;
    return { id, ...inspect, ...(snapshot && { snapshot }) };
  };
  const scheduler = createActor(schedulerMachine, actorOptions("scheduler"));
  const actors = {
    observer: createActor(observerLane, actorOptions("observer")),
    reflectDrop: createActor(reflectDropLane, actorOptions("reflectDrop")),
    compaction: createActor(compactionLane, actorOptions("compaction")),
  };
  let state = initialState();
  let current: EngineEvent | undefined;
  let commands: Command[] = [];

  const input = new Subject<EngineEvent>();
  // An actor without an error observer would throw into the host process.
  const watch = (actor: { subscribe(observer: { error(error: unknown): void }): unknown }) =>
    actor.subscribe({ error: (error) => input.error(error) });
  watch(scheduler);
  for (const lane of LANES) {
    watch(actors[lane]);
    actors[lane].on("*", (command) => commands.push(command));
  }
  scheduler.on("wake", (wake) => {
    if (current) deliver(actors, wake, current, state);
  });
  for (const lane of LANES) actors[lane].start();
  scheduler.start();

  let restored = options.keyframe;

  function step(event: EngineEvent): Step {
    const before = laneStates(actors);
    state = evolve(state, event);
    if (restored) state = restoreBooks(state, restored);
    restored = undefined;
    current = event;
    commands = [];
    const heard = schedulerEventOf(event);
    if (heard) scheduler.send(heard);
    const lanes = laneStates(actors);
    const transitions = LANES.filter((lane) => before[lane] !== lanes[lane]).map((lane) => ({
      lane,
      from: before[lane],
      to: lanes[lane],
    }));
    return { event, state, lanes, transitions, commands };
  }

  const steps$ = input.pipe(observeOn(queueScheduler), map(step), share());
  // The engine runs whether or not anybody watches.
  const running = steps$.subscribe({ error: () => {} });

  return {
    dispatch: (event) => input.next(event),
    steps$,
    get state() {
      return state;
    },
    get lanes() {
      return laneStates(actors);
    },
    keyframe: () => ({
      type: "keyframe",
      machines: {
        scheduler: scheduler.getPersistedSnapshot(),
        observer: actors.observer.getPersistedSnapshot(),
        reflectDrop: actors.reflectDrop.getPersistedSnapshot(),
        compaction: actors.compaction.getPersistedSnapshot(),
      },
      agentIdle: state.agentIdle,
      workers: state.workers,
      compactionFailure: state.compactionFailure,
    }),
    stop() {
      input.complete();
      running.unsubscribe();
      scheduler.stop();
      for (const lane of LANES) actors[lane].stop();
    },
  };
}

interface LaneActors {
  observer: Actor<typeof observerLane>;
  reflectDrop: Actor<typeof reflectDropLane>;
  compaction: Actor<typeof compactionLane>;
}

/** What the scheduler hears of an event, if anything. */
function schedulerEventOf(event: EngineEvent): SchedulerEvent | undefined {
  switch (event.type) {
    case "session.opened":
      return { type: "opened" };
    case "session.closed":
      return { type: "closed" };
    case "branch.extended":
    case "branch.replaced":
    case "settings.changed":
    case "model.selected":
      return { type: "moved" };
    case "agent.started":
    case "turn.ended":
      return { type: "workMayStart" };
    case "agent.settled":
      return { type: "settled" };
    case "run.demanded":
      return { type: "demanded", lane: event.lane };
    case "run.finished":
      return { type: "runFinished", lane: laneOf(event.worker) };
    case "compaction.started":
      return { type: "compactionStarted" };
    case "compaction.finished":
      return { type: "compactionFinished" };
    case "compaction.failed":
      return { type: "compactionFailed" };
  }
}

/** Sends a lane the event that the scheduler chose, with the reading of this moment. */
function deliver(actors: LaneActors, { lane, as }: Wake, event: EngineEvent, state: EngineState): void {
  const around: Surroundings = {
    at: Date.parse(event.at),
    observerBusy:
      actors.observer.getSnapshot().matches("due") || actors.observer.getSnapshot().matches("running"),
    agentIdle: state.agentIdle,
  };
  if (lane === "compaction") {
    const type = as as CompactionLaneEvent["type"];
    actors.compaction.send({ type, reading: readCompaction(state, around) });
    return;
  }
  const reading = lane === "observer" ? readObserver(state, around) : readReflectDrop(state, around);
  const result = event.type === "run.finished" ? event : undefined;
  if (as === "result" && result) actors[lane].send({ type: "result", reading, result });
  else actors[lane].send({ type: as, reading } as WorkLaneEvent);
}

function laneStates(actors: LaneActors): Record<LaneName, string> {
  return {
    observer: stateName(actors.observer.getSnapshot().value),
    reflectDrop: stateName(actors.reflectDrop.getSnapshot().value),
    compaction: stateName(actors.compaction.getSnapshot().value),
  };
}

/** `{ running: "dropping" }` as `running.dropping`. */
function stateName(value: unknown): string {
  if (typeof value === "string") return value;
  const [[outer, inner] = ["", ""]] = Object.entries(value as Record<string, unknown>);
  return `${outer}.${stateName(inner)}`;
}
