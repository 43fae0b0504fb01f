import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { chartGraph, LANE_MACHINES } from "../../../scripts/chart-graph.ts";
import { eventDetailAt } from "../../../src/host/inspector/history/event-detail.ts";
import { nextMove } from "../../../src/host/inspector/history/event-search.ts";
import { commandWords } from "../../../src/host/inspector/history/event-words.ts";
import { changesAt, memoryAt } from "../../../src/host/inspector/history/memory-lines.ts";
import { stretchTotals } from "../../../src/host/inspector/history/stretch.ts";
import { timelineOf } from "../../../src/host/inspector/history/timeline.ts";
import type { EventFilter } from "../../../src/host/inspector/history/viewer-data.ts";
import { createEngine } from "../../../src/machines/engine.ts";
import { parseRecordingLine } from "../../../src/machines/recording/recording-line.ts";
import { createReplay } from "../../../src/machines/recording/replay.ts";
import { LANES, type Worker } from "../../../src/reducers/engine/lane-names.ts";
import { ROOT } from "../../support/programs/run-cli.ts";
import { readRecording, writeLargeRecording } from "../../support/recordings/recording-file.ts";

const SMALL = { observeAfterTokens: 2000, reflectAfterTokens: 5000, compactAfterTokens: 9000 };

describe("the history of a recording", () => {
  it("knows the state after every event as the replay had it", async () => {
    const file = writeLargeRecording(1500, { settings: SMALL });
    const { history, close } = await readRecording(file);
    const replay = createReplay();
    const steps = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .flatMap((text) => replay.take(parseRecordingLine(text)) ?? []);
    expect(history.steps.length).toBe(steps.length);
    for (const index of [0, 1, 511, 512, 513, 900, steps.length - 1]) {
      const step = steps[index];
      const { session, workers } = history.stateAt(index);
      expect(session.ledger.counts).toEqual(step?.state.session.ledger.counts);
      expect(workers).toEqual(step?.state.workers);
      const detail = eventDetailAt(history, index);
      for (const lane of LANES) expect(detail.lanes[lane].state).toBe(step?.snapshot.states[lane]);
      expect(detail.commands).toEqual(step?.commands.map(commandWords));
    }
    close();
  });

  it("counts the arrows that the machines themselves say they took", async () => {
    const file = writeLargeRecording(3000, { settings: SMALL });
    const { history, close } = await readRecording(file);
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
      Object.entries(history.taken[lane]).map(([arrow, times]) => [`${lane} ${arrow}`, times] as const),
    );
    expect(new Map(counted.sort())).toEqual(new Map([...taken].sort()));
    expect(counted.length).toBeGreaterThan(6);
    const drawn = LANES.flatMap((lane) =>
      chartGraph(LANE_MACHINES[lane]).edges.map(({ id }) => `${lane} ${id}`),
    );
    expect(drawn).toEqual(expect.arrayContaining(counted.map(([arrow]) => arrow)));
    close();
  });

  it("thins the time line to its width and keeps every lane covered without a gap", async () => {
    const { history, close } = await readRecording(writeLargeRecording(20_000, { settings: SMALL }));
    for (const axis of ["event", "time"] as const) {
      const width = 300;
      const whole = timelineOf(history, { axis, width });
      expect(whole.clocks.x.length).toBeLessThanOrEqual(602);
      // A stretch that has room for each of its changes
      const end = whole.from + (whole.to - whole.from) / 20;
      const { lanes, runs, from, to, histogram } = timelineOf(history, {
        axis,
        width,
        from: whole.from,
        to: end,
      });
      expect(histogram).toBeNull();
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

  it("shows what is too dense for that as a histogram, of which nothing is left out", async () => {
    const { history, close } = await readRecording(writeLargeRecording(20_000, { settings: SMALL }));
    for (const axis of ["event", "time"] as const) {
      const { histogram, lanes } = timelineOf(history, { axis, width: 300 });
      if (!histogram) return expect.fail("there is no histogram");
      expect(lanes.observer).toEqual([]);
      const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
      for (const lane of LANES) {
        const ended = history.runs.filter((run) => run.lane === lane && run.to !== null);
        expect(sum(histogram.runs[lane])).toBe(ended.length);
        for (let column = 0; column < histogram.columns; column++) {
          const shares = Object.values(histogram.states[lane]).map((share) => share[column] ?? 0);
          expect(sum(shares)).toBeCloseTo(1, 6);
        }
      }
      expect(sum(histogram.compactions)).toBe(history.compactions.length);
    }
    await close();
  });

  it("sums a stretch: what two stretches have is what both together have, and all is what the state says", async () => {
    const { history, close } = await readRecording(writeLargeRecording(3000, { settings: SMALL }));
    const last = history.steps.length - 1;
    const whole = stretchTotals(history, 0, last);
    const { workers, session } = history.stateAt(last);
    expect(whole.compactions).toBe(session.ledger.compactions);
    for (const { worker, runs, requests, output } of whole.workers) {
      const { usage, ...rest } = workers[worker as Worker];
      expect({ runs, requests, output }).toEqual({
        runs: rest.runs,
        requests: rest.requests,
        output: usage.output,
      });
    }
    for (const cut of [0, 7, 500, last - 1]) {
      const [a, b] = [stretchTotals(history, 0, cut), stretchTotals(history, cut + 1, last)];
      for (const key of ["events", "sourceTokens", "recorded", "dropped", "compactions"] as const) {
        expect(a[key] + b[key]).toBe(whole[key]);
      }
    }
    await close();
  });

  it("has the newest lines of a large memory, and says how many are older", async () => {
    const { history, close } = await readRecording(writeLargeRecording(3000, { settings: SMALL }));
    const last = history.steps.length - 1;
    const all = memoryAt(history, undefined, last, "full", Number.POSITIVE_INFINITY);
    const { counts } = history.stateAt(last).session.ledger;
    expect(all.observations.length).toBe(counts.active);
    expect(all.reflections.length).toBe(counts.reflections);
    const some = memoryAt(history, undefined, last, "full", 7);
    expect(some.observations).toEqual(all.observations.slice(-7));
    expect(some.older.observations).toBe(counts.active - 7);
    // What the page is told of an event's memory is what its ledger had before and after.
    for (const index of [40, 41, 300, 1200]) {
      const ids = (at: number) => memoryAt(history, undefined, at, "full", Number.POSITIVE_INFINITY);
      const [before, after] = [ids(index - 1), ids(index)];
      const isKnown = new Set(
        [...before.observations, ...before.reflections].map(({ kind, id }) => kind + id),
      );
      const came = [...after.observations, ...after.reflections].filter(
        ({ kind, id }) => !isKnown.has(kind + id),
      );
      const { added } = changesAt(history, undefined, index);
      if (history.steps[index]?.event.type === "branch.extended") {
        expect(added.map(({ id }) => id).sort()).toEqual(came.map(({ id }) => id).sort());
      }
    }
    await close();
  });

  it("shows a failure however little room there is", async () => {
    const { history, close } = await readRecording(join(ROOT, "test/recordings/failing-observer.ndjson"));
    const { histogram } = timelineOf(history, { axis: "event", width: 3 });
    expect(Object.keys(histogram?.states.observer ?? {})).toContain("backingOff");
    const { lanes } = timelineOf(history, { axis: "event", width: 12 });
    expect(lanes.observer.map(([, , state]) => state)).toContain("backingOff");
    await close();
  });

  it("keeps every peak and every reset of the clocks in what it thins", async () => {
    const { history, close } = await readRecording(writeLargeRecording(20_000, { settings: SMALL }));
    for (const axis of ["event", "time"] as const) {
      for (const view of [{}, axis === "event" ? { from: 3000, to: 15_000 } : {}]) {
        const { clocks, from, to } = timelineOf(history, { axis, width: 200, ...view });
        const inView = Array.from({ length: history.steps.length }, (_, index) => index).filter((index) => {
          const x = axis === "event" ? index : (history.steps[index]?.at ?? 0);
          return x >= from && x <= to;
        });
        for (const lane of LANES) {
          const values = inView.map((index) => history.steps[index]?.clocks[lane].clock ?? 0);
          expect(Math.max(...clocks.values[lane])).toBe(Math.max(...values));
          expect(Math.min(...clocks.values[lane])).toBe(Math.min(...values));
        }
        expect(clocks.x).toEqual(clocks.x.toSorted((a, b) => a - b));
      }
    }
    await close();
  });

  it("finds, pages and jumps", async () => {
    const { history, search, close } = await readRecording(writeLargeRecording(5000, { settings: SMALL }));
    const found = async (filter: EventFilter, rows = 500) => {
      for (;;) {
        const page = await search.page(filter, 0, rows);
        if (page.searched === history.steps.length) return page;
      }
    };
    const runs = { types: ["run.finished"], lanes: [], text: "" };
    const { matches, rows } = await found(runs, 5);
    expect(matches).toBe(history.runs.filter(({ to }) => to !== null).length);
    expect(rows.map(({ type }) => type)).toEqual(Array.from({ length: 5 }, () => "run.finished"));
    const started = { types: [], lanes: [], text: "STARTRUN observer-3 " };
    const starts = (await found(started)).rows;
    expect(starts.length).toBeGreaterThan(0);
    for (const { decision } of starts) expect(decision).toContain("starts observer-3");
    expect((await found({ types: [], lanes: [], text: "no such thing" })).matches).toBe(0);
    const moved = await found({ types: [], lanes: ["compaction"], text: "" });
    let index = -1;
    for (const row of moved.rows.slice(0, 20)) {
      index = nextMove(history, "compaction", index, 1) ?? -1;
      // The first state counts as no change.
      if (index === 0) index = nextMove(history, "compaction", index, 1) ?? -1;
      expect(index).toBe(row.index);
    }
    expect(nextMove(history, "compaction", history.steps.length - 1, 1)).toBeNull();
    close();
  });
});
