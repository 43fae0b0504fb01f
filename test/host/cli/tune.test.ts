import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TuneAdviceSchema } from "../../../src/host/cli/tune/tune-command.ts";
import { linesOf, start } from "../../support/programs/run-cli.ts";
import { plainSession, SESSION_HEADER } from "../../support/sessions/plain-session.ts";

let dir: string;
let session: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-tune-"));
  session = join(dir, "talk.jsonl");
  const talk = plainSession();
  for (let n = 0; n < 100; n++) talk.wait(30).user(500).assistant(500);
  writeFileSync(session, [SESSION_HEADER, ...talk.entries].map((line) => JSON.stringify(line)).join("\n"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const NAMESPACE = "observational-memory";

/** `tune` as a user with these settings starts it, in a folder whose project settings are these. */
function tune(
  settings: object,
  args: readonly string[] = [],
  project?: { settings: object; trusted: boolean },
) {
  const agentDir = mkdtempSync(join(dir, "agent-"));
  const cwd = mkdtempSync(join(dir, "project-"));
  writeFileSync(join(agentDir, "settings.json"), JSON.stringify({ [NAMESPACE]: settings }));
  if (project) {
    mkdirSync(join(cwd, ".pi"));
    writeFileSync(join(cwd, ".pi", "settings.json"), JSON.stringify({ [NAMESPACE]: project.settings }));
    writeFileSync(join(agentDir, "trust.json"), JSON.stringify({ [cwd]: project.trusted }));
  }
  const { out, code } = start(["tune", session, ...args], { cwd, env: { PI_CODING_AGENT_DIR: agentDir } });
  expect(code).toBe(0);
  return { out, flat: out.replaceAll("\n", " ") };
}

/** The block to paste */
function pasted(out: string): Record<string, unknown> {
  const block = /^\{\n[\s\S]*?^\}$/m.exec(out)?.[0] ?? "{}";
  return JSON.parse(block)[NAMESPACE];
}

describe("what tune advises", () => {
  it("is one sentence against yours, its price in it, and the settings that differ", () => {
    const { out, flat } = tune({ observeAfterTokens: 5000 }, ["--price", "1,5", "--compact", "81000"]);
    expect(flat).toMatch(
      /Yours: \$\d\.\d+; this: \$\d\.\d+, \d+ % less, .* instead of .* tokens unobserved .* at worst[.,]/,
    );
    expect(out).toMatch(/^ *\d+ .* yours$/m);
    expect(out).toMatch(/^ *\d+ .* this$/m);
    expect(pasted(out)).toHaveProperty("observeAfterTokens");
    expect(pasted(out)).not.toHaveProperty("compactAfterTokens");
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("follows, once pasted, to settings that it keeps or betters", () => {
    let settings: object = { observeAfterTokens: 5000 };
    for (let n = 0; n < 5; n++) {
      const { out } = tune(settings, ["--price", "1,5"]);
      if (/Keep yours/.test(out)) return;
      settings = { ...settings, ...pasted(out) };
    }
    expect.fail("it never has enough");
  });

  it("reads the project's settings where the project is trusted, and only there", () => {
    for (const trusted of [true, false]) {
      const { out } = tune({}, [], { settings: { observeAfterTokens: 7000 }, trusted });
      expect(/^ *28 +7k\/20k\/81k .* yours$/m.test(out)).toBe(trusted);
    }
  });

  it("compares tokens without a price", () => {
    expect(tune({ observeAfterTokens: 5000 }).flat).toMatch(/Yours: \d\S+k tokens; this: \d\S+k tokens/);
  });

  it("keeps yours and says why", () => {
    const { out, flat } = tune({}, ["--observe", "10000", "--reflect", "20000", "--compact", "81000"]);
    expect(flat).toMatch(/Keep yours \(.* tokens\): other rows save nothing/);
    expect(out).not.toContain("To change to it");
  });

  it("says of a window's share what would stand in its place, and the same as JSON", () => {
    const ratio = { compactAfterTokensMode: "ratio", observeAfterTokens: 5000 };
    expect(pasted(tune(ratio).out)).toHaveProperty("compactAfterTokensMode", "calibrated");
    const lines = linesOf(tune(ratio, ["--json"]).out).map((line) => JSON.parse(line));
    const advice = TuneAdviceSchema.parse(lines.at(-1));
    expect(advice).toMatchObject({
      yours: 28,
      unit: "tokens",
      settings: { compactAfterTokensMode: "calibrated" },
    });
    expect(lines[advice.yours - 1]).toMatchObject({ yours: true });
  });
});
