import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { InspectorMessage } from "../../../src/effects/inspector-feed.ts";
import { createRecorder, type Recorder } from "../../../src/effects/recorder.ts";
import { type EventSource, progress$ } from "../../../src/host/inspector/event-sources/event-source.ts";
import { openRecordingSource } from "../../../src/host/inspector/event-sources/recording-source.ts";
import type { EventHistory } from "../../../src/host/inspector/history/event-history.ts";
import type { Progress } from "../../../src/host/inspector/history/viewer-data.ts";
import { RECORDING_VERSION } from "../../../src/machines/recording/recording.ts";
import { parseRecordingLine } from "../../../src/machines/recording/recording-line.ts";
import { createReplay } from "../../../src/machines/recording/replay.ts";
import { type EngineEvent, EVENT_VERSION } from "../../../src/reducers/engine/events.ts";
import { waitFor } from "../../pi/support/harness.ts";
import { type Schedule, schedule } from "../../support/engine/schedule.ts";
import { ROOT } from "../../support/programs/run-cli.ts";

const RECORDED = readFileSync(join(ROOT, "test/recordings/main-job.ndjson"), "utf8");
const SETTINGS = { observeAfterTokens: 2000, reflectAfterTokens: 5000, compactAfterTokens: 9000 };

let dir: string;
let file: string;
let source: EventSource | undefined;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-follow-"));
  file = join(dir, "recording.ndjson");
});
afterEach(async () => {
  await source?.close();
  source = undefined;
  rmSync(dir, { recursive: true });
});

async function open(): Promise<EventSource> {
  source = await openRecordingSource(file);
  await source.ready;
  return source;
}

const eventsIn = ({ steps }: EventHistory) => steps.map(({ event }) => event);

function eventsOf(text: string): (EngineEvent & { reason?: string })[] {
  const replay = createReplay();
  return text
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => replay.take(parseRecordingLine(line))?.event ?? []);
}

