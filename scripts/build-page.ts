import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { ELK, ElkExtendedEdge, ElkNode } from "elkjs";
import type { LaidOutChart } from "../src/host/inspector/history/viewer-data.ts";
import { LANES, type LaneName } from "../src/reducers/engine/lane-names.ts";
import { type ChartGraph, chartGraph, LANE_MACHINES } from "./chart-graph.ts";

const ROOT = resolve(import.meta.dirname, "..");
const OUT = join(ROOT, "dist/viewer");

/** Bundles the viewer into `dist/viewer` and gives that folder. The charts are laid out here, once. */
export async function buildViewer(): Promise<URL> {
  const { rolldown } = await import("rolldown");
  const charts = Object.fromEntries(
    await Promise.all(
      LANES.map(async (lane) => [lane, await layOut(chartGraph(LANE_MACHINES[lane]))] as const),
    ),
  ) as Record<LaneName, LaidOutChart>;
  const build = await rolldown({
    input: { viewer: "src/host/inspector/page/main.tsx" },
    cwd: ROOT,
    platform: "browser",
    transform: {
      target: "es2022",
      jsx: { runtime: "automatic" },
      define: { LAID_OUT_CHARTS: JSON.stringify(charts) },
    },
  });
  const { output } = await build.generate({ format: "esm", minify: true, entryFileNames: "viewer.js" });
  await build.close();
  const [entry, ...more] = output;
  if (more.length > 0) throw new Error("the viewer must be one file");
  mkdirSync(dirname(OUT), { recursive: true });
  // Beside the old one first: somebody may be opening that.
  const made = mkdtempSync(`${OUT}-`);
  writeFileSync(join(made, "viewer.js"), entry.code);
  writeFileSync(join(made, "viewer.css"), styles());
  writeFileSync(join(made, "THIRD-PARTY-LICENSES.txt"), licences(entry.moduleIds));
  // A folder made for temporary files is for its owner only.
  chmodSync(made, 0o755);
  putInPlace(made);
  return pathToFileURL(`${OUT}/`);
}

/** Two renames, so that there is no moment to speak of without a viewer. Of two that build at once the first one wins. */
function putInPlace(made: string): void {
  const old = `${made}-old`;
  try {
    if (existsSync(OUT)) renameSync(OUT, old);
    renameSync(made, OUT);
  } catch (error) {
    if (!existsSync(OUT)) throw error;
  }
  rmSync(old, { recursive: true, force: true });
  rmSync(made, { recursive: true, force: true });
}

function styles(): string {
  const own = ["theme.css", "layout.css", "panels.css", "memory.css", "timeline.css", "compare.css"].map(
    (name) => readFileSync(join(ROOT, "src/host/inspector/page/styles", name), "utf8"),
  );
  const plot = readFileSync(createRequire(import.meta.url).resolve("uplot/dist/uPlot.min.css"), "utf8");
  return [plot, ...own].join("\n");
}

function licences(moduleIds: readonly string[]): string {
  const folders = moduleIds.flatMap(
    (id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll("\\", "/"))?.[0] ?? [],
  );
  return [...new Set(folders)]
    .sort()
    .map((folder) => {
      const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}

const NODE_HEIGHT = 30;
const CHARACTER = 7.2;

/** From the top: the way that a lane goes when all is well, then what it falls into. */
const DOWNWARD = [
  "*",
  "idle",
  "due",
  "requested",
  "compacting",
  "running",
  "coolingDown",
  "backingOff",
  "overBudget",
  "passive",
];

function rankOf(id: string): number {
  const rank = DOWNWARD.indexOf(id.split(".")[0] ?? "");
  return rank < 0 ? DOWNWARD.length : rank;
}

export async function layOut(graph: ChartGraph): Promise<LaidOutChart> {
  // The package's types take its default export for a namespace.
  const Elk = (await import("elkjs")).default as unknown as new () => ELK;
  const children = (parent: string | null): ElkNode[] =>
    graph.nodes
      .filter((node) => node.parent === parent)
      .sort((a, b) => rankOf(a.id) - rankOf(b.id))
      .map((node) => {
        const inner = children(node.id);
        return {
          id: node.id,
          width: Math.max(70, node.label.length * CHARACTER + 24),
          height: NODE_HEIGHT,
          ...(inner.length > 0 && {
            children: inner,
            layoutOptions: { "elk.padding": "[top=24,left=12,bottom=12,right=12]" },
          }),
        };
      });
  const laidOut: ElkNode = await new Elk().layout({
    id: "root",
    layoutOptions: {
      "elk.algorithm": "layered",
      "elk.direction": "DOWN",
      "elk.hierarchyHandling": "INCLUDE_CHILDREN",
      "elk.edgeRouting": "ORTHOGONAL",
      "elk.layered.spacing.nodeNodeBetweenLayers": "18",
      "elk.layered.spacing.edgeNodeBetweenLayers": "9",
      "elk.layered.spacing.edgeEdgeBetweenLayers": "8",
      "elk.spacing.nodeNode": "18",
      "elk.spacing.edgeNode": "9",
      "elk.spacing.edgeEdge": "8",
      "elk.layered.cycleBreaking.strategy": "MODEL_ORDER",
      "elk.layered.considerModelOrder.strategy": "PREFER_NODES",
      "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
      "elk.json.edgeCoords": "ROOT",
      "elk.json.shapeCoords": "ROOT",
    },
    children: children(null),
    edges: [...graph.edges]
      .sort((a, b) => rankOf(a.from) - rankOf(b.from) || rankOf(a.to) - rankOf(b.to))
      .map(({ id, from, to }) => ({ id, sources: [from], targets: [to] })),
  });
  const places = new Map<string, ElkNode>();
  const collect = (node: ElkNode) => {
    for (const child of node.children ?? []) {
      places.set(child.id, child);
      collect(child);
    }
  };
  collect(laidOut);
  const routes = new Map((laidOut.edges ?? []).map((edge: ElkExtendedEdge) => [edge.id, edge]));
  return {
    width: Math.ceil(laidOut.width ?? 0),
    height: Math.ceil(laidOut.height ?? 0),
    nodes: graph.nodes.map(({ id, label, description }) => {
      const { x = 0, y = 0, width = 0, height = 0, children: inner = [] } = places.get(id) ?? {};
      return { id, label, description, x, y, width, height, group: inner.length > 0 };
    }),
    edges: graph.edges.map(({ id, from, to, transitions }) => {
      const section = routes.get(id)?.sections?.[0];
      const points = section ? [section.startPoint, ...(section.bendPoints ?? []), section.endPoint] : [];
      return {
        id,
        from,
        to,
        transitions,
        points: points.map(({ x, y }) => ({ x, y })),
        label: middleOf(points),
      };
    }),
  };
}

/** The middle of the longest stretch of an arrow: where its number is read best. */
function middleOf(points: readonly { x: number; y: number }[]): { x: number; y: number } {
  let best = { x: points[0]?.x ?? 0, y: points[0]?.y ?? 0 };
  let longest = 0;
  for (const [at, { x, y }] of points.entries()) {
    const next = points[at + 1];
    if (!next) continue;
    const length = Math.abs(next.x - x) + Math.abs(next.y - y);
    if (length <= longest) continue;
    longest = length;
    best = { x: (x + next.x) / 2, y: (y + next.y) / 2 };
  }
  return best;
}

if (process.argv[1] && import.meta.filename === resolve(process.argv[1])) {
  await buildViewer();
  console.log("dist/viewer");
}
