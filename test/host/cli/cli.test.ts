import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ReplayOutputSchema } from "../../../src/host/cli/replay/replay-json.ts";
import { TuneLineSchema } from "../../../src/host/cli/tune/tune-command.ts";
import { BIN, linesOf, type Result, ROOT, run, start } from "../../support/programs/run-cli.ts";
import {
  DISGUISED,
  DISGUISED_ID,
  disguisedSession,
  OBEYED_OR_HIDDEN,
  OSC_52,
  UNDISGUISED_LINE,
} from "../../support/sessions/disguised-session.ts";
import { plainSession, SESSION_HEADER } from "../../support/sessions/plain-session.ts";

const RECORDING = join(ROOT, "test/recordings/main-job.ndjson");

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-cli-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function put(name: string, text: string): string {
  const file = join(dir, name);
  writeFileSync(file, text);
  return file;
}

function putSession(name: string, entries: readonly object[], header: object = SESSION_HEADER): string {
  return put(name, `${[header, ...entries].map((line) => JSON.stringify(line)).join("\n")}\n`);
}

const parsed = (text: string) => linesOf(text).map((line) => ReplayOutputSchema.parse(JSON.parse(line)));

/** One line on stderr that says what is wrong, and exit code 2. */
function expectRefusal(result: Result, words: RegExp): void {
  expect(result.out).toBe("");
  expect(linesOf(result.err)).toHaveLength(1);
  expect(result.err).toMatch(words);
  expect(result.code).toBe(2);
}

describe("memory-lanes", () => {
  it("names its subcommands, each of which has help and JSON", async () => {
    const { out, code } = await run(["--help"]);
    expect(code).toBe(0);
    for (const name of ["replay", "tune", "view", "recall", "export", "scrub", "doctor"]) {
      expect(out).toMatch(new RegExp(`^ {2}${name}\\b`, "m"));
      const help = await run([name, "--help"]);
      expect(help.code).toBe(0);
      expect(help.out).toContain("--json");
    }
  });

  it("refuses what it does not know in one line", async () => {
    expectRefusal(await run(["fold"]), /unknown command 'fold'/);
    expectRefusal(await run(["recall"]), /name a memory id/);
    expectRefusal(
      await run(["replay", RECORDING, "--lane", "fast"]),
      /lanes are observer, reflect and compaction/,
    );
  });

  it.runIf(existsSync("/dev/full"))("says so when its output cannot be written", () => {
    const full = openSync("/dev/full", "w");
    const { stderr, status } = spawnSync(process.execPath, [BIN, "replay", RECORDING], {
      stdio: ["ignore", full, "pipe"],
      encoding: "utf8",
    });
    closeSync(full);
    expect({ stderr, status }).toEqual({
      stderr: expect.stringMatching(/^memory-lanes: the output cannot be written: .*ENOSPC.*\n$/),
      status: 2,
    });
  });

  it("ends without a word when its reader has seen enough", async () => {
    const child = spawn(process.execPath, [BIN, "replay", RECORDING, "--all", "--json"], { cwd: dir });
    let err = "";
    child.stderr.on("data", (text) => {
      err += text;
    });
    child.stdout.once("data", () => child.stdout.destroy());
    const code = await new Promise((done) => child.once("close", done));
    expect({ err, code }).toEqual({ err: "", code: 0 });
  });
});

