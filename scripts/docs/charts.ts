import { compactionLane } from "../../src/machines/lanes/compaction-lane.ts";
import { observerLane } from "../../src/machines/lanes/observer-lane.ts";
import { reflectDropLane } from "../../src/machines/lanes/reflect-drop-lane.ts";
import { schedulerMachine } from "../../src/machines/scheduler.ts";
import { chartOf } from "./chart.ts";

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
