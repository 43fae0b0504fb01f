import type { Transition } from "../../../machines/engine.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import {
  ANY_STATE,
  type ChartEdge,
  type ChartGraph,
  chartGraph,
  LANE_MACHINES,
  leafOf,
} from "./chart-graph.ts";

export const CHARTS = Object.fromEntries(
  LANES.map((lane) => [lane, chartGraph(LANE_MACHINES[lane])]),
) as Readonly<Record<LaneName, ChartGraph>>;

/**
 * The arrows of its chart that a lane took with one event, in order. One event may wake a lane several times (a
 * reading, then the trigger), so that it passes through a state; the arrows in between are found by what the event
 * wakes a lane with. Empty when the chart knows no such way, as in a recording of another version.
 */
export function arrowsTaken({ lane, from, to }: Transition, event: EngineEvent): string[] {
  const key = `${lane} ${from} ${to} ${event.type}`;
  const known = paths.get(key);
  if (known) return known;
  const path = findPath(CHARTS[lane], from, to, ["input.changed", event.type, "input.changed"]) ?? [];
  paths.set(key, path);
  return path;
}

const paths = new Map<string, string[]>();

const LONGEST = 4;

/** The shortest way that uses only what the event wakes the lane with, in that order; a raised trigger comes last. */
function findPath(
  graph: ChartGraph,
  from: string,
  to: string,
  wakes: readonly string[],
): string[] | undefined {
  let front: { state: string; wake: number; path: string[] }[] = [{ state: from, wake: 0, path: [] }];
  for (let length = 1; length <= LONGEST; length++) {
    const next: typeof front = [];
    for (const { state, wake, path } of front) {
      for (const edge of edgesFrom(graph, state)) {
        const at = wakeFor(edge, wakes, wake);
        if (at === undefined) continue;
        const step = { state: leafOf(graph, edge.to), wake: at, path: [...path, edge.id] };
        if (step.state === to) return step.path;
        next.push(step);
      }
    }
    front = next;
  }
  return undefined;
}

function edgesFrom({ edges }: ChartGraph, state: string): ChartEdge[] {
  return edges.filter(({ from }) => from === ANY_STATE || state === from || state.startsWith(`${from}.`));
}

/** The first wake from `start` on that can take this edge. A trigger may be passed on to the next state. */
function wakeFor({ transitions }: ChartEdge, wakes: readonly string[], start: number): number | undefined {
  for (let at = start; at < wakes.length; at++) {
    if (transitions.some(({ event }) => event === wakes[at])) return at;
  }
  return undefined;
}