describe("in a terminal of 80 columns", () => {
  const overlong = (out: string) => linesOf(out).filter((line) => line.length > 80);

  it("all that replay and tune say fits, and loses nothing", async () => {
    const recordings = ["main-job", "failing-observer", "reload"].map((name) =>
      join(ROOT, `test/recordings/${name}.ndjson`),
    );
    const commands = recordings.flatMap((file) => [
      ["replay", file],
      ["replay", file, "--all"],
      ["replay", file, "--lane", "observer"],
      ["replay", file, "--explain", "17"],
      ["replay", file, "--verify"],
      ["tune", file],
    ]);
    for (const args of commands) {
      const { out } = await run(args, 80);
      expect({ args, overlong: overlong(out) }).toEqual({ args, overlong: [] });
    }
    const narrow = (await run(["replay", RECORDING], 80)).out;
    expect(narrow).toMatch(
      /^ +7 {2}\S+ {2}entries added user 253, assistant 715\n +>due 1\.9k\/1\.5k +idle 1\.9k\/3k +idle 1\.9k\/8k$/m,
    );
  });

  it("so does the help of every command, which ends with examples", async () => {
    const { out } = await run(["--help"]);
    const names = [...out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = ""]) => name);
    expect(names).toContain("replay");
    for (const name of ["", ...names.filter((one) => one !== "help" && one !== "memory")]) {
      const help = (await run(name === "" ? ["--help"] : [name, "--help"])).out;
      expect(help).toMatch(/\nExamples:\n {2}memory-lanes/);
      expect({ name, overlong: overlong(help) }).toEqual({ name, overlong: [] });
    }
  });
});

