import type { AnyStateMachine, AnyStateNode } from "xstate";
import { compactionLane } from "../src/machines/lanes/compaction-lane.ts";
import { ANY_STATE } from "../src/machines/lanes/lanes.ts";
import { observerLane } from "../src/machines/lanes/observer-lane.ts";
import { reflectDropLane } from "../src/machines/lanes/reflect-drop-lane.ts";
import type { LaneName } from "../src/reducers/engine/lane-names.ts";

export interface ChartNode {
  /** The state as users see it (`running.dropping`) */
  id: string;
  label: string;
  parent: string | null;
  description: string;
  initial: boolean;
}

/** One way of taking an edge. */
export interface ChartTransition {
  event: string;
  guard: string | null;
}

/** All transitions that lead from one state to another, drawn as one arrow. */
export interface ChartEdge {
  /** `FROM>TO` */
  id: string;
  from: string;
  to: string;
  transitions: ChartTransition[];
}

export interface ChartGraph {
  nodes: ChartNode[];
  edges: ChartEdge[];
}

export const LANE_MACHINES: Readonly<Record<LaneName, AnyStateMachine>> = {
  observer: observerLane,
  reflectDrop: reflectDropLane,
  compaction: compactionLane,
};

/** A lane's chart as a graph, read off its machine. Transitions that stay where they are have no arrow. */
export function chartGraph(machine: AnyStateMachine): ChartGraph {
  const nodes: ChartNode[] = [];
  const edges = new Map<string, ChartEdge>();
  visit(machine.root, nodes, edges);
  if ([...edges.values()].some(({ from }) => from === ANY_STATE)) {
    nodes.push({ id: ANY_STATE, label: "any state", parent: null, description: "", initial: false });
  }
  return { nodes, edges: [...edges.values()] };
}

function visit(node: AnyStateNode, nodes: ChartNode[], edges: Map<string, ChartEdge>): void {
  if (node.parent) {
    nodes.push({
      id: node.path.join("."),
      label: node.key,
      parent: node.parent.parent ? node.parent.path.join(".") : null,
      description: node.description ?? "",
      initial: node.parent.initial?.target[0] === node,
    });
  }
  const from = node.parent ? node.path.join(".") : ANY_STATE;
  for (const transition of [...node.transitions.values()].flat()) {
    const target = transition.target?.[0];
    if (!target) continue;
    const to = target.path.join(".");
    const id = `${from}>${to}`;
    const edge = edges.get(id) ?? { id, from, to, transitions: [] };
    edge.transitions.push({ event: transition.eventType, guard: guardName(transition.guard) });
    edges.set(id, edge);
  }
  for (const child of Object.values(node.states)) visit(child, nodes, edges);
}

function guardName(guard: unknown): string | null {
  if (guard === undefined || guard === null) return null;
  return typeof guard === "string" ? guard : String((guard as { type: string }).type);
}
