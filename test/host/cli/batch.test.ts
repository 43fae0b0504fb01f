import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openJournal } from "../../../src/host/cli/batch/batch-journal.ts";
import { BatchRecordSchema } from "../../../src/host/cli/batch/batch-record.ts";
import { StatsSchema } from "../../../src/host/cli/stats/session-stats.ts";
import { BIN, linesOf, ROOT, run, start } from "../../support/programs/run-cli.ts";
import { plainSession, SESSION_HEADER } from "../../support/sessions/plain-session.ts";

const FILES = 60;
/** Every twentieth file is broken, each in another way. */
const BROKEN = ["", "no session\n", '{"type":"session"', "\u0000\u0001\n"];

let dir: string;
let sessions: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-batch-"));
  sessions = join(dir, "sessions");
  mkdirSync(join(sessions, "deep"), { recursive: true });
  for (let n = 0; n < FILES; n++) {
    const name = `s${String(n).padStart(4, "0")}.jsonl`;
    const file = join(sessions, n % 2 === 0 ? "" : "deep", name);
    if (n % 20 === 7) writeFileSync(file, BROKEN[Math.floor(n / 20) % BROKEN.length] ?? "");
    else writeFileSync(file, sessionText(n));
  }
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function sessionText(n: number): string {
  const session = plainSession();
  for (let turn = 0; turn <= n % 5; turn++) session.user(100 + n).assistant(50);
  session.observed(session.tip);
  const cost = {
    ...{ type: "custom", customType: "om.cost", id: `cost${n}`, parentId: session.tip },
    timestamp: "2026-01-15T10:00:00.000Z",
    data: {
      ...{ worker: "observer", model: "p/m", runId: `r${n}`, cost: 0.01 },
      usage: { input: 100, output: 10, cacheRead: 0, cacheWrite: 0 },
    },
  };
  const lines = [{ ...SESSION_HEADER, id: `session${n}` }, ...session.entries, cost];
  return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}

const recordsOf = (out: string) => linesOf(out).map((line) => BatchRecordSchema.parse(JSON.parse(line)));

describe("many files", { timeout: 120_000 }, () => {
  it("give the same with one job and with several, in the order of the files, and a broken one stops nobody", () => {
    const [one, two] = [1, 2].map((jobs) => start(["stats", sessions, "--ndjson", "--jobs", String(jobs)]));
    expect(one?.out).toBe(two?.out);
    expect(one?.code).toBe(1);
    const records = recordsOf(one?.out ?? "");
    expect(records).toHaveLength(FILES);
    expect(records.map(({ file }) => file)).toEqual(records.map(({ file }) => file).toSorted());
    const broken = records.filter(({ error }) => error !== undefined);
    expect(broken).toHaveLength(FILES / 20);
    for (const { result, error } of records) {
      if (error === undefined) expect(StatsSchema.parse(result)).toMatchObject({ source: "session" });
      else expect(error).not.toBe("");
    }
  });

  it("are summed for people, and what forks share is counted once", () => {
    const copies = join(dir, "forks");
    mkdirSync(copies);
    for (const name of ["a", "b"]) writeFileSync(join(copies, `${name}.jsonl`), sessionText(3));
    const { out, code } = start(["stats", copies]);
    expect(code).toBe(0);
    expect(out).toMatch(/2 files: 2 well\.\n2 sessions: \$0\.0100 \(1 run,/);
  });

  it("go on where they were killed, to the same end", async () => {
    const whole = start(["stats", sessions, "--ndjson", "--jobs", "2"]);
    const journal = join(dir, "journal.ndjson");
    const args = ["stats", sessions, "--ndjson", "--jobs", "1", "--resume", journal];
    const child = spawn(process.execPath, [BIN, ...args], { stdio: ["ignore", "pipe", "ignore"] });
    const exited = new Promise((resolve) => child.once("exit", resolve));
    // After its first record it has done some, and not all.
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.kill("SIGKILL");
    await exited;
    const before = linesOf(readFileSync(journal, "utf8")).length;
    expect(before).toBeGreaterThan(1);
    // The last line may have broken off.
    writeFileSync(journal, readFileSync(journal, "utf8").slice(0, -30));
    const resumed = start(args);
    expect(resumed.out).toBe(whole.out);
    expect(linesOf(readFileSync(journal, "utf8")).length).toBeGreaterThan(before);
    expect(start(args).out).toBe(whole.out);
  });

  it.each([
    ["something else", "hello\n", /it holds something else/],
    [
      "another batch",
      `${JSON.stringify({ type: "batch", verb: "doctor", options: {} })}\n`,
      /of another batch/,
    ],
  ])("are not resumed from %s", async (_what, text, words) => {
    const journal = join(dir, "other.ndjson");
    writeFileSync(journal, text);
    const { err, code } = await run(["stats", sessions, "--resume", journal]);
    expect(code).toBe(2);
    expect(err).toMatch(words);
  });

  it("are replayed, verified, examined and exported", () => {
    const recordings = join(ROOT, "test/recordings");
    const verified = start(["replay", "--verify", recordings, "--ndjson"]);
    expect(verified.code).toBe(0);
    for (const { result } of recordsOf(verified.out)) {
      expect(result).toMatchObject({ type: "summary", verification: { ok: true } });
    }
    expect(start(["replay", join(sessions, "deep"), "--jobs", "2"]).out).toMatch(
      /30 files: \d+ well, \d+ at fault/,
    );
    expect(start(["doctor", join(sessions, "s0000.jsonl"), join(sessions, "s0002.jsonl")]).out).toMatch(
      /2 files/,
    );
    const out = join(dir, "documents");
    const exported = start(["export", join(sessions, "s00*.jsonl"), "-o", out]);
    expect(exported.code).toBe(0);
    expect(readdirSync(out)).toHaveLength(30);
    expect(readFileSync(join(out, "s0000.md"), "utf8")).toContain("#");
  });

  it.each([
    ["an empty folder", () => mkdtempSync(join(dir, "empty-")), /no session or recording is in this folder/],
    ["a glob of nothing", () => join(dir, "*.nothing"), /no file matches/],
  ])("refuse %s", async (_what, argument, words) => {
    const { err, code } = await run(["stats", argument()]);
    expect([code, err]).toEqual([2, expect.stringMatching(words)]);
  });
});

it("keeps no record of a file that could not be read, so that it is tried again", () => {
  const path = join(dir, "fresh.ndjson");
  const header = { type: "batch" as const, verb: "stats", options: {} };
  openJournal(path, header).add({ type: "file", file: "a", hash: "", exit: 2, error: "gone", result: null });
  expect(openJournal(path, header).isFresh).toBe(true);
});
