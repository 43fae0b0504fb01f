import { map, type OperatorFunction, observeOn, queueScheduler } from "rxjs";
import { createActor, type InspectionEvent, type Snapshot } from "xstate";
import { type EngineState, evolve, initialState, restored } from "../reducers/engine/engine-state.ts";
import type { EngineEvent } from "../reducers/engine/events.ts";
import { LANES, type LaneName } from "../reducers/engine/lane-names.ts";
import { messageOf } from "../reducers/message-of.ts";
import type { Command } from "./commands.ts";
import type { Keyframe } from "./keyframe.ts";
import type { LaneStates } from "./lanes/inputs.ts";
import { createLanes, type Happened, type LanesSnapshot } from "./lanes/lanes.ts";
import { schedulerMachine } from "./scheduler.ts";

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
  /** Where the lanes are after it, and what their machines remember */
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
   * Goes on where another engine was. The next event must be the `session.opened` that belongs to it: it brings the
   * branch and the settings back. It is no news to the lanes, which have heard of it, unless their session was closed.
   */
  keyframe?: Keyframe;
  /** Names the arrows of its chart that a lane took, for who draws them. Costs a fifth of an event's time. Unset: true */
  drawsArrows?: boolean;
}

export interface Engine {
  /**
   * Takes one event and gives what it did. Throws what a reducer or a machine throws, naming the event, and is of no use
   * after that.
   */
  step(event: EngineEvent): Step;
  readonly state: EngineState;
  readonly snapshot: LanesSnapshot;
  /**
   * Lets somebody see every message from now on, as `inspect` does from the start; it is told of each actor first. Gives
   * what ends it.
   */
  watch(watcher: Watcher): () => void;
  /** Where the machines are and what `session.opened` does not tell, for a recording that starts here. */
  keyframe(): Keyframe;
  /** Stops the actors. */
  stop(): void;
}

/**
 * Events in, steps out: reducers say what is true, machines say what to do. It is deterministic, holds no text, and
 * knows no time but the events'. A live Pi session and a recording being replayed run this same code.
 */
export function createEngine({ inspect, keyframe, drawsArrows = true }: EngineOptions = {}): Engine {
  let state = initialState();
  let current: Happened | undefined;
  let commands: Command[] = [];
  let pending = keyframe;
  let failure: { error: unknown } | undefined;
  const onError = (error: unknown) => {
    failure ??= { error };
  };

  const persisted = keyframe?.machines.scheduler as Snapshot<unknown> | undefined;
  const scheduler = createActor(schedulerMachine, {
    id: "scheduler",
    ...(inspect && { inspect }),
    ...(persisted && { snapshot: persisted }),
  });
  const lanes = createLanes({
    inspect,
    persisted: keyframe?.machines,
    drawsArrows,
    onCommand: (command) => commands.push(command),
    onError,
  });
  scheduler.subscribe({ error: onError });
  scheduler.on("deliver", ({ messages }) => {
    if (current) for (const [lane, as] of messages) lanes.send(lane, as, current);
  });
  scheduler.start();

  function take(event: EngineEvent): Step {
    const before = lanes.snapshot.states;
    const isNews = pending === undefined || scheduler.getSnapshot().value === "closed";
    state = evolve(state, event);
    if (pending) state = restored(state, pending);
    pending = undefined;
    current = { event, at: Date.parse(event.at), state };
    commands = [];
    if (isNews) scheduler.send(event);
    const { snapshot } = lanes;
    return { event, state, snapshot, transitions: transitionsBetween(before, snapshot.states), commands };
  }

  return {
    step(event) {
      try {
        const step = take(event);
        if (!failure) return step;
      } catch (error) {
        onError(error);
      }
      const why = messageOf(failure?.error);
      throw new Error(`event ${event.seq} (${event.type}) could not be taken: ${why}`, {
        cause: failure?.error,
      });
    },
    get state() {
      return state;
    },
    get snapshot() {
      return lanes.snapshot;
    },
    watch(watcher) {
      const actors = [scheduler, ...lanes.actors];
      for (const actorRef of actors) {
        watcher({ type: "@xstate.actor", actorRef, rootId: actorRef.sessionId }, undefined);
      }
      const watching = actors.map(({ system }) =>
        system.inspect((message) => watcher(message, current?.event)),
      );
      return () => {
        for (const { unsubscribe } of watching.splice(0)) unsubscribe();
      };
    },
    keyframe: () => ({
      type: "keyframe",
      machines: { scheduler: scheduler.getPersistedSnapshot(), ...lanes.persisted() },
      agentIdle: state.agentIdle,
      workers: state.workers,
      compactionFailure: state.compactionFailure,
      replacedFolds: state.replacedFolds,
      modelFailures: state.modelFailures,
      emptyRange: state.emptyRange,
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

function transitionsBetween(old: LaneStates, states: LaneStates): Transition[] {
  if (old === states) return [];
  return LANES.filter((lane) => old[lane] !== states[lane]).map((lane) => ({
    lane,
    from: old[lane],
    to: states[lane],
  }));
}
