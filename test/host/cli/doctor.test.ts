import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FindingSchema } from "../../../src/host/cli/doctor/finding.ts";
import { linesOf, ROOT, start } from "../../support/programs/run-cli.ts";
import { user } from "../../support/sessions/builders.ts";
import { plainSession, SESSION_HEADER } from "../../support/sessions/plain-session.ts";
import { secretOf } from "../../support/sessions/secrets.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-doctor-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("memory-lanes doctor", () => {
  /** A home with an agent directory, and no Pi on the search path unless it is asked for. */
  function examine(
    settings: object | undefined,
    { sessions = [] as (readonly object[])[], path = dir, prepare = (_agentDir: string): void => {} } = {},
  ) {
    const home = mkdtempSync(join(dir, "home-"));
    const agentDir = join(home, ".pi", "agent");
    if (settings) {
      mkdirSync(join(agentDir, "sessions"), { recursive: true });
      writeFileSync(join(agentDir, "settings.json"), JSON.stringify(settings));
    }
    for (const [n, entries] of sessions.entries()) {
      const text = [SESSION_HEADER, ...entries].map((line) => JSON.stringify(line)).join("\n");
      writeFileSync(join(agentDir, "sessions", `s${n}.jsonl`), `${text}\n`);
    }
    prepare(agentDir);
    const env = { HOME: home, USERPROFILE: home, PATH: path, PI_CODING_AGENT_DIR: agentDir };
    const { out, code } = start(["doctor", "--json"], { cwd: dir, env });
    const findings = linesOf(out).map((line) => FindingSchema.parse(JSON.parse(line)));
    const of = (check: string) => findings.filter((finding) => finding.check === check);
    return { of, code, agentDir };
  }

  it("finds nothing to complain of when all is well", async () => {
    const { of, code } = examine(
      { packages: [ROOT] },
      { sessions: [plainSession().user().assistant().entries] },
    );
    expect(code).toBe(0);
    expect(of("extension")).toMatchObject([{ level: "ok", message: expect.stringContaining(ROOT) }]);
    expect(of("settings")).toMatchObject([{ level: "ok" }]);
    expect(of("sessions")).toMatchObject([
      { level: "ok", message: expect.stringMatching(/^s0\.jsonl: 2 entries/) },
    ]);
  });

  it("counts secrets by kind and line, and shows none", () => {
    const { text } = secretOf("GitHub classic token");
    const { of, code } = examine({ packages: [ROOT] }, { sessions: [[user("e1", `use ${text}`)]] });
    const found = of("sessions").find(({ level }) => level === "note");
    expect(found?.message).toBe("s0.jsonl: secrets stand in it: 1 github-token (line 2)");
    expect(found?.advice).toContain("memory-lanes scrub");
    expect([code, JSON.stringify(of("sessions")).includes(text)]).toEqual([0, false]);
  });

  it("says what to do about each thing that is wrong", async () => {
    const rival = join(dir, "rival");
    mkdirSync(rival, { recursive: true });
    writeFileSync(
      join(rival, "package.json"),
      JSON.stringify({ name: "pi-observational-memory", version: "3.0.0" }),
    );
    const malformed = {
      type: "custom",
      customType: "om.observations.recorded",
      id: "x",
      parentId: "e1",
      timestamp: "",
      data: 1,
    };
    const { of, code } = examine(
      {
        packages: [ROOT, rival, "npm:pi-memory-lanes@1.0.0"],
        "observational-memory": { observeAfterTokens: "many", model: { provider: "acme", id: "m1" } },
      },
      { sessions: [[...plainSession().user().entries, malformed]] },
    );
    expect(code).toBe(1);
    expect(of("pi")[0]).toMatchObject({ level: "warning", advice: expect.any(String) });
    expect(of("extension").map(({ level }) => level)).toEqual(["ok", "error", "error"]);
    expect(of("extension")[1]).toMatchObject({
      advice: expect.stringContaining("pi remove npm:pi-memory-lanes@1.0.0"),
    });
    expect(of("extension")[2]).toMatchObject({ message: expect.stringMatching(/both would write memory/) });
    expect(of("settings")[0]).toMatchObject({
      level: "warning",
      message: expect.stringMatching(/^observeAfterTokens in/),
    });
    expect(of("model")[0]).toMatchObject({ level: "note", message: expect.stringContaining("acme/m1") });
    expect(of("sessions")[0]).toMatchObject({
      level: "warning",
      message: expect.stringMatching(/1 memory record/),
    });
  });

  it("gets past what is no session file and no folder, though its name says so", async () => {
    const { of, code } = examine(
      {},
      {
        sessions: [plainSession().user().entries],
        prepare(agentDir) {
          const sessions = join(agentDir, "sessions");
          mkdirSync(join(sessions, "folder.jsonl"));
          symlinkSync("nowhere", join(sessions, "dangling.jsonl"));
          writeFileSync(join(agentDir, "extensions"), "not a folder");
        },
      },
    );
    expect(code).toBe(0);
    expect(of("sessions")).toMatchObject([{ level: "ok", message: expect.stringMatching(/^s0\.jsonl: /) }]);
    expect(of("extension")).toHaveLength(1);
  });

  it("says so when Pi has never run here, or is not installed", async () => {
    const { of, code } = examine(undefined);
    expect(code).toBe(1);
    expect(of("pi").map(({ level }) => level)).toEqual(["warning", "error"]);
    expect(of("extension")[0]).toMatchObject({
      level: "warning",
      advice: expect.stringContaining("pi install"),
    });
  });

  it("looks at each model that a worker may ask, fallbacks too", () => {
    const model = (id: string) => ({ provider: "acme", id });
    const memory = {
      ...{ model: model("m1"), workers: { dropper: { model: model("m2") } } },
      ...{ fallbackModels: [model("m3"), model("m1")], sessionFallback: true },
    };
    const { of } = examine({ "observational-memory": memory, defaultProvider: "big", defaultModel: "m4" });
    expect(of("model").map(({ message }) => message.replace(/; whether .*/, ""))).toEqual([
      "the other workers use acme/m1",
      "a fallback is acme/m3",
      "the last fallback is the session's model, by default big/m4",
      "the dropper uses acme/m2",
    ]);
  });

  it("reads Pi's version off the Pi on the search path, and asks it for the models", async () => {
    const settings = { "observational-memory": { model: { provider: "acme", id: "m1" } } };
    const { of } = examine(settings, {
      path: `${join(ROOT, "node_modules/.bin")}:${process.env.PATH ?? ""}`,
    });
    expect(of("pi")[0]).toMatchObject({
      level: "ok",
      message: expect.stringMatching(/^Pi is \d+\.\d+\.\d+/),
    });
    expect(of("model")[0]).toMatchObject({
      level: "error",
      advice: expect.stringContaining("--list-models"),
    });
  });
});
