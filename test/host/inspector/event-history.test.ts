import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createRangeColumn } from "../../../src/host/inspector/history/columns.ts";
import { eventDetailAt } from "../../../src/host/inspector/history/event-detail.ts";
import type { EventFilter } from "../../../src/host/inspector/history/event-list.ts";
import { timelineOf } from "../../../src/host/inspector/history/timeline.ts";
import { createEngine } from "../../../src/machines/engine.ts";
import { parseRecordingLine } from "../../../src/machines/recording/recording-line.ts";
import { createReplay } from "../../../src/machines/recording/replay.ts";
import { LANES } from "../../../src/reducers/engine/lane-names.ts";
import { readRecording, writeLargeRecording } from "../../support/recording-file.ts";
import { ROOT } from "../../support/run-cli.ts";

const SMALL = { observeAfterTokens: 2000, reflectAfterTokens: 5000, compactAfterTokens: 9000 };

describe("the history of a recording", () => {
  it("knows the state after every event as the replay had it", async () => {
    const file = writeLargeRecording(1500, { settings: SMALL });
    const { eventHistory, store, list, close } = await readRecording(file);
    const replay = createReplay();
    const steps = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .flatMap((text) => replay.take(parseRecordingLine(text)) ?? []);
    expect(eventHistory.length).toBe(steps.length);
    for (const index of [0, 1, 511, 512, 513, 900, steps.length - 1]) {
      const step = steps[index];
      const { session, workers } = eventHistory.stateAt(index);
      expect(session.ledger.counts).toEqual(step?.state.session.ledger.counts);
      expect(workers).toEqual(step?.state.workers);
      const moment = eventDetailAt(eventHistory, store, list, index);
      for (const lane of LANES) expect(moment.lanes[lane].state).toBe(step?.snapshot.states[lane]);
      expect(moment.commands).toEqual(step?.commands);
    }
    close();
  });

  it("counts the arrows that the machines themselves say they took", async () => {
    const file = writeLargeRecording(3000, { settings: SMALL });
    const { eventHistory, close } = await readRecording(file);
    const taken = new Map<string, number>();
    const engine = createEngine();
    engine.watch((message) => {
      if (message.type !== "@xstate.microstep") return;
      for (const { source, target } of message._transitions) {
        const to = target?.[0]?.path.join(".");
        if (to === undefined || source.machine.id === "scheduler") continue;
        const arrow = `${source.machine.id} ${source.path.join(".") || "*"}>${to}`;
        taken.set(arrow, (taken.get(arrow) ?? 0) + 1);
      }
    });
    for (const text of readFileSync(file, "utf8").trimEnd().split("\n")) {
      const line = parseRecordingLine(text);
      if (line.type !== "header" && line.type !== "keyframe" && line.type !== "decision") engine.step(line);
    }
    const counted = LANES.flatMap((lane) =>
      [...eventHistory.taken[lane]].map(([arrow, times]) => [`${lane} ${arrow}`, times] as const),
    );
    expect(new Map(counted.sort())).toEqual(new Map([...taken].sort()));
    expect(counted.length).toBeGreaterThan(6);
    close();
  });

  it("thins the time line to its width and keeps every lane covered without a gap", async () => {
    const { eventHistory, close } = await readRecording(writeLargeRecording(20_000, { settings: SMALL }));
    for (const axis of ["event", "time"] as const) {
      const { lanes, clocks, runs, from, to } = timelineOf(eventHistory, { axis, width: 300 });
      expect(clocks.x.length).toBeLessThanOrEqual(602);
      expect(runs.length).toBeLessThanOrEqual(602);
      for (const lane of LANES) {
        const spans = lanes[lane];
        expect(spans.length).toBeLessThanOrEqual(602);
        expect(spans[0]?.[0]).toBe(from);
        expect(spans.at(-1)?.[1]).toBe(to);
        for (const [at, span] of spans.entries()) if (at > 0) expect(span[0]).toBe(spans[at - 1]?.[1]);
      }
    }
    close();
  });

  it("shows a failure however little room there is", async () => {
    const { eventHistory, close } = await readRecording(
      join(ROOT, "test/recordings/failing-observer.ndjson"),
    );
    const { lanes } = timelineOf(eventHistory, { axis: "event", width: 3 });
    expect(lanes.observer.map(([, , state]) => state)).toContain("backingOff");
    await close();
  });

  it("keeps every peak and every reset of the clocks in what it thins", async () => {
    const { eventHistory, close } = await readRecording(writeLargeRecording(20_000, { settings: SMALL }));
    for (const axis of ["event", "time"] as const) {
      for (const view of [{}, axis === "event" ? { from: 3000, to: 15_000 } : {}]) {
        const { clocks, from, to } = timelineOf(eventHistory, { axis, width: 200, ...view });
        const inView = Array.from({ length: eventHistory.length }, (_, index) => index).filter((index) => {
          const x = axis === "event" ? index : eventHistory.at.at(index);
          return x >= from && x <= to;
        });
        for (const lane of LANES) {
          const values = inView.map((index) => eventHistory.clocks[lane].at(index));
          expect(Math.max(...clocks.values[lane])).toBe(Math.max(...values));
          expect(Math.min(...clocks.values[lane])).toBe(Math.min(...values));
        }
        expect(clocks.x).toEqual(clocks.x.toSorted((a, b) => a - b));
      }
    }
    await close();
  });

  it("knows the extremes of any stretch of a column", () => {
    const column = createRangeColumn("uint32");
    const values = Array.from({ length: 9000 }, (_, row) => (row * 7919) % 10_007);
    for (const value of values) column.push(value);
    for (const [from, to] of [
      [0, 9000],
      [0, 64],
      [1, 4097],
      [63, 65],
      [4095, 8193],
      [5000, 5001],
      [100, 8999],
    ] as const) {
      const stretch = values.slice(from, to);
      expect(column.low(from, to)).toBe(Math.min(...stretch));
      expect(column.high(from, to)).toBe(Math.max(...stretch));
    }
  });

  it("finds, pages and jumps", async () => {
    const { eventHistory, list, close } = await readRecording(writeLargeRecording(5000, { settings: SMALL }));
    const found = async (filter: EventFilter, rows = 500) => {
      for (;;) {
        const page = await list.page(filter, 0, rows);
        if (page.searched === eventHistory.length) return page;
      }
    };
    const runs = { types: ["run.finished"], lanes: [], text: "" };
    const { matches, rows } = await found(runs, 5);
    expect(matches).toBe(eventHistory.runs.filter(({ to }) => to !== null).length);
    expect(rows.map(({ type }) => type)).toEqual(Array.from({ length: 5 }, () => "run.finished"));
    const started = { types: [], lanes: [], text: "STARTRUN observer-3 " };
    const starts = (await found(started)).rows;
    expect(starts.length).toBeGreaterThan(0);
    for (const { decision } of starts) expect(decision).toContain("startRun observer-3");
    expect((await found({ types: [], lanes: [], text: "no such thing" })).matches).toBe(0);
    const moved = await found({ types: [], lanes: ["compaction"], text: "" });
    let index = -1;
    for (const row of moved.rows.slice(0, 20)) {
      index = list.jump("compaction", index, 1) ?? -1;
      // The first state counts as no change.
      if (index === 0) index = list.jump("compaction", index, 1) ?? -1;
      expect(index).toBe(row.index);
    }
    expect(list.jump("compaction", eventHistory.length - 1, 1)).toBeNull();
    close();
  });
});
