import { appendFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { givenFile, sessionsHere } from "../../../src/host/cli/input/session-files.ts";
import { start } from "../../support/programs/run-cli.ts";
import { SESSION_HEADER } from "../../support/sessions/plain-session.ts";

let dir: string;
let here: string;
let old: string;
let latest: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-sessions-"));
  here = join(dir, "project");
  mkdirSync(here);
  mkdirSync(join(dir, "agent/sessions/one"), { recursive: true });
  old = put("one/t1_01a2aaaa-1111.jsonl", "01a2aaaa-1111", here, 1000);
  latest = put("one/t2_01a2bbbb-2222.jsonl", "01a2bbbb-2222", here, 2000);
  put("one/t3_01a3cccc-3333.jsonl", "01a3cccc-3333", join(dir, "elsewhere"), 3000);
  put("one/broken.jsonl", "", "", 4000);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function put(name: string, id: string, cwd: string, seconds: number): string {
  const file = join(dir, "agent/sessions", name);
  writeFileSync(file, id === "" ? "{" : `${JSON.stringify({ ...SESSION_HEADER, id, cwd })}\n`);
  utimesSync(file, seconds, seconds);
  return file;
}

const around = () => ({ agentDir: join(dir, "agent"), cwd: here, env: {}, home: dir });
const cli = (...args: string[]) =>
  start(args, {
    cwd: here,
    env: { PI_CODING_AGENT_DIR: join(dir, "agent"), PI_CODING_AGENT_SESSION_DIR: "" },
  });

describe("a command's session", () => {
  it("is the latest of this folder when none is named", () => {
    expect(givenFile(undefined, around()).file).toBe(latest);
    expect([...sessionsHere(around())].map(({ file }) => file)).toEqual([latest, old]);
  });

  it("is found by the beginning of its id, whatever its folder, if there is only one", () => {
    expect(givenFile("01A3", around()).file).toContain("01a3cccc-3333");
    expect(givenFile("01a2aaaa-1111", around()).file).toBe(old);
    expect(() => givenFile("01a2", around())).toThrow("2 sessions have an id that begins so");
    expect(() => givenFile("dead", around())).toThrow("no such file, and no session's id begins so");
  });

  it("is a file where there is one, and what is no id is a file's name", () => {
    expect(givenFile(old, around())).toEqual({ file: old });
    expect(givenFile("-", around())).toEqual({ file: "-" });
    expect(givenFile("nowhere.jsonl", around())).toEqual({ file: "nowhere.jsonl" });
  });

  it("is missed in words that say where it was looked for", () => {
    const nowhere = { ...around(), cwd: dir };
    expect(() => givenFile(undefined, nowhere)).toThrow(
      `no session of this folder in ${join(dir, "agent/sessions")}`,
    );
  });
});

describe("memory-lanes alone", () => {
  it("lists the sessions of this folder, the latest first", () => {
    const { out, code } = cli();
    expect(code).toBe(0);
    expect(out).toMatch(/01a2bbbb-2222.*01a2aaaa-1111/s);
    expect(out).not.toContain("01a3cccc");
    expect(out.split("\n").every((line) => line.length <= 120)).toBe(true);
  });

  it("lists those of all folders when asked, a broken one with what is wrong", () => {
    const { out } = cli("sessions", "--all", "--json");
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ id }) => id)).toEqual(["", "01a3cccc-3333", "01a2bbbb-2222", "01a2aaaa-1111"]);
    expect(lines[0].problems).toHaveLength(1);
  });

  it("says what each one's memory took, and below it what is not well, in 80 columns", () => {
    const entry = (id: string, parentId: string | null, more: object) =>
      `${JSON.stringify({ id, parentId, timestamp: "2026-03-04T12:00:00.000Z", ...more })}\n`;
    const usage = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0 };
    const cost = { worker: "observer", model: "p/m", usage, runId: "observer-1" };
    const spent = join(dir, "spent");
    mkdirSync(spent);
    const file = put("one/t5_01a5eeee-5555.jsonl", "01a5eeee-5555", spent, 5000);
    const unpriced = put("one/t6_01a6ffff-6666.jsonl", "01a6ffff-6666", spent, 6000);
    const custom = (data: object) => ({ type: "custom", customType: "om.cost", data });
    appendFileSync(file, entry("a", null, custom({ ...cost, cost: 12.5 })));
    appendFileSync(file, `${entry("b", "a", custom(cost))}no JSON\n`);
    appendFileSync(unpriced, entry("a", null, custom(cost)));
    utimesSync(file, 5000, 5000);
    utimesSync(unpriced, 6000, 6000);
    const listed = (...args: string[]) =>
      start(["sessions", ...args], {
        cwd: spent,
        env: { PI_CODING_AGENT_DIR: join(dir, "agent"), PI_CODING_AGENT_SESSION_DIR: "", COLUMNS: "80" },
      }).out.trimEnd();
    const lines = listed().split("\n");
    expect(lines.find((line) => line.includes("01a5eeee"))).toMatch(/ ≥ \$12\.5000$/);
    expect(lines.find((line) => line.includes("01a6ffff"))).toMatch(/ —$/);
    expect(lines).toContain("    1 line cannot be read, the first is line 4");
    expect(Math.max(...lines.slice(2, 6).map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(
      listed("--json")
        .split("\n")
        .map((line) => JSON.parse(line).spend),
    ).toEqual([
      { runs: 1, input: 100, output: 10, usd: null, isPartial: true },
      { runs: 2, input: 200, output: 20, usd: 12.5, isPartial: true },
    ]);
  });
});
