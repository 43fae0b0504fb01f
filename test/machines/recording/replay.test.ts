import { describe, expect, it } from "vitest";
import type { Step } from "../../../src/machines/engine.ts";
import { decisionOf, type RecordingLine } from "../../../src/machines/recording/recording.ts";
import { createReplay, type ReplayReport } from "../../../src/machines/recording/replay.ts";
import type { EngineEventOf } from "../../../src/reducers/engine/events.ts";
import { type Schedule, schedule } from "../../support/engine/schedule.ts";
import { runReplay } from "../../support/programs/run-replay.ts";
import { HEADER } from "../../support/sessions/builders.ts";

const settings = { observeAfterTokens: 1000, reflectAfterTokens: 2000, compactAfterTokens: 5000 };

/** What the recorder would have written of a schedule, from the step with this index on. */
function linesOf({ steps }: Schedule, from = 0): RecordingLine[] {
  return steps.slice(from).flatMap((step) => [step.event, decisionOf(step) ?? []].flat());
}

/** With what the recorder begins a file after these steps, behind a keyframe. */
function reopeningAfter(steps: readonly Step[]): EngineEventOf<"session.opened"> {
  const last = steps.at(-1);
  if (!last) throw new Error("no event");
  const { v, seq, at } = last.event;
  const branch = steps.flatMap(({ event }) => (event.type === "branch.extended" ? event.entries : []));
  const { settings } = last.state;
  return { v, seq, at, type: "session.opened", reason: "keyframe", sessionId: "test", settings, branch };
}

function busySchedule(): Schedule {
  const s = schedule(settings);
  for (let turn = 0; turn < 12; turn++) {
    s.turn(600);
    if (s.inFlight.length > 0) s.finish(turn % 3 === 2 ? "empty" : "recorded");
  }
  return s;
}

const verified = ({ missingEvents, verification }: ReplayReport) => ({
  missingEvents,
  unverified: verification.unverified,
  difference: verification.difference?.number,
});
const ALL_WELL = { missingEvents: 0, unverified: 0, difference: undefined };

