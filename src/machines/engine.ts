import { map, type OperatorFunction, observeOn, queueScheduler } from "rxjs";
import { createActor, type InspectionEvent, type Snapshot } from "xstate";
import { type EngineState, evolve, initialState, restoreBooks } from "../reducers/engine/engine-state.ts";
import { AGENT_BUSY, type EngineEvent } from "../reducers/engine/events.ts";
import { LANES, type LaneName, laneOf } from "../reducers/engine/lane-names.ts";
import type { Command } from "./commands.ts";
import { createLanes, type LanesSnapshot } from "./lanes/lanes.ts";
import type { Keyframe } from "./recording/recording.ts";
import { planFor, type SchedulerEvent, schedulerMachine } from "./scheduler.ts";

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
  lanes: Readonly<Record<LaneName, string>>;
  /** The same with all that the lanes' machines hold */
  snapshot: LanesSnapshot;
  transitions: Transition[];
  commands: Command[];
}

/** Sees a message, with the event that caused it (none for what it is told when it begins to watch). */
export type Watcher = (message: InspectionEvent, cause: EngineEvent | undefined) => void;

export interface EngineOptions {
  /** Sees every message between the scheduler and the lanes, as XState's inspection protocol has it. */
  inspect?: (event: InspectionEvent) => void;
  /**
   * Goes on where another engine stood. The next event must be the `session.opened` that belongs to it: it brings the
   * branch and the settings back. It is no news to the lanes, which have heard of it, unless their session was closed.
   */
  keyframe?: Keyframe;
}

export interface Engine {
  /**
   * Takes one event and gives what it did. Throws what a reducer or a machine throws, naming the event, and is of no use
   * after that.
   */
  step(event: EngineEvent): Step;
  readonly state: EngineState;
  readonly lanes: Readonly<Record<LaneName, string>>;
  readonly snapshot: LanesSnapshot;
  /**
   * Lets somebody see every message from now on, as `inspect` does from the start; it is told of each actor first.
   * While anybody watches, every event goes through the actors. Gives what ends it.
   */
  watch(observer: Watcher): () => void;
  /** Where the machines and the books stand, for a recording that starts here. */
  keyframe(): Keyframe;
  /** Stops the actors. */
  stop(): void;
}

/**
 * The loop: one stream of events, reducers that say what is true, machines that say what to do. It is
 * deterministic, holds no text, and knows no time but the events'. A live Pi session and a recording being
 * replayed run this same code.
 *
 * An event that no lane would react to is not sent to the actors at all, unless somebody inspects them: the charts
 * tell beforehand, so nothing but the cost changes.
 */
export function createEngine(options: EngineOptions = {}): Engine {
  const { inspect, keyframe } = options;
  let failure: { error: unknown } | undefined;
  let state = initialState();
  let current: EngineEvent | undefined;
  let commands: Command[] = [];
  let restored = keyframe;
  let watchers = inspect ? 1 : 0;

  function onError(error: unknown): void {
    failure ??= { error };
  }

  const schedulerSnapshot = keyframe?.machines.scheduler as Snapshot<unknown> | undefined;
  const scheduler = createActor(schedulerMachine, {
    id: "scheduler",
    ...(inspect && { inspect }),
    ...(schedulerSnapshot && { snapshot: schedulerSnapshot }),
  });
  const lanes = createLanes({
    inspect,
    snapshots: keyframe?.machines,
    onCommand: (command) => commands.push(command),
    onError,
  });
  scheduler.subscribe({ error: onError });
  scheduler.on("wake", (chosen) => {
    if (current) lanes.tell(chosen, current, state);
  });
  scheduler.start();

  /** Lets the lanes know. What would leave the scheduler and every lane as they are is not sent to them. */
  function wake(heard: SchedulerEvent, event: EngineEvent): void {
    const plan = watchers > 0 ? undefined : planFor(scheduler.getSnapshot(), heard);
    if (plan?.staysPut) lanes.tellWhomItConcerns(plan.wakes, event, state);
    else scheduler.send(heard);
  }

  function take(event: EngineEvent): Step {
    const before = lanes.snapshot.states;
    state = evolve(state, event);
    current = event;
    commands = [];
    const isNews = restored === undefined || scheduler.getSnapshot().value === "closed";
    if (restored) state = restoreBooks(state, restored);
    restored = undefined;
    const heard = isNews ? schedulerEventOf(event) : undefined;
    if (heard) wake(heard, event);
    const { snapshot } = lanes;
    const { states } = snapshot;
    return {
      event,
      state,
      lanes: states,
      snapshot,
      transitions: transitionsBetween(before, states),
      commands,
    };
  }

  return {
    step(event) {
      try {
        const step = take(event);
        if (!failure) return step;
      } catch (error) {
        onError(error);
      }
      const why = failure?.error instanceof Error ? failure.error.message : String(failure?.error);
      throw new Error(`event ${event.seq} (${event.type}) could not be taken: ${why}`, {
        cause: failure?.error,
      });
    },
    get state() {
      return state;
    },
    get lanes() {
      return lanes.snapshot.states;
    },
    get snapshot() {
      return lanes.snapshot;
    },
    watch(observer) {
      watchers++;
      const actors = [scheduler, ...lanes.actors];
      for (const actorRef of actors) {
        observer({ type: "@xstate.actor", actorRef, rootId: actorRef.sessionId }, undefined);
      }
      const watching = actors.map(({ system }) => system.inspect((message) => observer(message, current)));
      return () => {
        watchers--;
        for (const { unsubscribe } of watching.splice(0)) unsubscribe();
      };
    },
    keyframe: () => ({
      type: "keyframe",
      machines: { scheduler: scheduler.getPersistedSnapshot(), ...lanes.snapshots() },
      agentIdle: state.agentIdle,
      workers: state.workers,
      compactionFailure: state.compactionFailure,
    }),
    stop() {
      scheduler.stop();
      lanes.stop();
    },
  };
}

/** An engine as an operator: a step for each event, in order. Events that come in while one is taken wait for their turn. */
export function stepsOf(engine: Engine): OperatorFunction<EngineEvent, Step> {
  return (events$) => events$.pipe(observeOn(queueScheduler), map(engine.step));
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
      return { type: event.failure.kind === AGENT_BUSY ? "compactionPostponed" : "compactionFailed" };
  }
}

function transitionsBetween(old: LanesSnapshot["states"], states: LanesSnapshot["states"]): Transition[] {
  if (old === states) return [];
  return LANES.filter((lane) => old[lane] !== states[lane]).map((lane) => ({
    lane,
    from: old[lane],
    to: states[lane],
  }));
}
