import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createActor,
  type EventObject,
} from "xstate";
import { getShortestPaths, getStateNodes } from "xstate/graph";
import { pathOf } from "../../../src/machines/lanes/lanes.ts";

/** What a machine is walked with. */
export interface Walk<E extends EventObject> {
  machine: AnyStateMachine;
  /** What may happen in a state: a few events that differ in all that guards look at. */
  eventsIn: (snapshot: AnyMachineSnapshot) => readonly E[];
  /** The part of the context that decides what comes next; counters must be left out or capped, or the walk never ends. */
  essence: (context: unknown) => unknown;
}

/** A way that `xstate/graph` found: the events from the start, and the state that they lead to. */
export interface Way<E extends EventObject> {
  events: E[];
  end: AnyMachineSnapshot;
}

/** What walking every way came upon. */
export interface Reached<E extends EventObject> {
  ways: Way<E>[];
  /** State names as users see them (`running.dropping`), outer states too. */
  states: Set<string>;
  /** Transitions, each guarded alternative by itself, in words. */
  transitions: Set<string>;
  /** State and event type where all alternatives were refused at least once. */
  refusals: Set<string>;
}

/** The shortest way to each state that a machine can come to, and every transition that an event takes at its end. */
export function walk<E extends EventObject>({ machine, eventsIn, essence }: Walk<E>): Reached<E> {
  const ways = getShortestPaths(machine, {
    events: (snapshot) => eventsIn(snapshot),
    serializeState: ({ value, context }) => JSON.stringify([value, essence(context)]),
  }).map(({ steps, state }) => ({
    // The first step stands for the start.
    events: steps.slice(1).map(({ event }) => event as E),
    end: state as AnyMachineSnapshot,
  }));
  const reached: Reached<E> = { ways, states: new Set(), transitions: new Set(), refusals: new Set() };
  for (const { end } of ways) {
    for (const node of end._nodes) reached.states.add(nameOf(node));
    for (const event of eventsIn(end)) {
      const taken = machine.getTransitionData(end, event);
      for (const transition of taken) reached.transitions.add(wordsFor(transition));
      if (taken.length === 0) reached.refusals.add(`${pathOf(end.value)} ${event.type}`);
    }
  }
  return reached;
}

/** All states, transitions, and all events that a state may refuse, as the chart has them. */
export function chartedIn(machine: AnyStateMachine) {
  const nodes = [machine.root, ...getStateNodes(machine)];
  const transitions = nodes.flatMap((node) => [...node.transitions.values()].flat());
  const refusals = nodes
    .filter((node) => Object.keys(node.states).length === 0)
    .flatMap((node) =>
      machine.events.filter((type) => mayRefuse(node, type)).map((type) => `${nameOf(node)} ${type}`),
    );
  return { states: nodes.map(nameOf), transitions: transitions.map(wordsFor), refusals };
}

/** Sends a way's events to a real actor; gives each event with what was emitted on it, and where the actor stands. */
export function replayWay<E extends EventObject>(machine: AnyStateMachine, { events }: Way<E>) {
  const actor = createActor(machine);
  let emitted: { type: string }[] = [];
  actor.on("*", (command) => emitted.push(command));
  actor.start();
  const steps = events.map((event) => {
    emitted = [];
    actor.send(event);
    return { event, emitted, state: pathOf(actor.getSnapshot().value) };
  });
  const { value } = actor.getSnapshot();
  actor.stop();
  return { steps, value };
}

/** An event is certain to be taken when a state, or one around it, has an alternative without a guard. */
function mayRefuse(node: AnyStateNode, type: string): boolean {
  for (let at: AnyStateNode | undefined = node; at; at = at.parent) {
    if (at.transitions.get(type)?.some(({ guard }) => guard === undefined)) return false;
  }
  return true;
}

function nameOf(node: AnyStateNode): string {
  return node.path.join(".");
}

function wordsFor({ source, eventType, guard, target, actions }: AnyTransitionDefinition): string {
  const to = target?.[0] ? ` -> ${nameOf(target[0])}` : "";
  const doing = actions.map((action) => JSON.stringify(action)).join(" ");
  return `${nameOf(source)} ${eventType} [${guard === undefined ? "" : String(guard)}]${to} / ${doing}`;
}
