import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { branchChange, describeBranch } from "../../../src/host/pi/branch-sync.ts";
import {
  createSessionRecorder,
  recordingName,
  recordingStart,
  recordingsDir,
} from "../../../src/host/pi/recording/session-recorder.ts";
import { createEngine } from "../../../src/machines/engine.ts";
import { parseRecordingLine } from "../../../src/machines/recording/recording-line.ts";
import type { Unstamped } from "../../../src/reducers/engine/events.ts";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { runReplay } from "../../support/programs/run-replay.ts";
import { opened, stamped, user } from "../../support/sessions/builders.ts";

/** A session manager as far as the recorder and the sync need one. */
function session() {
  const entries: EntryLike[] = [];
  const say = (text: string) => {
    const parentId = entries.at(-1)?.id ?? null;
    entries.push({ ...user(`e${entries.length + 1}`, text), parentId });
  };
  return {
    say,
    getLeafId: () => entries.at(-1)?.id ?? null,
    getEntry: (id: string) => entries.find((entry) => entry.id === id),
    getBranch: () => entries,
  };
}

it("begins a rotated file where the engine stands, though Pi's session is further", async () => {
  const agentDir = mkdtempSync(join(tmpdir(), "memory-lanes-session-recorder-"));
  const source = session();
  const engine = createEngine();
  const recorder = createSessionRecorder({
    start: recordingStart({ engine, source, sessionId: "s", version: "1.0.0", pi: "1.6.0" }),
    sessionId: "s",
    agentDir,
    onFailure: expect.unreachable,
    maxBytes: 600,
  });
  let seq = 0;
  const tell = (event: Unstamped) => {
    recorder.take(engine.step(stamped(event, ++seq, Date.UTC(2026, 0, 15, 12, 0, seq))));
  };
  tell(opened(describeBranch(source)));
  for (let turn = 0; turn < 40; turn++) {
    const change = branchChange(source, engine.state.session);
    if (change.type === "extended") tell({ type: "branch.extended", entries: change.entries });
    tell({ type: "turn.ended" });
    // Pi appends while the file is being changed; the engine hears of it at the next hook.
    source.say("word ".repeat(2000));
    await sleep(1);
  }
  await recorder.close();

  const folder = recordingsDir(agentDir);
  const files = readdirSync(folder);
  expect(files.length).toBeGreaterThan(2);
  for (const file of files) {
    const lines = readFileSync(join(folder, file), "utf8").trimEnd().split("\n").map(parseRecordingLine);
    const { report, steps } = runReplay(lines);
    expect(report.verification.difference).toBeUndefined();
    const ids = steps.flatMap(({ event }) =>
      event.type === "branch.extended" ? event.entries : event.type === "session.opened" ? event.branch : [],
    );
    expect(new Set(ids.map(({ id }) => id)).size).toBe(ids.length);
  }
  rmSync(agentDir, { recursive: true });
});

it.each(["../../escaped", "..", ".", "/etc/x", "a/b", "a\\b", "", "x".repeat(300), "\u0000"])(
  "writes nowhere else for a session that calls itself %j",
  (sessionId) => {
    expect(recordingName(sessionId)).toMatch(/^[0-9a-f]{12}\.ndjson$/);
  },
);

it("names a recording after its session", () => {
  expect(recordingName("01a22fff-71de-705a-a525-b54407de8230")).toBe(
    "01a22fff-71de-705a-a525-b54407de8230.ndjson",
  );
});
