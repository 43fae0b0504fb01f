import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createRecorder, type RecorderOptions } from "../../src/effects/recorder.ts";
import type { RecordingLine } from "../../src/machines/recording/recording.ts";
import { parseRecordingLine } from "../../src/machines/recording/recording-line.ts";
import { type Schedule, schedule } from "../support/engine/schedule.ts";
import { runReplay } from "../support/programs/run-replay.ts";
import { HEADER, stamped } from "../support/sessions/builders.ts";

const settings = { observeAfterTokens: 1000, reflectAfterTokens: 2000, compactAfterTokens: 5000 };

let dir: string;
let file: string;
let warnings: string[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-recorder-"));
  file = join(dir, "debug", "session.ndjson");
  warnings = [];
});
afterEach(() => {
  chmodSync(dir, 0o700);
  rmSync(dir, { recursive: true, force: true });
});

/** A schedule that is recorded from its first step on. */
function recorded(options: Partial<RecorderOptions> = {}) {
  const s = schedule(settings);
  const recorder = createRecorder({
    file,
    header: HEADER,
    keyframe: ({ seq, at }) => [s.engine.keyframe(), stamped(openingOf(s), seq, at)],
    onFailure: (message) => warnings.push(message),
    ...options,
  });
  for (const step of s.steps) recorder.take(step);
  s.steps$.subscribe((step) => recorder.take(step));
  return { s, recorder };
}

/** The `session.opened` of this moment. */
function openingOf(s: Schedule) {
  const facts = s.steps.flatMap(({ event }) => (event.type === "branch.extended" ? event.entries : []));
  const { settings } = s.engine.state;
  return { type: "session.opened" as const, reason: "keyframe", sessionId: "test", settings, branch: facts };
}

const linesOf = (path: string) => readFileSync(path, "utf8").trimEnd().split("\n").map(parseRecordingLine);
const parts = () => readdirSync(dirname(file)).sort();

function expectVerified(lines: readonly RecordingLine[]): void {
  const { missingEvents, verification } = runReplay(lines).report;
  expect(verification.difference).toBeUndefined();
  expect({ missingEvents, unverified: verification.unverified }).toEqual({ missingEvents: 0, unverified: 0 });
}

async function work(s: Schedule, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    s.turn(700);
    if (s.inFlight.length > 0) s.finish("recorded");
    await sleep(1);
  }
}

describe("the recorder", () => {
  it("writes a header, every event, and what was decided", async () => {
    const { s, recorder } = recorded();
    await work(s, 6);
    await recorder.close();
    const lines = linesOf(file);
    expect(lines[0]).toEqual(HEADER);
    expect(lines.filter((line) => "v" in line)).toEqual(s.steps.map(({ event }) => event));
    expect(lines.some((line) => line.type === "decision")).toBe(true);
    expect(warnings).toEqual([]);
  });

  it("writes no words of a failure", async () => {
    const { s, recorder } = recorded();
    s.turn(1000);
    s.finish("failed");
    await recorder.close();
    expect(s.steps.at(-1)?.event).toMatchObject({ failure: { message: "test" } });
    expect(linesOf(file).find((line) => line.type === "run.finished")).toMatchObject({
      failure: { kind: "other", message: "" },
    });
  });

  it("begins a new file at its size limit, each replayable alone, and keeps the last five", async () => {
    const { s, recorder } = recorded({ maxBytes: 1500 });
    await work(s, 120);
    await recorder.close();
    expect(parts()).toEqual(["", ".1", ".2", ".3", ".4", ".5"].map((part) => `session.ndjson${part}`));
    for (const part of parts()) {
      const [header, keyframe, opened] = linesOf(join(dirname(file), part));
      expect(header).toEqual(HEADER);
      expect(keyframe?.type).toBe("keyframe");
      expect(opened).toMatchObject({ type: "session.opened", reason: "keyframe" });
      expectVerified(linesOf(join(dirname(file), part)));
    }
    // And all of them one after the other, as `cat` puts them together.
    const inOrder = parts().toReversed();
    expectVerified(inOrder.flatMap((part) => linesOf(join(dirname(file), part))));
  });

  it("loses no event between one file and the next, however many wait when it is begun", async () => {
    const { s, recorder } = recorded({ maxBytes: 3000 });
    const burst = () => {
      for (let turn = 0; turn < 8; turn++) s.turn(1);
    };
    burst();
    await vi.waitFor(
      () => {
        burst();
        expect(parts().length).toBeGreaterThan(2);
      },
      { timeout: 10_000, interval: 5 },
    );
    await recorder.close();
    const events = parts()
      .toReversed()
      .flatMap((part) => linesOf(join(dirname(file), part)))
      .filter((line) => "v" in line && !("reason" in line && line.reason === "keyframe"));
    expect(events).toEqual(s.steps.map(({ event }) => event));
  });

  it("does not begin one after the other when a long session's keyframe alone is over the limit", async () => {
    const { s, recorder } = recorded({ maxBytes: 3000 });
    await work(s, 40);
    await recorder.close();
    const eventsIn = (part: string) => linesOf(join(dirname(file), part)).filter((line) => "v" in line);
    const [newest, ...older] = parts();
    expect(newest).toBe("session.ndjson");
    // Each has as much to say after its keyframe as the keyframe itself takes.
    for (const part of older) expect(eventsIn(part).length).toBeGreaterThan(5);
  });

  it("appends to the file of a resumed session, mending a line that broke off", async () => {
    const first = recorded();
    await work(first.s, 2);
    await first.recorder.close();
    const whole = readFileSync(file, "utf8");
    writeFileSync(file, whole.slice(0, -20));
    const second = recorded();
    await work(second.s, 2);
    await second.recorder.close();
    const lines = readFileSync(file, "utf8").split("\n");
    expect(lines.filter((line) => line === JSON.stringify(HEADER))).toHaveLength(2);
  });

  it("starts anew, alone replayable, when its file is deleted", async () => {
    const { s, recorder } = recorded();
    await work(s, 3);
    const { seq } = s.steps.at(-1)?.event ?? {};
    await vi.waitFor(
      () => expect(linesOf(file).some((line) => "seq" in line && line.seq === seq)).toBe(true),
      10_000,
    );
    rmSync(dirname(file), { recursive: true });
    await work(s, 3);
    await recorder.close();
    const [header, keyframe, opened] = linesOf(file);
    expect([header?.type, keyframe?.type, opened?.type]).toEqual(["header", "keyframe", "session.opened"]);
    expectVerified(linesOf(file));
    expect(warnings).toEqual([]);
  });

  it("says once that it cannot write, and stops", async () => {
    // A file where the folder would be: also root, whom no permission stops, cannot write there.
    writeFileSync(join(dir, "debug"), "");
    const { s, recorder } = recorded();
    await work(s, 5);
    await recorder.close();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^The debug recording stopped: /);
  });

  it.skipIf(process.getuid?.() === 0)("says so of a folder that is read-only", async () => {
    chmodSync(dir, 0o500);
    const { s, recorder } = recorded();
    await work(s, 5);
    await recorder.close();
    expect(warnings).toHaveLength(1);
  });

  it("stops with one warning when the disk does not keep up", async () => {
    const { s, recorder } = recorded({ maxQueuedLines: 20 });
    for (let n = 0; n < 50; n++) s.turn(10);
    await recorder.close();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/cannot be written as fast/);
    expect(existsSync(file)).toBe(false);
  });
});
