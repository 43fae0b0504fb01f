import type { AnyStateMachine, AnyStateNode } from "xstate";

/**
 * A machine as a Mermaid state diagram: every state, and every transition with its guard and actions by name.
 * `docs/architecture.md` holds these; a test keeps them in step with the machines.
 */
export function chartOf(machine: AnyStateMachine): string {
  return ["stateDiagram-v2", ...linesOf(machine.root, 1)].join("\n");
}

function linesOf(node: AnyStateNode, depth: number): string[] {
  const lines: string[] = [];
  const indent = "  ".repeat(depth);
  const initial = node.initial?.target[0];
  if (initial) lines.push(`${indent}[*] --> ${nameOf(initial)}`);
  for (const child of Object.values(node.states)) {
    if (Object.keys(child.states).length > 0) {
      lines.push(`${indent}state ${nameOf(child)} {`, ...linesOf(child, depth + 1), `${indent}}`);
    }
  }
  for (const child of Object.values(node.states)) lines.push(...transitionsOf(child, nameOf(child), indent));
  if (node.parent === undefined) lines.push(...transitionsOf(node, "anyState", indent));
  return lines;
}

function transitionsOf(node: AnyStateNode, from: string, indent: string): string[] {
  return [...node.transitions.values()].flat().map((transition) => {
    const target = transition.target?.[0];
    const guard = transition.guard ? ` [${labelOf(transition.guard)}]` : "";
    const actions = transition.actions.length > 0 ? ` / ${transition.actions.map(labelOf).join(", ")}` : "";
    return `${indent}${from} --> ${target ? nameOf(target) : from}: ${transition.eventType}${guard}${actions}`;
  });
}

function nameOf(node: AnyStateNode): string {
  return node.path.join("_");
}

/** A guard's or action's name, with its parameters when it has any. */
function labelOf(named: unknown): string {
  if (typeof named === "string") return named;
  const { type, params } = named as { type: string; params?: Record<string, unknown> };
  return params ? `${type} ${Object.values(params).map(wordsOf).join(" ")}` : type;
}

function wordsOf(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  return value.map((item) => (Array.isArray(item) ? item.join(" ") : String(item))).join(", ");
}
