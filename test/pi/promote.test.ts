import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startScriptedModel } from "../../demo/model/scripted-model.ts";
import { runPi } from "../../demo/pi/pi-launch.ts";
import { startPi } from "../../demo/pi/pi-process.ts";
import { parseSession } from "../../src/reducers/entries/session-file.ts";
import { memoryId } from "../../src/reducers/ledger/memory-id.ts";
import { openMemory } from "../../src/reducers/memory.ts";
import {
  assistant,
  custom,
  observationOf,
  observed,
  reflected,
  reflectionOf,
  text,
  user,
} from "../support/sessions/builders.ts";
import { SESSION_HEADER } from "../support/sessions/plain-session.ts";
import { fixtureText } from "../support/sessions/v3-sessions.ts";
import { EXTENSION, NEVER, waitFor } from "./support/harness.ts";
import { HAS_TMUX, openTerminal, type PiTerminal } from "./support/terminal.ts";

const FACT = observationOf("The user wants ferries to leave at half past.", { sourceEntryIds: ["u1"] });
const LESSON = reflectionOf("Times in this project are in minutes.", [FACT.id]);

let dir: string;
let agents: string;
let session: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "memory-lanes-promote-")));
  const work = join(dir, "work");
  mkdirSync(work);
  agents = join(work, "AGENTS.md");
  session = join(dir, "session.jsonl");
  const entries = [
    user("u1", "Ferries leave at half past."),
    assistant("a1", [text("Noted.")], {
      ...{ stopReason: "stop", api: "x", provider: "x", model: "x", timestamp: 0 },
      usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { total: 0 } },
    }),
    observed("o1", [FACT], "u1"),
    reflected("r1", [LESSON], "u1"),
    custom("x1", "other", {}),
  ].map((entry, at, all) => ({ ...entry, parentId: all[at - 1]?.id ?? null }));
  const lines = [{ ...SESSION_HEADER, id: "019ab3c4-d5e6-7f00-8a1b-2c3d4e5f6071", cwd: work }, ...entries];
  writeFileSync(session, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const launch = () => ({
  ...{ dir, session, model: "", extensions: [EXTENSION] },
  settings: { quietStartup: true, "observational-memory": NEVER },
});

/** The summary that a compaction of everything would write, from the session's file as it is now. */
function summaryNow(): string {
  const entries = parseSession(readFileSync(session, "utf8"));
  return openMemory(entries).planCompaction("")?.summary ?? "";
}

/** A command with ids. Enter would take a completion that is offered, so it is sent away first. */
async function run(terminal: PiTerminal, command: string): Promise<void> {
  terminal.type(command);
  await terminal.shows(new RegExp(command.replaceAll(" ", "\\s+")));
  terminal.press("Escape");
  await terminal.shows(/^(?![\s\S]*\n→ )/);
  terminal.press("Enter");
}

describe.skipIf(!HAS_TMUX)("promoting in a real terminal", { timeout: 90_000 }, () => {
  it("shows the change, makes it on yes, takes the lines out of memory, and undoes that", async () => {
    writeFileSync(agents, "# Rules\r\nBe brief.");
    const before = summaryNow();
    expect(before).toContain(LESSON.content);
    const terminal = openTerminal(launch(), { columns: 130, rows: 50 });
    try {
      await terminal.shows(/observe/);
      // Words of a line complete to its id.
      terminal.type("/om:promote minutes");
      await terminal.shows(new RegExp(`→ ${LESSON.id}`));
      terminal.press("Tab");
      await terminal.shows(new RegExp(`/om:promote ${LESSON.id}`));
      terminal.type(` ${FACT.id}`);
      await terminal.shows(new RegExp(`${LESSON.id} ${FACT.id}`));
      terminal.press("Escape");
      terminal.press("Enter");
      const screen = await terminal.shows(/Promote 2 lines of memory to AGENTS.md\?[\s\S]*→ Yes/);
      expect(screen).toContain(`+ - ${LESSON.content} <!-- 019ab3c4-d5e6 ${LESSON.id} -->`);
      expect(screen).toMatch(/The block will cost about \d+ tokens of every request\./);
      expect(readFileSync(agents, "utf8")).toBe("# Rules\r\nBe brief.");
      terminal.press("Escape");
      await terminal.shows(/Nothing was promoted\./);
      expect(readFileSync(agents, "utf8")).toBe("# Rules\r\nBe brief.");
      expect(summaryNow()).toBe(before);

      await run(terminal, `/om:promote ${LESSON.id} ${FACT.id}`);
      await terminal.shows(/Promote 2 lines of memory to AGENTS.md\?[\s\S]*→ Yes/);
      terminal.press("Enter");
      await terminal.shows(/Wrote 2 lines into [\s\S]*left out of summaries/);
      expect(readFileSync(agents, "utf8")).toMatch(
        new RegExp(
          [
            "^# Rules\r\nBe brief\\.\r\n\r\n<!-- memory-lanes:begin \\(about \\d+ tokens of every request; [^\r\n]* -->\r\n",
            `- ${LESSON.content} <!-- 019ab3c4-d5e6 ${LESSON.id} -->\r\n`,
            `- ${FACT.content} <!-- 019ab3c4-d5e6 ${FACT.id} -->\r\n<!-- memory-lanes:end -->\r\n$`,
          ].join(""),
        ),
      );
      expect(summaryNow()).not.toContain(LESSON.content);
      expect(summaryNow()).not.toContain(FACT.content);
      const written = readFileSync(agents, "utf8");

      await run(terminal, `/om:promote ${FACT.id}`);
      await terminal.shows(
        new RegExp(`\\[${FACT.id}\\] stands in \\S+AGENTS.md already, and no longer in memory`),
      );
      await run(terminal, "/om:undo");
      await terminal.shows(/Taken back: it is in memory again, and stays in AGENTS\.md/);
      expect(summaryNow()).toBe(before);
      expect(readFileSync(agents, "utf8")).toBe(written);
    } finally {
      terminal.close();
    }
  });
});

describe("promoting over RPC", { timeout: 60_000 }, () => {
  it("asks whoever is at the other end, and does what they say", async () => {
    const pi = await startPi(launch());
    try {
      const say = async (confirmed: boolean) => {
        const from = pi.uiRequests.length;
        const told = pi.command(`/om:promote ${LESSON.id}`);
        const asked = await waitFor(
          () => pi.uiRequests.slice(from).find(({ method }) => method === "confirm"),
          "the question",
        );
        expect(asked.message).toContain(`+ - ${LESSON.content}`);
        expect(existsSync(agents)).toBe(false);
        pi.answer(asked, { confirmed });
        return told;
      };
      expect(await say(false)).toEqual(["Nothing was promoted."]);
      expect(existsSync(agents)).toBe(false);
      expect(await say(true)).toEqual([expect.stringMatching(/^Wrote 1 line into /)]);
      expect(readFileSync(agents, "utf8")).toContain(LESSON.content);
      expect(summaryNow()).not.toContain(LESSON.content);
    } finally {
      await pi.stop();
    }
  });
});

describe("promoting where nobody can be asked", { timeout: 60_000 }, () => {
  /** What a user of print mode reads: Pi keeps standard output for the agent's answer. */
  const promote = async (words: string) => {
    const { stdout, stderr } = await runPi(launch(), ["-p", `/om:promote ${words}`]);
    return stdout + stderr;
  };

  it("shows the change, and makes it with --yes", async () => {
    expect(await promote(LESSON.id)).toMatch(/AGENTS\.md \(a new file\)[\s\S]*Nothing is written yet/);
    expect(existsSync(agents)).toBe(false);
    expect(await promote(`${LESSON.id} --yes`)).toMatch(/Wrote 1 line into /);
    expect(readFileSync(agents, "utf8")).toContain(LESSON.content);
    expect(summaryNow()).not.toContain(LESSON.content);
    expect(await promote("times in minuts --yes")).toMatch(
      /"times in minuts" is no memory id of this branch/,
    );
    writeFileSync(agents, "<!-- memory-lanes:begin -->\n");
    const refusal = await promote(`${FACT.id} --yes`);
    expect(refusal).toMatch(/AGENTS\.md: line 1 begins a block of memory lines that no line ends: put/);
    expect(summaryNow()).toContain(FACT.content);
  });

  it("has Pi tell the agent what was promoted from its next start on, and the summary no more", async () => {
    const model = await startScriptedModel({ agent: () => ({ text: "Yes." }) });
    const start = (prompt: string) => {
      const { model: _none, ...rest } = launch();
      return runPi({ ...rest, modelUrl: model.url }, ["-p", prompt]);
    };
    try {
      await start("Are times in minutes?");
      await start(`/om:promote ${LESSON.id} --yes`);
      await start("And now?");
      const [before, after] = model.by("agent").map(({ body }) => JSON.stringify(body));
      expect(before).not.toContain(LESSON.content);
      expect(after).toContain(LESSON.content);
      expect(summaryNow()).not.toContain(LESSON.content);
    } finally {
      await model.close();
    }
  });

  it("says so when a line no longer holds, was forgotten or is there already", async () => {
    const text = fixtureText("every-ledger-entry").replace("/work/ferries", join(dir, "work"));
    writeFileSync(session, text);
    const [superseded, newer, forgotten, moved] = [
      "User asked whether bay 5 is open; nobody knew.",
      "User had bay 5 closed until noon.",
      "The schedule is kept in SQLite.",
      "Tests run before each commit.",
    ].map(memoryId);
    expect(await promote(`${superseded}`)).toContain(
      `[${superseded}] no longer holds by memory: [${newer}] has taken its place.`,
    );
    expect(await promote(`${forgotten} --yes`)).toContain(`[${forgotten}] was forgotten by your word`);
    expect(existsSync(agents)).toBe(false);
    // Somebody has taken it out of the file: it goes there again when it is asked for, and changes nothing in memory.
    const before = summaryNow();
    expect(await promote(`${moved} --yes`)).toMatch(/Wrote 1 line into (?!.*summaries)/);
    expect(await promote(`${moved} --yes`)).toMatch(
      /stands in \S+AGENTS\.md already, and no longer in memory\./,
    );
    expect(summaryNow()).toBe(before);
    expect(readFileSync(session, "utf8")).not.toMatch(/"promoted"[\s\S]*"compaction"[\s\S]*"promoted"/);
  });

  it("writes nothing into a project that is not trusted", async () => {
    mkdirSync(join(dir, "work", ".pi"));
    writeFileSync(join(dir, "work", ".pi", "settings.json"), "{}");
    expect(await promote(`${LESSON.id} --yes`)).toMatch(/Pi does not trust this project/);
    expect(existsSync(agents)).toBe(false);
    expect(summaryNow()).toContain(LESSON.content);
  });
});
