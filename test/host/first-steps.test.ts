import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const ON_WINDOWS = process.platform === "win32";

/** The path without what npm has put on it: there the first Node is the machine's own, which may be an old one. */
const SYSTEM_PATH = (process.env.PATH ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(delimiter);
const ENV = { ...process.env, PATH: SYSTEM_PATH };

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-first-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function node(args: readonly string[], cwd: string) {
  const { stdout, stderr, status } = spawnSync("node", [...args], { cwd, env: ENV, encoding: "utf8" });
  return { stdout, stderr, status };
}

describe.skipIf(ON_WINDOWS)("the first ten minutes, with the machine's own Node", () => {
  it("npm start ends with commands that work as they stand", { timeout: 180_000 }, async () => {
    const out = execFileSync("npm", ["start", "--", "--dir", join(dir, "a demo")], {
      ...{ cwd: ROOT, env: ENV, encoding: "utf8" },
    });
    const commands = out.split("\n").filter((line) => line.startsWith("node "));
    expect(commands.map((line) => /bin\.js (\w+)/.exec(line)?.[1])).toEqual([
      ...["inspect", "replay", "tune", "view", "recall"],
    ]);
    for (const command of commands.slice(1)) {
      const ran = spawnSync("bash", ["-c", command], { cwd: ROOT, env: ENV, encoding: "utf8" });
      expect({ command, status: ran.status }).toEqual({ command, status: 0 });
      expect(ran.stdout.length).toBeGreaterThan(100);
    }
    // It serves until it is told to stop, also where it runs itself with another Node.
    const inspect = spawn("bash", ["-c", `exec ${commands[0]} --json`], { cwd: ROOT, env: ENV });
    const ended = once(inspect, "close");
    const [line] = await once(inspect.stdout, "data");
    inspect.kill("SIGTERM");
    await ended;
    const { page } = JSON.parse(String(line));
    await expect(fetch(page)).rejects.toThrow();
  });

  it("the command runs itself with the Node of the checkout, and hands its exit code on", () => {
    const bin = join(ROOT, "src/host/cli/bin.js");
    expect(node([bin, "--version"], dir)).toMatchObject({ status: 0, stdout: "0.1.0\n" });
    expect(node([bin, "replay", "nowhere"], dir)).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/nowhere/),
    });
  });
});

describe("a checkout without its packages", () => {
  it("says so, and what to do", () => {
    const checkout = join(dir, "checkout");
    for (const file of ["src/host/cli/bin.js", "src/host/cli/main.ts", "demo/start.js"]) {
      mkdirSync(join(checkout, file, ".."), { recursive: true });
      cpSync(join(ROOT, file), join(checkout, file));
    }
    for (const file of ["src/host/cli/bin.js", "demo/start.js"]) {
      expect(node([file], checkout)).toMatchObject({
        status: 2,
        stderr: expect.stringMatching(/^[^\n]*this checkout has no packages yet: run `npm ci` in [^\n]*\n$/i),
      });
    }
  });
});
