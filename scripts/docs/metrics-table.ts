import { METRICS } from "../../src/effects/telemetry/names.ts";
import { markdownTable } from "./markdown-table.ts";

/** Every metric that is sent. */
export function metricsTable(): string {
  const rows = Object.values(METRICS).map(({ name, kind, unit, description }) => [
    `\`${name}\``,
    kind,
    `\`${unit}\``,
    description,
  ]);
  return markdownTable(["metric", "kind", "unit", ""], rows);
}
