import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../../support/programs/run-cli.ts";
import { user } from "../../support/sessions/builders.ts";
import { SESSION_HEADER } from "../../support/sessions/plain-session.ts";
import { secretOf } from "../../support/sessions/secrets.ts";

let dir: string;
let file: string;
const secret = secretOf("GitHub classic token").text;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-search-"));
  file = join(dir, "talk.jsonl");
  const entries = [
    user("Root", `The harbour opens with ${secret}.`),
    { ...user("left", "A harbour on the branch that was left."), parentId: "Root" },
    { ...user("tip", "Nothing here."), parentId: "Root" },
  ];
  writeFileSync(file, [SESSION_HEADER, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""));
  writeFileSync(join(dir, "broken.jsonl"), "no session\n");
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("memory-lanes search", () => {
  it("finds what is on the current branch, without its secrets", async () => {
    const { out, code } = await run(["search", "harbour", file]);
    expect(out).toContain("[Root]");
    expect(out).not.toContain("[left]");
    expect(out).not.toContain(secret);
    expect(code).toBe(0);
    expect((await run(["recall", file, "Root"])).out).toContain("The harbour opens");
  });

  it("names what branches share once, where all are asked for", async () => {
    const { out } = await run(["search", "harbour", file, "--all-branches", "--json"]);
    const lines = out.trim().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { id?: string }).id)).toEqual([
      "Root",
      "left",
      undefined,
    ]);
  });

  it("names a broken file and searches the others; finds fault only when none can be read", async () => {
    const folder = await run(["search", "harbour", dir]);
    expect([folder.code, folder.err]).toEqual([0, expect.stringContaining("broken.jsonl")]);
    const broken = join(dir, "broken.jsonl");
    expect((await run(["search", "harbour", broken, broken])).code).toBe(1);
  });

  it.each([
    ["", 2],
    ["([.*", 2],
    ["x".repeat(10_000), 1],
    ["(a+)+$ b.*", 1],
  ])("answers %.20s plainly", async (words, code) => {
    const result = await run(["search", words, file]);
    expect(result.code).toBe(code);
    expect((result.out + result.err).length).toBeLessThan(400);
  });
});
