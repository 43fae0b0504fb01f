import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { EventDetail, EventPage, Overview } from "../../../src/host/inspector/history/viewer-data.ts";
import { linesOf, type Result, ROOT, run } from "../../support/programs/run-cli.ts";
import { type Inspected, startInspect } from "../../support/programs/run-inspect.ts";
import { plainSession, SESSION_HEADER } from "../../support/sessions/plain-session.ts";

const RECORDING = join(ROOT, "test/recordings/main-job.ndjson");
const ALL = "events?count=500";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-inspect-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function putSession(): string {
  const session = plainSession();
  for (let n = 0; n < 12; n++) session.wait(60).user(500).assistant(500);
  const file = join(dir, "talk.jsonl");
  const lines = [SESSION_HEADER, ...session.entries].map((line) => JSON.stringify(line));
  writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
}

async function inspected<T>(args: readonly string[], look: (served: Inspected) => Promise<T>): Promise<T> {
  const served = await startInspect(args);
  try {
    return await look(served);
  } finally {
    expect(await served.stop()).toBe(0);
  }
}

/** What a page at its end would ask for. */
async function atTheEnd({ ask }: Inspected) {
  const overview = await ask<Overview>("overview");
  const detail = await ask<EventDetail>(`event?index=${overview.count - 1}`);
  return { overview, detail };
}

/** One line on stderr that says what is wrong, and exit code 2. */
function expectRefusal(result: Result, words: RegExp): void {
  expect(result.out).toBe("");
  expect(linesOf(result.err)).toHaveLength(1);
  expect(result.err).toMatch(words);
  expect(result.code).toBe(2);
}

describe("memory-lanes inspect", () => {
  it("says in its help what it takes", async () => {
    const { out, code } = await run(["inspect", "--help"]);
    expect(code).toBe(0);
    for (const option of ["--leaf <id>", "--set <key=value>", "--port <number>", "--no-open", "--json"]) {
      expect(out).toContain(option);
    }
  });

  it("shows a session under the settings of --set, and says so", async () => {
    const file = putSession();
    const plain = await inspected([file], atTheEnd);
    expect(plain.detail.clocks.observer.threshold).toBe(10_000);
    expect(plain.overview.notes[0]).toBe(
      "Its events are derived from the entries; settings are the defaults.",
    );
    const args = [file, "--set", "observeAfterTokens=4000", "--set", "reflectAfterTokens=8000"];
    const { overview, detail } = await inspected(args, atTheEnd);
    expect(detail.clocks).toMatchObject({ observer: { threshold: 4000 }, reflectDrop: { threshold: 8000 } });
    expect(overview.notes[0]).toBe(
      "Its events are derived from the entries; settings are the defaults, but observeAfterTokens=4000, reflectAfterTokens=8000.",
    );
  });

  it("shows the branch of --leaf", async () => {
    const { detail } = await inspected([putSession(), "--leaf", "e6"], atTheEnd);
    expect(detail.ledger).toContainEqual({ name: "entries", value: "6" });
  });

  it("runs a recording under the settings of --set, and marks what is modelled", async () => {
    await inspected([RECORDING, "--set", "observeAfterTokens=4000"], async (served) => {
      const { overview, detail } = await atTheEnd(served);
      expect(overview).toMatchObject({ source: { kind: "recording" }, hasTexts: false, complete: true });
      expect(overview.notes[0]).toBe("Under observeAfterTokens=4000; the other settings as recorded.");
      expect(overview.notes[1]).toMatch(/^~ is modelled: .* mean of 4 recorded observer runs/);
      expect(detail.clocks.observer.threshold).toBe(4000);
      const { rows } = await served.ask<EventPage>(ALL);
      expect(rows).toHaveLength(overview.count);
      const modelled = rows.filter((row) => row.modelled);
      expect(modelled.map(({ type }) => type)).toContain("run.finished");
      expect(modelled.length).toBeLessThan(rows.length);
    });
  });

  it("refuses what replay refuses, in the same words", async () => {
    const session = putSession();
    for (const args of [
      [join(dir, "nowhere.ndjson")],
      [session, "--set", "observeAfterTokens=soon"],
      [session, "--set", "observAfterTokens=5"],
      [session, "--set", "passive"],
      [session, "--leaf", "zz"],
      [RECORDING, "--leaf", "e6"],
    ]) {
      const refused = await run(["inspect", ...args]);
      expectRefusal(refused, /./);
      expect(refused).toEqual(await run(["replay", ...args]));
    }
    // Replay takes a folder's files one after the other; a page shows one.
    expectRefusal(await run(["inspect", dir]), /it is a folder; name a file in it/);
    writeFileSync(join(dir, "notes.txt"), "\nhello\n");
    expectRefusal(await run(["inspect", join(dir, "notes.txt")]), /line 2: neither a Pi session nor/);
    expectRefusal(await run(["inspect", session, "--port", "0"]), /from 1 to 65535/);
  });
});
