import type { AnyMachineSnapshot, AnyStateMachine, AnyStateNode } from "xstate";

/** Whether an event would make a machine do anything: take a transition or run an action. */
export type Gate<E> = (snapshot: AnyMachineSnapshot, event: E) => boolean;

type Guard = (args: { context: unknown; event: unknown }, params: unknown) => boolean;

/** The guards of a state's transitions for one event; undefined for a transition that is always taken. */
type Candidates = readonly (Guard | undefined)[];

/**
 * The answer of XState's `snapshot.can(event)`, read off the chart once instead of at every event. Most events of a
 * session move no lane: knowing that costs two or three guards here, and a whole macrostep if the event is sent.
 * For charts without eventless, wildcard or parallel states; it throws on a guard that the chart does not name.
 */
export function createGate<E extends { type: string }>(machine: AnyStateMachine): Gate<E> {
  const byState = new Map<string, Map<string, Candidates>>();
  collect(machine, machine.root, "", [], byState);
  return (snapshot, event) => {
    const candidates = byState.get(pathOf(snapshot.value))?.get(event.type);
    if (candidates === undefined) return false;
    for (const guard of candidates) {
      if (guard === undefined || guard({ context: snapshot.context, event }, undefined)) return true;
    }
    return false;
  };
}

/** `{ running: "dropping" }` as `running.dropping`: the name of a state as users see it. */
export function pathOf(value: unknown): string {
  if (typeof value === "string") return value;
  for (const [outer, inner] of Object.entries(value as Record<string, unknown>)) {
    return `${outer}.${pathOf(inner)}`;
  }
  return "";
}

/** Gathers each atomic state's transitions and those of the states around it. */
function collect(
  machine: AnyStateMachine,
  node: AnyStateNode,
  path: string,
  around: readonly AnyStateNode[],
  byState: Map<string, Map<string, Candidates>>,
): void {
  const nodes = [...around, node];
  const children = Object.values(node.states);
  for (const child of children) {
    collect(machine, child, path === "" ? child.key : `${path}.${child.key}`, nodes, byState);
  }
  if (children.length > 0) return;
  const byEvent = new Map<string, (Guard | undefined)[]>();
  for (const [type, transition] of nodes.flatMap(({ transitions }) => [...transitions].flatMap(flatten))) {
    if (transition.target === undefined && transition.actions.length === 0) continue;
    const guards = byEvent.get(type) ?? [];
    guards.push(guardOf(machine, transition.guard));
    byEvent.set(type, guards);
  }
  byState.set(path, byEvent);
}

function flatten<T>([type, transitions]: readonly [string, readonly T[]]): (readonly [string, T])[] {
  return transitions.map((transition) => [type, transition] as const);
}

function guardOf(machine: AnyStateMachine, guard: unknown): Guard | undefined {
  if (guard === undefined) return undefined;
  const found = typeof guard === "string" ? machine.implementations.guards[guard] : undefined;
  if (typeof found !== "function") throw new Error(`${machine.id} has a guard without a name of its own`);
  return found as Guard;
}
