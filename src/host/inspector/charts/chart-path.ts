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
 * The arrows of its chart that a lane took with one event, in order. A lane may be told several things of one event (that its
 * input has changed, then the event itself), so that it passes through a state; the arrows in between are found by what a lane
 * is told. Empty when the chart knows no such way, as in a recording of another version.
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

/** The shortest way that uses only what the lane is told of the event, in that order; what it raises itself comes last. */
function findPath(
  graph: ChartGraph,
  from: string,
  to: string,
  messages: readonly string[],
): string[] | undefined {
  let front: { state: string; message: number; path: string[] }[] = [{ state: from, message: 0, path: [] }];
  for (let length = 1; length <= LONGEST; length++) {
    const next: typeof front = [];
    for (const { state, message, path } of front) {
      for (const edge of edgesFrom(graph, state)) {
        const at = messageFor(edge, messages, message);
        if (at === undefined) continue;
        const step = { state: leafOf(graph, edge.to), message: at, path: [...path, edge.id] };
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

/** The first message from `start` on that can take this edge. The next state may hear the same one again. */
function messageFor(
  { transitions }: ChartEdge,
  messages: readonly string[],
  start: number,
): number | undefined {
  for (let at = start; at < messages.length; at++) {
    if (transitions.some(({ event }) => event === messages[at])) return at;
  }
  return undefined;
}
