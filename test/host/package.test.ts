import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startPi } from "../../demo/pi/pi-process.ts";
import { NEVER } from "../pi/support/harness.ts";
import { startInspect } from "../support/programs/run-inspect.ts";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../..");
const MODULES = join(ROOT, "node_modules");

/** What Pi loads at start-up is all that ships as source; what that loads later is in dist/. */
const ENTRIES = [
  "index.ts",
  "src/host/cli/bin.js",
  "src/host/pi/extension.ts",
  "src/host/pi/entry-renderers.ts",
  "src/host/pi/hand/register-hand.ts",
  "src/host/pi/hand/sent-messages.ts",
  "src/host/pi/oldest-pi.ts",
  "src/reducers/harmless-text.ts",
  "src/reducers/words.ts",
];

interface Manifest {
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional?: boolean }>;
  exports: Record<"." | "./replay", Record<string, string>>;
  bin: Record<string, string>;
  pi: { extensions: string[]; changelogPath?: string };
  keywords: string[];
  version: string;
}

let dir: string;
/** The package as a user's npm unpacks it. */
let unpacked: string;
let files: string[];
let manifest: Manifest;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "pi-memory-lanes-package-"));
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", dir], {
    cwd: ROOT,
    shell: process.platform === "win32",
    // npm prints what the build scripts print before its own JSON.
    env: { ...process.env, npm_config_foreground_scripts: "false" },
  });
  const [packed] = JSON.parse(stdout.slice(stdout.search(/^\[/m)));
  files = packed.files.map(({ path }: { path: string }) => path);
  await run("tar", ["-xzf", join(dir, packed.filename), "-C", dir]);
  unpacked = join(dir, "package");
  manifest = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
}, 120_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("the tarball", () => {
  it("holds what is needed", () => {
    expect(files).toEqual(
      expect.arrayContaining([
        ...ENTRIES,
        ...["package.json", "README.md", "LICENSE", "CHANGELOG.md"],
        ...["docs/configuration.md", "docs/settings.schema.json"],
        ...[
          "dist/runtime.js",
          "dist/index.js",
          "dist/index.d.ts",
          "dist/replay.js",
          "dist/replay.d.ts",
          "dist/THIRD-PARTY-LICENSES.txt",
        ],
        ...["dist/viewer/viewer.js", "dist/viewer/viewer.css", "dist/viewer/THIRD-PARTY-LICENSES.txt"],
      ]),
    );
  });

  it("holds nothing else", () => {
    const known = [
      /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md)$/,
      /^docs\/[\w-]+\.md$/,
      /^docs\/settings\.schema\.json$/,
      /^dist\/(?:chunks\/)?[\w-]+\.js$/,
      /^dist\/(?:[\w-]+\/)*[\w-]+\.d\.ts$/,
      /^dist\/(?:viewer\/)?THIRD-PARTY-LICENSES\.txt$/,
      /^dist\/viewer\/viewer\.(?:js|css)$/,
    ];
    const unknown = files.filter(
      (file) => !ENTRIES.includes(file) && !known.some((pattern) => pattern.test(file)),
    );
    expect(unknown).toEqual([]);
  });

  it("has every file that its manifest names", () => {
    const named = [
      ...Object.values(manifest.exports["."]),
      ...Object.values(manifest.exports["./replay"]),
      ...Object.values(manifest.bin),
      ...manifest.pi.extensions,
    ];
    for (const file of named) expect(existsSync(join(unpacked, file))).toBe(true);
  });

  it("is a Pi package that leaves Pi to Pi", () => {
    expect(manifest.keywords).toContain("pi-package");
    const host = (name: string) => name.startsWith("@earendil-works/");
    expect(Object.keys(manifest.dependencies).filter(host)).toEqual([]);
    const peers = Object.entries(manifest.peerDependencies).filter(([name]) => host(name));
    expect(new Set(peers.map(([, range]) => range))).toEqual(new Set(["*"]));
  });

  it("leaves to its user what few need", () => {
    const others = Object.keys(manifest.peerDependencies).filter(
      (name) => !name.startsWith("@earendil-works/"),
    );
    expect(others).toEqual(["@opentelemetry/api", "@opentelemetry/sdk-node"]);
    for (const name of others) expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
  });

  it("has a changelog in the form that Pi shows, up to its version", () => {
    const changelog = readFileSync(join(unpacked, "CHANGELOG.md"), "utf8");
    expect(changelog).toMatch(new RegExp(`^## \\[${manifest.version}\\] - \\d{4}-\\d{2}-\\d{2}$`, "m"));
  });
});