describe("a recording that is still being written", () => {
  it("grows as lines are appended, in whatever pieces", async () => {
    const begun = Math.floor(RECORDED.length / 3);
    writeFileSync(file, RECORDED.slice(0, begun));
    const opened = await open();
    const { history } = opened;
    const before = history.steps.length;
    expect(before).toBeGreaterThan(3);
    const told: Progress[] = [];
    progress$(opened).subscribe((progress) => told.push(progress));
    for (let at = begun; at < RECORDED.length; at += 700) {
      appendFileSync(file, RECORDED.slice(at, at + 700));
      await sleep(15);
    }
    const all = eventsOf(RECORDED);
    await waitFor(() => history.steps.length === all.length, "all events");
    await waitFor(() => told.at(-1)?.count === all.length, "word of them");
    expect(eventsIn(history)).toEqual(all);
    // Half a line is no loss while somebody is writing it.
    expect(told.every(({ notes }) => notes.length === 0)).toBe(true);
    expect(opened).toMatchObject({ complete: false, reading: false });
  });

  it("takes a last line without its end of line once, and what comes after it", async () => {
    const lines = RECORDED.trimEnd().split("\n");
    writeFileSync(file, lines.slice(0, 3).join("\n"));
    const { history } = await open();
    await waitFor(
      () => history.steps.length === eventsOf(lines.slice(0, 3).join("\n")).length,
      "the last line",
    );
    appendFileSync(file, `\n${lines.slice(3).join("\n")}\n`);
    await waitFor(() => history.steps.length === eventsOf(RECORDED).length, "the others");
  });

  it("names a line that was lost, also one that comes later", async () => {
    const lines = RECORDED.trimEnd().split("\n");
    writeFileSync(file, `${lines.slice(0, 6).join("\n")}\n`);
    const opened = await open();
    expect(opened.notes).toEqual([]);
    let told: readonly string[] = [];
    progress$(opened).subscribe((progress) => {
      told = progress.notes;
    });
    appendFileSync(file, `not JSON\n${lines.slice(6).join("\n")}\n`);
    await waitFor(() => told.length > 0, "the note");
    expect(told).toEqual(["Line 7 is left out: it is not JSON"]);
  });

  it("goes on in the file that takes its place when the recorder begins a new one", async () => {
    const s = schedule(SETTINGS);
    const recorder = record(s, 25_000);
    await work(s, 5);
    await waitFor(() => existsSync(file), "the beginning");
    const { history } = await open();
    await work(s, 80);
    await recorder.close();
    const parts = [5, 4, 3, 2, 1].map((n) => `${file}.${n}`).filter((part) => existsSync(part));
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.length).toBeLessThan(5);
    const written = eventsOf([...parts, file].map((part) => readFileSync(part, "utf8")).join(""));
    await waitFor(() => history.steps.length === written.length, "all that was written");
    expect(eventsIn(history)).toEqual(written);
    const happened = written.filter(({ reason }) => reason !== "keyframe").map(({ seq }) => seq);
    expect(happened).toEqual(s.steps.map(({ event }) => event.seq));
    const told: InspectorMessage[] = [];
    const stop = source?.streamMessages({ send: (message) => told.push(message), isFull: () => false });
    await waitFor(() => told.at(-1)?.seq === written.at(-1)?.seq, "word of the last event");
    stop?.();
    const observers = told.filter(
      (message) => message.type === "@xstate.actor" && message.name === "observer",
    );
    expect(observers).toHaveLength(parts.length + 1);
    const { session, workers } = history.stateAt(history.steps.length - 1);
    expect(session.ledger.counts).toEqual(s.engine.state.session.ledger.counts);
    expect(workers).toEqual(s.engine.state.workers);
    expect(source?.notes).toEqual([]);
  });

  it("says so when the file becomes shorter, and keeps what it has", async () => {
    writeFileSync(file, RECORDED);
    const opened = await open();
    const { history } = opened;
    let told: Progress | undefined;
    progress$(opened).subscribe((progress) => {
      told = progress;
    });
    truncateSync(file, 300);
    await waitFor(() => told?.complete === true, "the end");
    expect(told?.notes.join()).toMatch(/became shorter/);
    expect(history.steps.length).toBe(eventsOf(RECORDED).length);
  });

  it("tells the protocol's receivers of what is appended", async () => {
    const half = RECORDED.split("\n").slice(0, 40).join("\n");
    writeFileSync(file, `${half}\n`);
    const messages: InspectorMessage[] = [];
    const { streamMessages } = await open();
    const stop = streamMessages({ send: (message) => messages.push(message), isFull: () => false });
    const [middle, end] = [half, RECORDED].map((text) => eventsOf(text).at(-1)?.seq);
    await waitFor(() => messages.some(({ seq }) => seq === middle), "the first half");
    appendFileSync(file, RECORDED.slice(half.length + 1));
    await waitFor(() => messages.some(({ seq }) => seq === end), "the second half");
    stop();
  });
});

/** A session's very recorder, which begins a new file after so many bytes. */
function record(s: Schedule, maxBytes: number): Recorder {
  const recorder = createRecorder({
    file,
    header: { type: "header", recording: RECORDING_VERSION, version: "0.0.0", pi: "0.0.0", sessionId: "s" },
    maxBytes,
    onFailure: expect.unreachable,
    keyframe: ({ seq, at }) => [s.engine.keyframe(), { ...openingOf(s), v: EVENT_VERSION, seq, at }],
  });
  for (const step of s.steps) recorder.take(step);
  s.steps$.subscribe((step) => recorder.take(step));
  return recorder;
}

function openingOf(s: Schedule) {
  const branch = s.steps.flatMap(({ event }) => (event.type === "branch.extended" ? event.entries : []));
  const { settings, sessionId } = s.engine.state;
  return { type: "session.opened" as const, reason: "keyframe", sessionId, settings, branch };
}

async function work(s: Schedule, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    s.turn(700);
    if (s.inFlight.length > 0) s.finish("recorded");
    // The disk gets its turn, as it does in a session.
    await sleep(10);
  }
}
