import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

/**
 * `npm run test:pi-matrix [-- VERSION …]`: the tests of the main job against real Pis of every supported release line.
 * Those that this project does not depend on are installed from the registry once, into `.cache/pi-VERSION`.
 */
const VERSIONS = ["0.87.1", "1.4.0", "1.5.2", "1.6.0"];
const TESTS = ["main-job", "fidelity", "context-windows", "hosts/modes", "hosts/other-extensions"].map(
  (name) => `test/pi/${name}.test.ts`,
);

const PI = "@earendil-works/pi-coding-agent";
const ROOT = resolve(import.meta.dirname, "../../..");
const INSTALL_ATTEMPTS = 3;

interface Result {
  version: string;
  outcome: "passed" | "failed" | "not installed";
  seconds: number;
}

const chosen = process.argv.slice(2);
const results: Result[] = [];
for (const version of chosen.length > 0 ? chosen : VERSIONS) {
  console.log(`\n=== Pi ${version}`);
  const startedAt = performance.now();
  const outcome = await testWith(version);
  results.push({ version, outcome, seconds: Math.round((performance.now() - startedAt) / 1000) });
}
console.log("");
for (const { version, outcome, seconds } of results) {
  console.log(`Pi ${version.padEnd(8)} ${outcome.padEnd(14)} ${seconds} s`);
}
process.exitCode = results.every(({ outcome }) => outcome === "passed") ? 0 : 1;

async function testWith(version: string): Promise<Result["outcome"]> {
  const piDir = await install(version);
  if (piDir === undefined) return "not installed";
  const vitest = join(createRequire(import.meta.url).resolve("vitest/package.json"), "../vitest.mjs");
  const args = [vitest, "run", "--project", "real programs", ...TESTS];
  const code = await run(process.execPath, args, { cwd: ROOT, env: { ...process.env, PI_TEST_DIR: piDir } });
  return code === 0 ? "passed" : "failed";
}

/** The folder of an installed Pi of this version; undefined when the registry does not give it. */
async function install(version: string): Promise<string | undefined> {
  const ownPi = join(ROOT, "node_modules", PI);
  if (installedVersion(ownPi) === version) return ownPi;
  const prefix = join(ROOT, ".cache", `pi-${version}`);
  const piDir = join(prefix, "node_modules", PI);
  for (let attempt = 1; attempt <= INSTALL_ATTEMPTS; attempt++) {
    if (installedVersion(piDir) === version) return piDir;
    mkdirSync(prefix, { recursive: true });
    writeFileSync(join(prefix, "package.json"), JSON.stringify({ name: "pi-under-test", private: true }));
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", `${PI}@${version}`], {
      cwd: prefix,
      env: process.env,
    });
  }
  return installedVersion(piDir) === version ? piDir : undefined;
}

function installedVersion(piDir: string): string | undefined {
  const manifest = join(piDir, "package.json");
  if (!existsSync(manifest)) return undefined;
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version?: string }).version;
}

function run(
  file: string,
  args: string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<number> {
  return new Promise((done) => {
    const child = spawn(file, args, { ...options, stdio: "inherit" });
    child.once("error", (error) => {
      console.error(`${file}: ${error.message}`);
      done(1);
    });
    child.once("close", (code) => done(code ?? 1));
  });
}