describe("the library in a project of its own", () => {
  let project: string;

  beforeAll(() => {
    project = join(dir, "project");
    mkdirSync(join(project, "node_modules", "@types"), { recursive: true });
    writeFileSync(join(project, "package.json"), '{ "type": "module" }');
    const link = (from: string, name: string) => {
      mkdirSync(join(project, "node_modules", name, ".."), { recursive: true });
      symlinkSync(from, join(project, "node_modules", name), "junction");
    };
    link(unpacked, "pi-memory-lanes");
    // A package's own imports start from its real path.
    symlinkSync(join(project, "node_modules"), join(unpacked, "node_modules"), "junction");
    for (const name of Object.keys(manifest.dependencies)) link(join(MODULES, name), name);
  });

  it("can be imported, without Pi", async () => {
    const script = `
      import { readClocks, foldLedger, memoryId, SettingsSchema } from "pi-memory-lanes";
      const entry = { type: "message", id: "a", parentId: null, timestamp: "2026-12-01T00:00:00.000Z",
        message: { role: "user", content: "Four and twenty blackbirds" } };
      console.log(JSON.stringify({
        observe: readClocks([entry]).observe,
        observations: foldLedger([entry]).observations,
        id: memoryId("x"),
        compact: SettingsSchema.parse({}).compactAfterTokens,
      }));`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: project });
    expect(JSON.parse(stdout)).toEqual({
      observe: expect.any(Number),
      observations: [],
      id: expect.stringMatching(/^[0-9a-f]{12}$/),
      compact: 81_000,
    });
  });

  it("shares XState with its importer", async () => {
    const script = `
      import { observerLane } from "pi-memory-lanes/replay";
      import { StateMachine } from "xstate";
      console.log(observerLane instanceof StateMachine);`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: project });
    expect(stdout.trim()).toBe("true");
  });

  it("has types that a strict project can use", async () => {
    writeFileSync(
      join(project, "use.ts"),
      `import { type Clocks, readClocks, SettingsSchema } from "pi-memory-lanes";
      const clocks: Clocks = readClocks([]);
      export const compact: number = clocks.compact + SettingsSchema.parse({}).compactAfterTokens;
      // @ts-expect-error: a clock is a number
      export const wrong: string = clocks.compact;`,
    );
    const tsc = join(MODULES, "typescript", "bin", "tsc");
    const flags = [
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2023",
      "--skipLibCheck",
      "false",
    ];
    await expect(run(process.execPath, [tsc, ...flags, "use.ts"], { cwd: project })).resolves.toBeDefined();
  });
});

describe("the command", () => {
  it.runIf(existsSync(join(ROOT, "src/host/cli/main.ts")))("runs from the package", async () => {
    const { stdout } = await run(process.execPath, [
      join(unpacked, manifest.bin["memory-lanes"] ?? ""),
      "--help",
    ]);
    expect(stdout).toContain("replay");
  });

  it("serves its viewer without building anything", async () => {
    const recording = join(ROOT, "test/recordings/main-job.ndjson");
    const { page, stop } = await startInspect([recording], {}, join(unpacked, "src/host/cli/bin.js"));
    const { pathname } = new URL(page);
    expect(pathname).toBe("/");
    const html = await (await fetch(page)).text();
    const script = /src="([^"]+)"/.exec(html)?.[1] ?? "";
    const served = await (await fetch(new URL(script, page))).text();
    expect(served).toBe(readFileSync(join(unpacked, "dist/viewer/viewer.js"), "utf8"));
    expect(await stop()).toBe(0);
  });
});

describe("the unpacked tarball", () => {
  it("can be installed in: what builds a checkout leaves it alone", async () => {
    const before = readFileSync(join(unpacked, "dist/cli.js"), "utf8");
    await run("npm", ["run", "prepare"], { cwd: unpacked, shell: process.platform === "win32" });
    expect(readFileSync(join(unpacked, "dist/cli.js"), "utf8")).toBe(before);
  });
});

describe("the extension in a real Pi", () => {
  it("goes by the package's name in Pi's lists", () => {
    // Pi calls an extension by its package where its file is an `index.ts` at the top, else by the path of the file.
    expect(manifest.pi.extensions).toEqual(["./index.ts"]);
  });

  it("loads from the package and offers its commands", async () => {
    const pi = await startPi({
      dir: join(dir, "pi"),
      modelUrl: "http://127.0.0.1:9/v1",
      settings: { "observational-memory": NEVER },
      extensions: [unpacked],
    });
    try {
      const { commands } = (await pi.send("get_commands")) as { commands: { name: string }[] };
      expect(commands.map(({ name }) => name)).toEqual(
        expect.arrayContaining(["om:status", "om:view", "om:promote"]),
      );
      // The engine comes from dist/: it is loaded by the first command.
      expect((await pi.command("/om:status")).join("\n")).toMatch(/observ/i);
    } finally {
      await pi.stop();
    }
  });

  it("says once what telemetry lacks, and works on", async () => {
    const pi = await startPi({
      dir: join(dir, "pi-telemetry"),
      modelUrl: "http://127.0.0.1:9/v1",
      settings: { "observational-memory": NEVER },
      extensions: [unpacked],
      env: COLLECTOR,
    });
    try {
      await pi.command("/om:status");
      expect((await pi.command("/om:status")).join("\n")).toMatch(/observ/i);
      const told = pi.uiRequests.flatMap(({ method, message }) =>
        method === "notify" && message?.includes("OpenTelemetry") ? [message] : [],
      );
      expect(told).toEqual([MISSING]);
    } finally {
      await pi.stop();
    }
  });
});

const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" };
const MISSING =
  "OpenTelemetry is asked for, and @opentelemetry/api is not installed beside Memory Lanes. Run: npm install @opentelemetry/api @opentelemetry/sdk-node";

describe("the command without the packages of telemetry", () => {
  it("says which to install", async () => {
    const bin = join(unpacked, "src/host/cli/bin.js");
    const recording = join(ROOT, "test/recordings/main-job.ndjson");
    const ended = run(process.execPath, [bin, "otel", recording], { env: { ...process.env, ...COLLECTOR } });
    await expect(ended).rejects.toMatchObject({ code: 2, stderr: `memory-lanes: ${MISSING}\n` });
  });
});
