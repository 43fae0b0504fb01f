// Builds what the npm package ships instead of the sources: dist/. A checkout works without it.
//
//   node scripts/build.mjs                 everything, or fail
//   node scripts/build.mjs --if-possible   for `prepare`: quietly nothing where the build tools are not installed
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";

const ROOT = dirname(import.meta.dirname);
const DIST = join(ROOT, "dist");

/** What Pi and the `memory-lanes` command load: self-contained, because one file starts faster than many. */
const PROGRAMS = {
  runtime: "src/host/pi/memory-session.ts",
  cli: "src/host/cli/main.ts",
  "batch-worker": "src/host/cli/batch/batch-worker.ts",
};

/** What `import "pi-memory-lanes"` and `import "pi-memory-lanes/replay"` give: their dependencies stay outside, so that machines and schemas are of the
 * importer's own XState and zod. */
const LIBRARY = { index: "src/index.ts", replay: "src/replay.ts" };

/** What `ws` tries to load for speed and does without. */
const NATIVE_EXTRAS = ["bufferutil", "utf-8-validate"];

const { values } = parseArgs({ options: { "if-possible": { type: "boolean", default: false } } });
await main(values["if-possible"]);

async function main(ifPossible) {
  // `npm pack` runs both prepack, which has just built, and prepare.
  if (ifPossible && ["pack", "publish"].includes(process.env.npm_command ?? "")) return;
  const tools = await buildTools(ifPossible);
  if (!tools) return;
  clear();
  const chunks = [
    ...(await bundle(tools.rolldown, present(PROGRAMS), { external: isHost, minify: true })),
    ...(await bundle(tools.rolldown, present(LIBRARY), { external: isPackage, minify: false })),
  ];
  writeNotices(chunks);
  if (existsSync(join(ROOT, LIBRARY.index))) writeDeclarations(tools.tsc);
  for (const { fileName, code } of chunks)
    console.log(`dist/${fileName}  ${(code.length / 1024).toFixed(0)} KB`);
  await writeViewer(ifPossible);
}

/** The builder is in TypeScript, which an older Node cannot read. A checkout builds its viewer on first use, too. */
async function writeViewer(mayFail) {
  try {
    const { buildViewer } = await import("./build-page.ts");
    await buildViewer();
    console.log("dist/viewer");
  } catch (error) {
    if (!mayFail) throw error;
  }
}

/** Whoever looks at the viewer meanwhile goes on: its build puts the new one in the place of the old one. */
function clear() {
  if (!existsSync(DIST)) return;
  for (const name of readdirSync(DIST).filter((each) => each !== "viewer"))
    rmSync(join(DIST, name), { recursive: true });
}

/** The bundler and the compiler; undefined where they may be missing and are: an install without dev dependencies. */
async function buildTools(mayBeMissing) {
  try {
    const { rolldown } = await import("rolldown");
    const tsc = join(folderOf("typescript"), "bin/tsc");
    return { rolldown, tsc };
  } catch (error) {
    if (mayBeMissing) return undefined;
    throw error;
  }
}

function folderOf(name) {
  return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`));
}

function present(entries) {
  const missing = Object.entries(entries).filter(([, source]) => !existsSync(join(ROOT, source)));
  for (const [name, source] of missing) console.warn(`skipped dist/${name}.js: there is no ${source}`);
  return Object.fromEntries(
    Object.entries(entries).filter((entry) => !missing.some(([name]) => name === entry[0])),
  );
}

async function bundle(rolldown, input, { external, minify }) {
  if (Object.keys(input).length === 0) return [];
  const build = await rolldown({
    input,
    cwd: ROOT,
    external,
    platform: "node",
    // For Node, RxJS names its CommonJS build, which cannot be shaken: 100 KB more.
    resolve: { alias: { rxjs$: join(folderOf("rxjs"), "dist/esm/index.js") } },
    transform: { target: "node22.19", ...(minify && { define: { "process.env.NODE_ENV": '"production"' } }) },
    // Whatever is unusual about a build is a fault in it.
    onLog: (level, log) => {
      if (level === "warn") throw new Error(log.message);
    },
  });
  const { output } = await build.write({
    dir: DIST,
    format: "esm",
    minify,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
  });
  await build.close();
  return output.filter(({ type }) => type === "chunk");
}

/** Pi's own packages come from the Pi that loads us, OpenTelemetry's from whoever wants it; the pool starts its threads from its own files. */
function isHost(id) {
  return (
    isBuiltin(id) ||
    id === "tinypool" ||
    /^@(earendil-works|opentelemetry)\//.test(id) ||
    NATIVE_EXTRAS.includes(id)
  );
}

function isPackage(id) {
  return !id.startsWith(".") && !id.startsWith("/") && !/^[A-Za-z]:/.test(id);
}

/** The licences of everything that the bundles contain, as these licences ask. */
function writeNotices(chunks) {
  const folders = chunks
    .flatMap(({ moduleIds }) => moduleIds)
    .map((id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0])
    .filter((folder) => folder !== undefined);
  const notices = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${folder} is bundled and has no licence file`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  writeFileSync(join(DIST, "THIRD-PARTY-LICENSES.txt"), notices.join(`\n${"-".repeat(80)}\n\n`));
}

/** Only emits: whether the types are right is for `npm run typecheck` to say. */
function writeDeclarations(tsc) {
  execFileSync(process.execPath, [tsc, "--project", join(ROOT, "tsconfig.build.json")], { stdio: "inherit" });
}
