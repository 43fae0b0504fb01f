import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startScriptedModel } from "../../demo/model/scripted-model.ts";
import {
  disguisedSession,
  OBEYED_OR_HIDDEN,
  UNDISGUISED,
  UNDISGUISED_LINE,
} from "../support/sessions/disguised-session.ts";
import { EXTENSION, NEVER, withPi } from "./support/harness.ts";
import { HAS_TMUX, openTerminal } from "./support/terminal.ts";

let dir: string;
let session: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "harmless-views-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Pi writes to the session that it opens: each test has its own. */
function putSession(name: string): string {
  session = join(dir, name);
  writeFileSync(
    session,
    disguisedSession()
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(""),
  );
  return session;
}

describe("a memory that holds orders to a terminal", { timeout: 60_000 }, () => {
  it("is shown without them over RPC, and so is what a user gave a command", async () => {
    await withPi({ memory: NEVER, session: putSession("rpc.jsonl") }, async ({ pi }) => {
      await pi.command("/om:view full");
      await pi.command("/om:view a\u001b]52;c;cm0=\u0007\u202eb");
      await pi.command("/om:run \u009b2J");
      const told = pi.uiRequests
        .filter(({ method }) => method === "notify")
        .map(({ message }) => String(message));
      expect(told.join("\n")).toContain(UNDISGUISED_LINE);
      expect(told.join("\n")).toContain('does not know "a\uFFFD]52;c;cm0=\uFFFDb"');
      for (const message of told) expect(message).not.toMatch(OBEYED_OR_HIDDEN);
    });
  });

  it.skipIf(!HAS_TMUX)("is shown without them in the transcript and in the views of a terminal", async () => {
    const model = await startScriptedModel({});
    const terminal = openTerminal({
      dir,
      modelUrl: model.url,
      session: putSession("terminal.jsonl"),
      settings: { quietStartup: true, "observational-memory": NEVER },
      extensions: [EXTENSION],
    });
    try {
      await terminal.shows(/◦ Memory: 1 observation recorded/);
      terminal.press("C-o");
      const line = UNDISGUISED.slice(0, 30);
      await terminal.shows(new RegExp(`\\[high\\] ${line.replace(/[[\]]/g, "\\$&")}`));
      // What comes before is the message itself, as Pi shows it.
      const expanded = terminal.screen().replace(/^.*?(?=◦ Memory)/s, "");
      expect(expanded).not.toMatch(/^\s*◦ Memory: forged/m);
      expect(expanded).not.toMatch(OBEYED_OR_HIDDEN);
    } finally {
      terminal.close();
      await model.close();
    }
  });
});