describe("a replay", () => {
  it("takes the same steps as the engine that was recorded", () => {
    const s = busySchedule();
    const { steps, report } = runReplay([HEADER, ...linesOf(s)]);
    expect(steps).toMatchObject(s.steps);
    expect(verified(report)).toEqual(ALL_WELL);
    expect(report.verification.compared).toBe(s.steps.length);
  });

  it("goes on from a keyframe, wherever that was taken", () => {
    const s = busySchedule();
    for (let cut = 1; cut < s.steps.length; cut++) {
      const whole = schedule(settings);
      for (const { event } of s.steps.slice(1, cut)) whole.engine.step(event);
      const lines: RecordingLine[] = [
        HEADER,
        whole.engine.keyframe(),
        reopeningAfter(s.steps.slice(0, cut)),
        ...linesOf(s, cut),
      ];
      expect(verified(runReplay(lines).report)).toEqual(ALL_WELL);
    }
  });

  it("counts on over several openings of a session", () => {
    const lines = [HEADER, ...linesOf(busySchedule()), HEADER, ...linesOf(busySchedule())];
    const { steps, report } = runReplay(lines);
    expect(steps.map(({ number }) => number)).toEqual(steps.map((_, index) => index + 1));
    expect(verified(report)).toEqual(ALL_WELL);
  });

  it("counts on from an opening of one event, and leaves a gap between two parts a gap", () => {
    const [opening] = linesOf(schedule(settings));
    if (opening === undefined) throw new Error("no opening");
    const later = linesOf(busySchedule(), 9);
    const { steps } = runReplay([HEADER, opening, HEADER, opening, HEADER, opening, HEADER, ...later]);
    const [first] = later;
    if (!first || !("seq" in first)) throw new Error("no event");
    expect(steps.slice(0, 4).map(({ number }) => number)).toEqual([1, 2, 3, first.seq + 2]);
  });

  it("gives an event that two parts of a rotated recording share one number", () => {
    const s = busySchedule();
    const keyframe = s.engine.keyframe();
    const reopened = reopeningAfter(s.steps);
    const { seq } = reopened;
    s.turn(600);
    const rotated: RecordingLine[] = [
      ...[HEADER, ...linesOf(s).filter((line) => "seq" in line && line.seq <= seq)],
      ...[HEADER, keyframe, reopened],
      ...linesOf(s).filter((line) => "seq" in line && line.seq > seq),
    ];
    // After another opening too, whose events come first.
    const { steps, report } = runReplay([HEADER, ...linesOf(busySchedule()), ...rotated]);
    const numbers = steps.map(({ number }) => number);
    expect(numbers.filter((number, index) => number === numbers[index + 1])).toEqual([2 * seq]);
    expect(numbers.at(-1)).toBe(2 * seq + 2);
    expect(verified(report)).toEqual(ALL_WELL);
  });

  it("misses the last decision of a part, whatever comes after it", () => {
    const s = busySchedule();
    const lines = linesOf(s);
    const at = lines.findLastIndex(({ type }) => type === "decision");
    const cut = [HEADER, ...lines.slice(0, at)];
    const number = (given: RecordingLine[]) => runReplay(given).report.verification.difference?.number;
    const event = lines[at - 1];
    if (!event || !("seq" in event)) throw new Error("no event");
    expect(number(cut)).toBe(event.seq);
    expect(number([...cut, HEADER, ...lines])).toBe(event.seq);
    const replay = createReplay();
    cut.forEach(replay.take);
    expect(replay.end().verification.difference?.number).toBe(event.seq);
  });

  it("says nothing of a recording without lines", () => {
    expect(createReplay().end()).toEqual({
      events: 0,
      missingEvents: 0,
      verification: { compared: 0, decisions: 0, unverified: 0 },
    });
  });

  it("judges bare events too, and marks none of them as modelled", () => {
    const s = busySchedule();
    const { steps, report } = runReplay(linesOf(s));
    expect(verified(report)).toEqual(ALL_WELL);
    expect(report.verification.compared).toBe(s.steps.length);
    expect(steps.some(({ modelled }) => modelled)).toBe(false);
  });

  it("under other settings counts events, and judges none", () => {
    const settings = { observeAfterTokens: 2000 };
    const { steps, report } = runReplay([HEADER, ...linesOf(busySchedule())], { settings });
    expect(report).toEqual({
      events: steps.length,
      missingEvents: 0,
      verification: { compared: 0, decisions: 0, unverified: 0 },
    });
    expect(steps.length).toBeGreaterThan(10);
  });

  it("names the first difference with the five events that led to it", () => {
    const s = busySchedule();
    const lines = linesOf(s);
    const at = lines.findLastIndex(({ type }) => type === "decision");
    const line = lines[at];
    if (line?.type !== "decision") throw new Error("no decision");
    const edited = { ...line, commands: [{ type: "abortRun" as const, runId: "observer-1" }] };
    const { difference } = runReplay([HEADER, ...lines.with(at, edited)]).report.verification;
    expect(difference).toMatchObject({
      number: line.seq,
      event: { seq: line.seq },
      expected: { transitions: line.transitions, commands: edited.commands },
      actual: { transitions: line.transitions, commands: line.commands },
    });
    expect(difference?.lastEvents.map(({ number }) => number)).toEqual(
      [4, 3, 2, 1, 0].map((before) => line.seq - before),
    );
  });

  it("says how many events are missing, and compares nothing after them", () => {
    const s = busySchedule();
    const lines = [HEADER, ...linesOf(s)];
    const at = lines.findIndex((line) => "seq" in line && line.seq === 9 && line.type !== "decision");
    const { report } = runReplay(lines.toSpliced(at, 1));
    expect(report.missingEvents).toBe(1);
    expect(report.verification.unverified).toBe(s.steps.length - 9);
    const events = lines.filter((line) => line.type !== "header" && line.type !== "decision");
    expect(runReplay([...events.slice(0, 5), ...events.slice(8)]).report.missingEvents).toBe(3);
    // One number twice: something is missing, though nobody can tell how much.
    expect(runReplay([...events.slice(0, 5), ...events.slice(4)]).report.missingEvents).toBe(1);
    const headless = runReplay(linesOf(s, 3)).report;
    expect(headless.missingEvents).toBe(1);
    expect(headless.verification.compared).toBe(0);
  });

  it("does not judge the event before a line that could not be read", () => {
    const s = busySchedule();
    const lines = linesOf(s);
    const at = lines.findIndex(({ type }) => type === "decision");
    const replay = createReplay();
    for (const [index, line] of lines.entries()) {
      if (index === at) replay.lostLine();
      else replay.take(line);
    }
    expect(verified(replay.end())).toEqual({ ...ALL_WELL, unverified: 1 });
  });

  it("takes a last line that broke off for normal", () => {
    const s = busySchedule();
    const lines = linesOf(s);
    const at = lines.findLastIndex(({ type }) => type === "decision");
    const replay = createReplay();
    for (const line of lines.slice(0, at)) replay.take(line);
    expect(verified(replay.end({ truncated: true }))).toEqual(ALL_WELL);
  });

  it("reads lines as they are written, to the same end", () => {
    const lines = [HEADER, ...linesOf(busySchedule())];
    const replay = createReplay();
    for (const line of lines) replay.read(JSON.stringify(line));
    expect(replay.end()).toEqual(runReplay(lines).report);
  });

  it("names the event at which a reducer or a machine throws", () => {
    const s = schedule(settings);
    const broken = { ...s.steps[0]?.event, branch: undefined } as unknown as RecordingLine;
    expect(() => runReplay([broken])).toThrow(/^event 1 \(session.opened\) could not be taken: /);
  });
});