describe("replay", () => {
  it("prints a line for each event that changed anything, and what it came to", async () => {
    const { out, err, code } = await run(["replay", RECORDING]);
    expect({ err, code }).toEqual({ err: "", code: 0 });
    expect(out).toMatch(
      /^ +7 {2}\S+ {2}entries added .* >due 1,944\/1,500 +idle 1,944\/3,000 +idle 1,944\/8,000$/m,
    );
    expect(out).toMatch(
      /57 events, 20 shown: 4 observer runs, 2 reflector runs and 2 dropper runs; 1 compaction\.$/m,
    );
  });

  it("says under its table what the states mean that have no word for a name", async () => {
    const failing = join(ROOT, "test/recordings/failing-observer.ndjson");
    expect((await run(["replay", failing])).out).toMatch(/^backing off: waiting after a failure\.$/m);
    const reload = join(ROOT, "test/recordings/reload.ndjson");
    expect((await run(["replay", reload, "--lane", "compaction"])).out).toMatch(
      /^cooling down: waiting after a compaction\.$/m,
    );
  });

  it("shows one lane, a range, or everything", async () => {
    const lane = (await run(["replay", RECORDING, "--lane", "compaction", "--json"])).out;
    const steps = parsed(lane).filter((line) => line.type === "step");
    expect(steps.map(({ number }) => number)).toEqual([51, 53, 54, 56]);
    expect(steps.every(({ lanes }) => Object.keys(lanes).join() === "compaction")).toBe(true);
    const range = parsed(
      (await run(["replay", RECORDING, "--all", "--from", "5", "--to", "9", "--json"])).out,
    );
    expect(range.flatMap((line) => (line.type === "step" ? [line.number] : []))).toEqual([5, 6, 7, 8, 9]);
  });

  it("writes the same JSON each time, in its one schema, from a file and from standard input", async () => {
    const first = (await run(["replay", RECORDING, "--all", "--json"])).out;
    expect((await run(["replay", RECORDING, "--all", "--json"])).out).toBe(first);
    const lines = parsed(first);
    expect(lines[0]).toMatchObject({ type: "replay", format: 1, source: "recording" });
    expect(lines.at(-1)).toMatchObject({ type: "summary", events: 57, shown: 57, badLines: 0 });
    const piped = start(["replay", "-", "--all", "--json"], { input: readFileSync(RECORDING, "utf8") });
    expect(linesOf(piped.out).slice(1)).toEqual(linesOf(first).slice(1));
  });

  it.skipIf(process.platform === "win32")(
    "reads a pipe that has a file's name, also where it must twice",
    () => {
      const piped = (command: string) =>
        spawnSync("bash", ["-c", `"$0" "$1" ${command}`, process.execPath, BIN, RECORDING], {
          encoding: "utf8",
        });
      expect(piped('replay <(cat "$2") --verify').stdout).toMatch(/^Verified: 57 events/);
      expect(piped('replay <(cat "$2") --set observeAfterTokens=4000').stdout).toMatch(
        /4 recorded observer runs/,
      );
      const tuned = piped('tune <(cat "$2") --observe 1500 --json').stdout;
      expect(tuned).toBe(piped('tune "$2" --observe 1500 --json').stdout);
    },
  );

  it("verifies a recording, and names the event whose transition was edited", async () => {
    expect(await run(["replay", RECORDING, "--verify"])).toMatchObject({
      code: 0,
      out: "Verified: 57 events with 20 decisions, all as recorded.\n",
    });
    const edited = readFileSync(RECORDING, "utf8").replace(
      '"from":"due","to":"running"',
      '"from":"due","to":"idle"',
    );
    const file = put("edited.ndjson", edited);
    const { out, code } = await run(["replay", file, "--verify"]);
    expect(code).toBe(1);
    expect(out).toContain("Difference at event 8, turn ended:");
    expect(out).toMatch(/expected {2}observer: due → idle/);
    expect(out).toMatch(/actual {4}observer: due → running/);
    expect(
      linesOf(out)
        .slice(-5)
        .map((line) => Number(line.trim().split(/\s/)[0])),
    ).toEqual([4, 5, 6, 7, 8]);
    const json = await run(["replay", file, "--verify", "--json"]);
    expect(parsed(json.out)).toMatchObject([
      { type: "replay" },
      { type: "difference", number: 8 },
      { type: "summary", verification: { ok: false } },
    ]);
  });

  it("explains why each lane is where it is", async () => {
    const { out } = await run(["replay", RECORDING, "--explain", "17"]);
    expect(out).toMatch(
      /^observer is due since #17: 1,952 of 1,500 tokens; waiting for the agent's next turn to end, or its next prompt$/m,
    );
    expect(out).toMatch(
      /^reflect\/drop is due since #17: .* held back because observer is due, waiting for the next turn to end$/m,
    );
    const json = (await run(["replay", RECORDING, "--explain", "17", "--lane", "observer", "--json"])).out;
    expect(parsed(json)[1]).toMatchObject({
      type: "explanation",
      number: 17,
      lanes: { observer: { state: "due", clock: 1952, why: expect.stringMatching(/waiting/) } },
    });
    expectRefusal(
      await run(["replay", RECORDING, "--explain", "900", "--json"]),
      /no event 900; the last is 57/,
    );
    expectRefusal(await run(["replay", RECORDING, "--explain", "0"]), /no event 0; the first is 1/);
    const gap = readFileSync(RECORDING, "utf8").replace(/^.*"seq":30,.*\n/gm, "");
    expectRefusal(
      await run(["replay", put("gap.ndjson", gap), "--explain", "30"]),
      /no event 30; the nearest are 29 and 31/,
    );
  });

  it("refuses options that contradict each other, rather than leave one out", async () => {
    const refusal = async (...options: string[]) => run(["replay", RECORDING, ...options]);
    expectRefusal(
      await refusal("--verify", "--explain", "9"),
      /--verify goes through the whole recording, as it was recorded; leave out --explain/,
    );
    expectRefusal(await refusal("--verify", "--lane", "observer", "--to", "9"), /leave out --lane and --to/);
    expectRefusal(
      await refusal("--explain", "9", "--all", "--from", "2"),
      /--explain is about one event; leave out --from and --all/,
    );
    expectRefusal(await refusal("--from", "9", "--to", "8"), /--from 9 comes after --to 8/);
    expectRefusal(await refusal("--verify", "--set", "passive=true"), /leave out --set/);
  });

  it("counts the events up to --to, and no further", async () => {
    const json = (await run(["replay", RECORDING, "--to", "17", "--all", "--json"])).out;
    expect(parsed(json).at(-1)).toMatchObject({ type: "summary", events: 17, shown: 17 });
  });

  it("runs the same events under other settings and says what is modelled", async () => {
    const { out } = await run(["replay", RECORDING, "--set", "observeAfterTokens=4000"]);
    expect(out).toContain("Under observeAfterTokens=4000; the other settings as recorded.");
    expect(out).toMatch(/~run finished observer recorded/);
    expect(out).toMatch(/~ is modelled: .* The model goes by the mean of 4 recorded observer runs/);
    expectRefusal(
      await run(["replay", RECORDING, "--set", "observeAfterTokens=soon"]),
      /must be a whole number above 0 and of at most 9007199254740991/,
    );
    expectRefusal(
      await run(["replay", RECORDING, "--set", "observAfterTokens=5"]),
      /did you mean observeAfterTokens/,
    );
    expectRefusal(await run(["replay", RECORDING, "--set", "passive"]), /key=value/);
    expectRefusal(await run(["replay", RECORDING, "--verify", "--set", "passive=true"]), /leave out --set/);
  });

  it("counts and names lines that cannot be read; a last line that breaks off is normal", async () => {
    const lines = linesOf(readFileSync(RECORDING, "utf8"));
    const broken = [...lines.slice(0, 5), "not JSON", ...lines.slice(5), '{"v":1,"seq":58,"at'].join("\n");
    const { out, err, code } = await run(["replay", put("broken.ndjson", broken)]);
    expect(code).toBe(0);
    expect(err).toMatch(/broken\.ndjson: 1 line could not be read: line 6 \(it is not JSON\)\n$/);
    expect(out).toContain("The last line breaks off");
    expect(
      (await run(["replay", put("cut.ndjson", readFileSync(RECORDING, "utf8").slice(0, -30)), "--verify"]))
        .code,
    ).toBe(0);
  });

  it("refuses what is neither, naming the file and the line", async () => {
    expectRefusal(
      await run(["replay", join(dir, "nowhere.ndjson")]),
      /nowhere\.ndjson: there is no such file/,
    );
    expectRefusal(await run(["replay", dir]), /it is a folder/);
    expectRefusal(await run(["replay", put("empty", "")]), /empty: it is empty/);
    expectRefusal(
      await run(["replay", put("notes.txt", "\nhello\n")]),
      /notes\.txt, line 2: neither a Pi session nor a recording/,
    );
    expectRefusal(await run(["replay", RECORDING, "--leaf", "a"]), /has no leaves/);
    const future = JSON.stringify({ type: "header", recording: 9 });
    expectRefusal(
      await run(["replay", put("future.ndjson", `${future}\n`)]),
      /holds no event; 1 line could not be read: line 1 \(its format is version 9/,
    );
  });
});

describe("replay of a Pi session", () => {
  const talk = () => {
    const session = plainSession();
    for (let n = 0; n < 12; n++) session.wait(60).user(500).assistant(500);
    return session;
  };

  it("derives the events, models the results and says so", async () => {
    const { out, code } = await run(["replay", putSession("talk.jsonl", talk().entries)]);
    expect(code).toBe(0);
    expect(out).toMatch(/^Pi session s, version 3: 24 entries on this branch\.$/m);
    expect(out).toMatch(/~run finished observer recorded 12 observations +>idle/);
    expect(out).toMatch(/~ is modelled: nothing was recorded for 1 observer run\./);
  });

  it("reads the oldest format, which has no ids", async () => {
    const { version: _, ...header } = SESSION_HEADER;
    const entries = talk().entries.map(({ id: _id, parentId: _parentId, ...entry }) => entry);
    const file = putSession("old.jsonl", entries, header);
    expect((await run(["replay", file])).out).toMatch(/^Pi session s, version 1: 24 entries/m);
    expect((await run(["replay", file, "--json"])).out).toBe((await run(["replay", file, "--json"])).out);
  });

  it("takes the branch of --leaf", async () => {
    const file = putSession("tree.jsonl", talk().entries);
    expect((await run(["replay", file, "--leaf", "e6"])).out).toMatch(
      /6 entries on this branch, of 24 entries in the file/,
    );
    expectRefusal(await run(["replay", file, "--leaf", "zz"]), /no entry has the id zz/);
    expectRefusal(await run(["replay", file, "--verify"]), /no recorded decisions/);
  });
});

describe("tune", () => {
  it("compares a grid of thresholds, in a table and as JSON", async () => {
    const { out, code } = await run(["tune", RECORDING, "--observe", "1500,3000", "--price", "3,15"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^row +observe/m);
    expect(out.replaceAll("\n", " ")).toMatch(/4 observer runs, .* are too few to go by \(10 are enough\)/);
    const rows = linesOf((await run(["tune", RECORDING, "--observe", "1500,3000", "--json"])).out);
    const [first] = rows.slice(0, -1).map((row) => TuneLineSchema.parse(JSON.parse(row)));
    // The grid, the settings in use, and the advice
    expect(rows).toHaveLength(18 + 1 + 1);
    expect(first).toMatchObject({ row: 1, settings: { observeAfterTokens: 1500 }, cost: null });
  });

  it("prints the settings of a row", async () => {
    const { out } = await run(["tune", RECORDING, "--observe", "1500,3000", "--settings", "10"]);
    expect(JSON.parse(out)).toEqual({
      "observational-memory": {
        observeAfterTokens: 3000,
        reflectAfterTokens: 10_000,
        compactAfterTokens: 50_000,
      },
    });
    const json = await run(["tune", RECORDING, "--settings", "2", "--set", "foldPolicy=always", "--json"]);
    expect(linesOf(json.out)).toHaveLength(1);
    expect(JSON.parse(json.out)).toMatchObject({
      type: "settings",
      row: 2,
      settings: { compactAfterTokens: 81_000, foldPolicy: "always" },
    });
    expectRefusal(await run(["tune", RECORDING, "--settings", "99"]), /there are rows 1 to 27/);
    expectRefusal(await run(["tune", join(dir, "nowhere"), "--settings", "2"]), /there is no such file/);
    expectRefusal(
      await run(["tune", RECORDING, "--set", "reflectAfterTokens=1"]),
      /--set reflectAfterTokens: the rows differ in it; give --reflect/,
    );
    expectRefusal(await run(["tune", "-", RECORDING, "-"]), /standard input can be named once/);
    expectRefusal(await run(["tune", RECORDING, "--price", "3"]), /in,out/);
  });
});

describe("view and recall", () => {
  it("show a session's memory and the source of one line of it", async () => {
    const session = plainSession().user().assistant();
    session.observed("e1").compacted("e2");
    const file = putSession("memory.jsonl", session.entries);
    expect((await run(["view", file])).out).toContain("Visible memory");
    const { out } = await run(["view", file, "--full"]);
    const id = /^\[([0-9a-f]{12})\] .*observed up to e1$/m.exec(out)?.[1] ?? "";
    expect(JSON.parse((await run(["view", file, "--full", "--json"])).out)).toMatchObject({
      type: "memory",
      view: "full",
      observations: [{ id }],
    });
    expect((await run(["recall", file, `[${id}]`])).out).toMatch(/Source e1\n\[User @ .*\]\nabcd/);
    expect(JSON.parse((await run(["recall", file, id, "--json"])).out)).toMatchObject({
      type: "recall",
      found: true,
      id,
    });
    expect((await run(["recall", file, id, "--query", "ABCD"])).out).toMatch(
      /Source e1\n\[User @ .*\]\nabcd/,
    );
    expect((await run(["recall", file, id, "--query", "xyz"])).out).toContain(
      `Nothing behind ${id} matches "xyz"`,
    );
    expect(JSON.parse((await run(["recall", file, id, "--query", "abcd", "--json"])).out)).toMatchObject({
      found: true,
      passages: expect.stringContaining("abcd"),
    });
    expect(await run(["recall", file, "0123456789ab"])).toMatchObject({ code: 1, out: "" });
    expectRefusal(await run(["recall", file, "nothing"]), /12 hex digits/);
    expectRefusal(await run(["recall", file, "a".repeat(9000)]), /^memory-lanes: "a{10,50}…": a memory id/);
    expectRefusal(
      await run(["recall", file, id, "--page", "2"]),
      /--page 2: there is no page 2 of what [0-9a-f]{12} stands for; there is one page only/,
    );
    expectRefusal(await run(["view", RECORDING]), /it is a recording, which holds no text/);
  });

  it("say where a branch breaks off, and which leaf shows what lies before", async () => {
    const session = plainSession().user().assistant();
    session.observed("e1").compacted("e2").user().assistant();
    const lines = [SESSION_HEADER, ...session.entries].map((line) => JSON.stringify(line));
    // The fifth entry holds a NUL, as after a crash of the machine; the sixth is its child.
    const file = put(
      "nul.jsonl",
      `${lines.map((line, at) => (at === 5 ? line.replace("user", "us\0r") : line)).join("\n")}\n`,
    );
    const words =
      /nul\.jsonl, line 7: the branch breaks off at entry e6: its parent e5 cannot be read; 4 entries lie before it; --leaf e4 shows them$/m;
    const breakOff = { line: 7, entryId: "e6", parentId: "e5", entriesBefore: 4, leaf: "e4" };
    for (const args of [
      ["view", file, "--full"],
      ["recall", file, "0123456789ab"],
      ["replay", file],
    ]) {
      expect((await run(args)).err).toMatch(words);
      const { out } = await run([...args, "--json"]);
      expect(JSON.parse(linesOf(out).at(-1) ?? "")).toMatchObject({ breakOff });
    }
    const whole = await run(["view", file, "--full", "--leaf", "e4"]);
    expect(whole.out).toContain("observed up to e1");
    expect(whole.err).not.toContain("breaks off");
  });
});

describe("what people are shown", () => {
  const putDisguised = () =>
    put(
      "disguised.jsonl",
      disguisedSession()
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    );

  it("has nothing of a session's text that a terminal obeys or that hides text; JSON has all of it", () => {
    const file = putDisguised();
    for (const args of [
      ["view", file, "--full"],
      ["recall", file, DISGUISED_ID],
    ]) {
      const { out, code } = start(args);
      expect(code).toBe(0);
      expect(out).toContain(UNDISGUISED_LINE);
      expect(out).not.toMatch(OBEYED_OR_HIDDEN);
      const json: unknown = JSON.parse(start([...args, "--json"]).out);
      expect(JSON.stringify(json)).toContain(JSON.stringify(DISGUISED));
    }
  });

  it("has nothing of the kind of an argument either, and an error stays one line", () => {
    const file = putDisguised();
    const wicked = `a${OSC_52}\u202eb\nmemory-lanes: all is well`;
    for (const args of [
      [wicked],
      ["view", wicked],
      ["view", file, "--leaf", wicked],
      ["recall", file, wicked],
      ["recall", file, DISGUISED_ID, "--page", wicked],
      ["replay", file, "--lane", wicked],
      ["replay", file, "--set", wicked],
      ["replay", file, "--set", `observeAfterTokens=${wicked}`],
    ]) {
      const { out, err, code } = start(args);
      expect([out, code]).toEqual(["", 2]);
      expect(err).not.toMatch(OBEYED_OR_HIDDEN);
      expect(err).toContain("]52");
      expect(linesOf(err)).toHaveLength(1);
    }
  });

  it("still has our own colours on a terminal, and not those of a session", () => {
    const text = start(["replay", putDisguised(), "--explain", "1"], { env: { FORCE_COLOR: "1" } }).out;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is how terminals are told a colour
    const colour = /\u001b\[\d{1,2}m/g;
    expect(text).toMatch(colour);
    expect(text.replace(colour, "")).not.toMatch(OBEYED_OR_HIDDEN);
    const red = [...disguisedSession(), { type: "session_info", id: "\u001b[31mred", parentId: "gone" }];
    const file = put("red.jsonl", red.map((line) => `${JSON.stringify(line)}\n`).join(""));
    expect(start(["view", file], { env: { FORCE_COLOR: "1" } }).err).toContain(
      "entry \uFFFD[31mred: its parent",
    );
  });
});
