import { chartOf } from "../../machines/chart.ts";
import { compactionLane } from "../../machines/compaction-lane.ts";
import { observerLane } from "../../machines/observer-lane.ts";
import { reflectDropLane } from "../../machines/reflect-drop-lane.ts";
import { schedulerMachine } from "../../machines/scheduler.ts";

/** The statecharts in `docs/architecture.md`, as Mermaid diagrams. */
export function charts(): string {
  return [
    ["Observer lane", chartOf(observerLane)],
    ["Reflect/drop lane", chartOf(reflectDropLane)],
    ["Compaction lane", chartOf(compactionLane)],
    ["Scheduler", chartOf(schedulerMachine)],
  ]
    .map(([title, chart]) => `\n### ${title}\n\n\`\`\`mermaid\n${chart}\n\`\`\``)
    .join("\n");
}
