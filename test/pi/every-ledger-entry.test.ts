import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runPi } from "../../demo/pi/pi-launch.ts";
import { startPi } from "../../demo/pi/pi-process.ts";
import { fixtureText } from "../support/sessions/v3-sessions.ts";
import { EXTENSION, NEVER } from "./support/harness.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-every-entry-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it("a session with every entry that memory writes opens in Pi, with Memory Lanes and without", async () => {
  const work = join(dir, "work");
  mkdirSync(work);
  const session = join(dir, "session.jsonl");
  const text = fixtureText("every-ledger-entry").replace("/work/ferries", work);
  writeFileSync(session, text);
  const settings = { "observational-memory": NEVER };
  const launch = { dir, session, model: "", settings };

  const plain = await startPi({ ...launch, extensions: [] });
  try {
    const { messages } = (await plain.send("get_messages")) as { messages: { role: string }[] };
    expect(messages.map(({ role }) => role)).toEqual(["compactionSummary", "user", "assistant"]);
  } finally {
    await plain.stop();
  }
  const { stdout, stderr, code } = await runPi({ ...launch, extensions: [EXTENSION] }, [
    "-p",
    "/om:view full",
  ]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout + stderr).toMatch(/The harbour master is called Ines\. · pinned/);
  expect(stdout + stderr).not.toMatch(/SQLite/);
  expect(readFileSync(session, "utf8").startsWith(text)).toBe(true);
}, 60_000);
