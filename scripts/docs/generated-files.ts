import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { NAMESPACE } from "../../src/host/settings/settings.ts";
import { editorSchema } from "../../src/host/settings/settings-schema.ts";
import { charts } from "./charts.ts";
import { costTables } from "./cost-table.ts";
import { metricsTable } from "./metrics-table.ts";
import { settingsTable } from "./settings-table.ts";
import { windowsTable } from "./windows-table.ts";

export interface GeneratedFile {
  /** From the repository's root */
  path: string;
  text: string;
}

export const ROOT = resolve(import.meta.dirname, "../..");

/** Every file under `docs/` that is generated, wholly or between markers, as it should be now. */
export function generatedFiles(): GeneratedFile[] {
  return [
    { path: "docs/settings.schema.json", text: `${JSON.stringify(editorSchema(NAMESPACE), null, 2)}\n` },
    marked("docs/configuration.md", "settings", settingsTable()),
    marked("docs/architecture.md", "charts", charts()),
    marked("docs/performance.md", "windows", windowsTable()),
    marked("docs/cost.md", "cost", costTables()),
    marked("docs/telemetry.md", "metrics", metricsTable()),
  ];
}

/** A page of `docs/` with new text between its markers `<!-- NAME:begin -->` and `<!-- NAME:end -->`. */
function marked(path: string, name: string, body: string): GeneratedFile {
  const page = readFileSync(join(ROOT, path), "utf8");
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from === -1 || to < from) throw new Error(`${path} has no ${begin} … ${end}`);
  return { path, text: `${page.slice(0, from + begin.length)}\n${body}\n${page.slice(to)}` };
}
