import type { AnyStateMachine, AnyStateNode } from "xstate";

type Guard<E> = (args: { context: unknown; event: E }, params: unknown) => boolean;

/** The guards of a state's transitions, by event type; undefined for a transition that is always taken. */
export type Openings<E> = ReadonlyMap<string, readonly (Guard<E> | undefined)[]>;

/**
 * What each state of a machine reacts to, read off the chart once. Most events of a session move no lane: knowing that
 * costs two or three guards here, and a whole macrostep if the event is sent. The keys are the states' names, as
 * `pathOf` gives them.
 * For charts without eventless, wildcard or parallel states; it throws on a guard that the chart does not name.
 */
export function openingsOf<E extends { type: string }>(
  machine: AnyStateMachine,
): ReadonlyMap<string, Openings<E>> {
  const byState = new Map<string, Openings<E>>();
  collect(machine, machine.root, "", [], byState);
  return byState;
}

/** Whether a machine with these openings would do anything on an event: the answer of XState's `snapshot.can`. */
export function isOpenTo<E extends { type: string }>(
  openings: Openings<E> | undefined,
  context: unknown,
  event: E,
): boolean {
  const guards = openings?.get(event.type);
  if (guards === undefined) return false;
  for (const guard of guards) if (guard === undefined || guard({ context, event }, undefined)) return true;
  return false;
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
function collect<E>(
  machine: AnyStateMachine,
  node: AnyStateNode,
  path: string,
  around: readonly AnyStateNode[],
  byState: Map<string, Openings<E>>,
): void {
  const nodes = [...around, node];
  const children = Object.values(node.states);
  for (const child of children) {
    collect(machine, child, path === "" ? child.key : `${path}.${child.key}`, nodes, byState);
  }
  if (children.length > 0) return;
  const byEvent = new Map<string, (Guard<E> | undefined)[]>();
  for (const { transitions } of nodes) {
    for (const [type, candidates] of transitions) {
      const guards = byEvent.get(type) ?? [];
      guards.push(...candidates.map(({ guard }) => guardOf<E>(machine, guard)));
      byEvent.set(type, guards);
    }
  }
  byState.set(path, byEvent);
}

function guardOf<E>(machine: AnyStateMachine, guard: unknown): Guard<E> | undefined {
  if (guard === undefined) return undefined;
  const found = typeof guard === "string" ? machine.implementations.guards[guard] : undefined;
  if (typeof found !== "function") throw new Error(`${machine.id} has a guard without a name of its own`);
  return found as Guard<E>;
}
