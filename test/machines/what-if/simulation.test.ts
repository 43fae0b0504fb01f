import { describe, expect, it } from "vitest";
import { decisionOf, type RecordingLine } from "../../../src/machines/recording/recording.ts";
import { replay } from "../../../src/machines/recording/replay.ts";
import type { ReplayStep } from "../../../src/machines/recording/replay-step.ts";
import { createRecordingSimulation } from "../../../src/machines/what-if/simulated-recording.ts";
import {
  createSessionReplay,
  type SessionReplayOptions,
} from "../../../src/machines/what-if/simulated-session.ts";
import { createTune, gridOf, type TuneRow } from "../../../src/machines/what-if/tune.ts";
import { createRunStatistics, DEFAULT_MODEL, type Workload } from "../../../src/machines/what-if/workload.ts";
import type { Worker } from "../../../src/reducers/engine/lane-names.ts";
import { clocksOfSession } from "../../../src/reducers/session.ts";
import type { Settings } from "../../../src/reducers/settings.ts";
import { DEFAULT_SETTINGS } from "../../../src/reducers/settings.ts";
import { schedule } from "../../support/engine/schedule.ts";
import { runReplay } from "../../support/programs/run-replay.ts";
import { HEADER, MEMORY, stamped } from "../../support/sessions/builders.ts";
import { type PlainSession, plainSession } from "../../support/sessions/plain-session.ts";

/** Prompts of a thousand tokens each, half a minute apart. */
function talk(prompts: number, session: PlainSession = plainSession()): PlainSession {
  for (let n = 0; n < prompts; n++) session.wait(30).user(500).assistant(500);
  return session;
}

/** The same as a recording, of a session that remembers something from the start on. */
function remembering(prompts: number): RecordingLine[] {
  const s = schedule({ observeAfterTokens: 1_000_000, reflectAfterTokens: 1_000_000 });
  s.tell({ type: "branch.extended", entries: [...MEMORY] });
  for (let n = 0; n < prompts; n++) {
    s.wait(30_000);
    s.turn(1000);
    s.settle();
  }
  return s.steps.map(({ event }) => event);
}

function replaySession({ entries }: PlainSession, options: SessionReplayOptions = {}) {
  const replay = createSessionReplay(entries, options);
  const steps = [...replay.steps()];
  return { steps, counts: replay.counts };
}

const runsOf = (steps: readonly ReplayStep[]) =>
  steps.flatMap(({ event, modelled }) =>
    event.type === "run.finished" ? [`${event.worker} ${event.outcome}${modelled ? " ~" : ""}`] : [],
  );
const compactionsOf = (steps: readonly ReplayStep[]) =>
  steps.flatMap(({ event, modelled }) =>
    event.type === "compaction.finished" ? [{ modelled, folded: event.folded }] : [],
  );

describe("a plain session", () => {
  it("without memory shows the lanes at work on modelled results", () => {
    const { steps, counts } = replaySession(talk(45));
    expect(runsOf(steps)).toEqual([
      "observer recorded ~",
      "observer recorded ~",
      "reflector recorded ~",
      "observer recorded ~",
      "observer recorded ~",
      "reflector recorded ~",
    ]);
    expect(counts.observer).toEqual({ recorded: 0, modelled: 4, noTrace: 0 });
    expect(steps.map(({ number }) => number)).toEqual(steps.map((_, index) => index + 1));
  });

  it("is compacted when the lane asks for it, keeping what Pi keeps", () => {
    const { steps, counts } = replaySession(talk(90));
    expect(compactionsOf(steps)).toEqual([{ modelled: true, folded: true }]);
    expect(counts.compaction.modelled).toBe(1);
    const done = steps.find(({ event }) => event.type === "compaction.finished");
    expect(done?.snapshot.states.compaction).toBe("coolingDown");
  });

  it("answers a run with the ledger entry that the file has for it", () => {
    const session = talk(10);
    const watermark = session.tip;
    session.wait(5).observed(watermark);
    const { steps, counts } = replaySession(talk(3, session));
    expect(counts.observer).toEqual({ recorded: 1, modelled: 0, noTrace: 0 });
    expect(runsOf(steps)).toEqual(["observer recorded"]);
    const run = steps.find(({ event }) => event.type === "run.finished")?.event;
    expect(run).toMatchObject({ runId: "observer-1", coversUpToId: watermark, durationMs: 6000 });
  });

  it("with memory takes a run without a trace for one that found nothing", () => {
    const session = talk(10);
    session.wait(3600).observed("e4");
    const { steps, counts } = replaySession(talk(1, session));
    expect(counts.observer).toEqual({ recorded: 1, modelled: 0, noTrace: 1 });
    expect(runsOf(steps)).toEqual(["observer empty ~", "observer recorded"]);
    expect(steps.at(-1)?.state.session.ledger.counts.observations).toBe(1);
  });

  it("shows the run that must have made an entry as asked for, when nothing was due", () => {
    const session = talk(2);
    session.wait(5).observed(session.tip);
    const replay = createSessionReplay(session.entries);
    const steps = [...replay.steps()];
    expect(replay.unexplained).toBe(1);
    expect(runsOf(steps)).toEqual(["observer recorded"]);
    expect(steps.some(({ event, modelled }) => event.type === "run.demanded" && modelled)).toBe(true);
    expect(steps.at(-1)?.snapshot.states.observer).toBe("idle");
  });

  it("goes by the settings that it is given, under which the same run explains itself", () => {
    const session = talk(2);
    session.wait(5).observed(session.tip);
    const settings = { ...DEFAULT_SETTINGS, observeAfterTokens: 2000 };
    const replay = createSessionReplay(session.entries, { settings });
    expect(runsOf([...replay.steps()])).toEqual(["observer recorded"]);
    expect(replay.unexplained).toBe(0);
  });

  it("under other settings leaves out what these would not have led to", () => {
    const session = talk(10);
    session.wait(5).observed(session.tip);
    talk(30, session);
    const { steps, counts } = replaySession(session, { patch: { observeAfterTokens: 35_000 } });
    expect(counts.observer).toEqual({ recorded: 0, modelled: 1, noTrace: 0 });
    expect(
      steps.some(
        ({ event }) => event.type === "branch.extended" && event.entries.some(({ id }) => id === "e21"),
      ),
    ).toBe(false);
  });

  it("takes the entry of the very worker that ran, and only one that its run can have made in time", () => {
    const settings = { observeAfterTokens: 10_000 };
    const observedAfter = (seconds: number, upTo: "tip" | "later") => {
      const session = talk(10);
      const { tip } = session;
      if (upTo === "later") session.user(10);
      session.wait(seconds).observed(upTo === "tip" ? tip : session.tip);
      return replaySession(talk(1, session), { patch: settings }).counts.observer;
    };
    const taken = { recorded: 1, modelled: 0, noTrace: 0 };
    const modelled = { recorded: 0, modelled: 1, noTrace: 0 };
    expect(observedAfter(5, "tip")).toEqual(taken);
    // A run has three minutes, and entries are a second apart.
    expect([observedAfter(178, "tip"), observedAfter(181, "tip")]).toEqual([taken, modelled]);
    expect(observedAfter(5, "later")).toEqual(modelled);
  });

  it("takes a compaction of the file for the one that was asked for, unless the agent went on before it", () => {
    const compactionIn = (session: PlainSession, patch?: Partial<Settings>) =>
      replaySession(session, patch && { patch }).counts.compaction;
    const full = () => talk(81);
    const { tip } = full();
    const recorded = { recorded: 1, modelled: 0, noTrace: 0 };
    const modelled = { recorded: 0, modelled: 1, noTrace: 0 };
    expect(compactionIn(full().compacted(tip))).toEqual(recorded);
    expect(compactionIn(full().compacted(tip, { isOurs: false }))).toEqual(recorded);
    expect(compactionIn(talk(1, full()).compacted(tip))).toEqual(modelled);
    // Due a prompt later than the file's compaction, which is left out then.
    expect(compactionIn(talk(1, full().compacted(tip)), { compactAfterTokens: 81_500 })).toEqual(modelled);
  });

  it("gives the same steps each time", () => {
    const text = () =>
      JSON.stringify(replaySession(talk(90)).steps.map(({ event, snapshot }) => [event, snapshot.states]));
    expect(text()).toBe(text());
  });
});

/** A recorded session: prompts of a thousand tokens, each run answered before the next. */
function recordedSession(prompts: number): { lines: RecordingLine[]; model: Workload } {
  const s = schedule({ observeAfterTokens: 2000, reflectAfterTokens: 4000, compactAfterTokens: 1_000_000 });
  for (let n = 0; n < prompts; n++) {
    s.wait(30_000);
    s.tell({ type: "agent.started" });
    s.turn(1000);
    s.settle();
    s.wait(1000);
    while (s.inFlight.length > 0) s.finish("recorded");
  }
  const lines = [HEADER, ...s.steps.flatMap((step) => [step.event, decisionOf(step) ?? []].flat())];
  const statistics = createRunStatistics();
  for (const step of runReplay(lines).steps) statistics.take(step);
  return { lines, model: statistics.model() };
}

function onNextDay(lines: readonly RecordingLine[]): RecordingLine[] {
  return lines.map((line) =>
    "at" in line ? { ...line, at: line.at.replace("2026-01-15", "2026-01-16") } : line,
  );
}

function simulate({ lines, model }: ReturnType<typeof recordedSession>, patch: Partial<Settings>) {
  const simulation = createRecordingSimulation({ patch, model });
  const steps = [...lines.flatMap(simulation.take), ...simulation.finish()];
  return { steps, counts: simulation.counts };
}

describe("a recording under other settings", () => {
  it("takes over every recorded result as long as the schedules agree", () => {
    const { steps, counts } = simulate(recordedSession(12), { compactAfterTokens: 2_000_000 });
    expect(counts).toMatchObject({
      observer: { recorded: 6, modelled: 0 },
      reflector: { recorded: 3, modelled: 0 },
    });
    expect(steps.filter(({ modelled }) => modelled)).toEqual([]);
  });

  it("models what differs on the recorded runs of that worker", () => {
    const recorded = recordedSession(12);
    expect(recorded.model.observer).toMatchObject({ measuredRuns: 6, tokensPerRecord: 100 });
    const { steps, counts } = simulate(recorded, { observeAfterTokens: 4000 });
    expect(counts.observer).toEqual({ recorded: 0, modelled: 3, noTrace: 0 });
    expect(steps.filter(({ event, modelled }) => event.type === "run.finished" && !modelled)).toEqual([]);
  });

  it("is what the library's replay gives for settings", () => {
    const recorded = recordedSession(12);
    const patch = { observeAfterTokens: 4000 };
    const running = replay(recorded.lines, { settings: patch });
    expect([...running]).toEqual(simulate(recorded, patch).steps);
  });

  it("runs nothing when they say passive, and keeps the conversation", () => {
    const recorded = recordedSession(12);
    const { steps } = simulate(recorded, { passive: true });
    expect(runsOf(steps)).toEqual([]);
    expect(steps.at(-1)?.state.session.branch.length).toBe(12);
  });

  it("lets modelled runs end with the session that they run in", () => {
    const recorded = recordedSession(4);
    const seq = recorded.lines.filter(({ type }) => type !== "decision").length;
    const at =
      recorded.lines.map((line) => ("at" in line ? line.at : "")).findLast((time) => time !== "") ?? "";
    const closed = stamped({ type: "session.closed", reason: "quit" }, seq, at);
    const slow = { ...recorded.model, observer: { ...DEFAULT_MODEL.observer, durationMs: 1e9 } };
    const { steps } = simulate(
      { lines: [...recorded.lines, closed], model: slow },
      { observeAfterTokens: 3000 },
    );
    expect(runsOf(steps)).toEqual(["observer aborted ~"]);
  });
});

describe("tuning", () => {
  const grid = gridOf([5000, 10_000], [20_000], [81_000]);

  it("makes every combination once, in rising order", () => {
    expect(gridOf([2, 1, 2], [3], [5, 4])).toEqual([
      { observeAfterTokens: 1, reflectAfterTokens: 3, compactAfterTokens: 4 },
      { observeAfterTokens: 1, reflectAfterTokens: 3, compactAfterTokens: 5 },
      { observeAfterTokens: 2, reflectAfterTokens: 3, compactAfterTokens: 4 },
      { observeAfterTokens: 2, reflectAfterTokens: 3, compactAfterTokens: 5 },
    ]);
  });

  it("counts runs, what they read and cost, and what stays unobserved", () => {
    const tune = createTune({ grid, model: DEFAULT_MODEL, price: { input: 1, output: 5 } });
    tune.takeSession(talk(40).entries);
    const [often, seldom] = tune.rows();
    expect(often?.runs.observer).toBe(8);
    expect(seldom?.runs.observer).toBe(4);
    expect(often?.sourceTokensRead).toBe(40_000);
    expect(often?.longestUnobserved).toBeLessThan(seldom?.longestUnobserved ?? 0);
    expect(often?.usage.cost).toBeGreaterThan(seldom?.usage.cost ?? Number.POSITIVE_INFINITY);
    expect([often?.best, seldom?.best]).toEqual([true, true]);
  });

  it("is right about which rows nothing beats, whatever counts as cost", () => {
    const many = gridOf([2000, 5000, 9000, 30_000], [10_000, 25_000], [15_000, 30_000, 45_000]);
    for (const price of [undefined, { input: 1, output: 5 }, { input: 1, output: 50 }]) {
      const tune = createTune({ grid: many, model: { ...DEFAULT_MODEL, keepTokens: 5000 }, price });
      tune.takeSession(talk(90).entries);
      const rows = tune.rows();
      const badness = ({ usage, ...row }: TuneRow) => [
        price ? usage.cost : usage.input + 5 * usage.output,
        row.longestUnobserved,
        row.longestUnreflected,
        row.cutUnobserved,
        row.compactions,
      ];
      const isBeaten = (row: TuneRow) =>
        rows.some((other) => {
          const [theirs, ours] = [badness(other), badness(row)];
          const differences = theirs.map((value, i) => value - (ours[i] ?? 0));
          return Math.max(...differences) <= 0 && Math.min(...differences) < 0;
        });
      expect(rows.map(({ best }) => best)).toEqual(rows.map((row) => !isBeaten(row)));
      expect(new Set(rows.map(({ best }) => best)).size).toBe(2);
    }
  });

  it("says of each row what a replay under its settings does", () => {
    const session = talk(90);
    const [thresholds] = gridOf([5000], [12_000], [40_000]);
    if (!thresholds) throw new Error("no row");
    const tune = createTune({ grid: [thresholds], model: DEFAULT_MODEL, price: { input: 1, output: 5 } });
    tune.takeSession(session.entries);
    const [row] = tune.rows();
    const { steps } = replaySession(session, { patch: thresholds });
    const finished = steps.flatMap(({ event }) => (event.type === "run.finished" ? [event] : []));
    const sum = (of: (event: (typeof finished)[number]) => number) =>
      finished.reduce((total, event) => total + of(event), 0);
    const count = (worker: Worker) => finished.filter((event) => event.worker === worker).length;
    const clocks = steps.map(({ state }) => clocksOfSession(state.session));
    expect(row).toMatchObject({
      thresholds,
      runs: { observer: count("observer"), reflector: count("reflector"), dropper: count("dropper") },
      requests: sum(({ requests }) => requests),
      sourceTokensRead: sum(({ sourceTokens }) => sourceTokens),
      usage: { input: sum(({ usage }) => usage.input), output: sum(({ usage }) => usage.output) },
      longestUnobserved: Math.max(...clocks.map(({ observe }) => observe)),
      longestUnreflected: Math.max(...clocks.map(({ reflect }) => reflect)),
      compactions: compactionsOf(steps).length,
      best: true,
    });
    expect(row?.compactions).toBeGreaterThan(1);
    expect(row?.runs.reflector).toBeGreaterThan(1);
    expect(row?.usage.cost).toBeCloseTo(((row?.usage.input ?? 0) + 5 * (row?.usage.output ?? 0)) / 1e6, 9);
  });

  it("takes a recording with all its openings, and the events alone", () => {
    const { lines } = recordedSession(12);
    const again = [...lines, ...onNextDay(lines)];
    const tuned = (given: readonly RecordingLine[]) => {
      const tune = createTune({ grid, model: DEFAULT_MODEL });
      given.forEach(tune.takeLine);
      return tune.rows();
    };
    expect(tuned(lines.filter(({ type }) => type !== "decision"))).toEqual(tuned(lines));
    const [once, twice] = [tuned(lines), tuned(again)];
    expect(once[0]?.runs.observer).toBe(2);
    expect(twice[0]?.runs.observer).toBe(4);
    expect(twice[0]?.requests).toBe(4 * DEFAULT_MODEL.observer.requests);
    expect(twice[1]?.longestUnobserved).toBe(once[1]?.longestUnobserved);
  });

  it("loses a run with the process that it ran in", () => {
    const { lines } = recordedSession(10);
    const tune = createTune({ grid, model: DEFAULT_MODEL });
    for (const line of [...lines, ...onNextDay(lines)]) tune.takeLine(line);
    // Both are due at the very end; only the second has nobody after it.
    expect(tune.rows()[1]?.runs.observer).toBe(1);
  });

  it("leaves out the memory that a session has, which was another schedule's", () => {
    const session = talk(12);
    session.observed(session.tip);
    const tuned = ({ entries }: PlainSession) => {
      const tune = createTune({ grid, model: DEFAULT_MODEL });
      tune.takeSession(entries);
      return tune.rows().map(({ runs, sourceTokensRead, longestUnobserved }) => ({
        ...{ runs, sourceTokensRead, longestUnobserved },
      }));
    };
    expect(tuned(talk(12, session))).toEqual(tuned(talk(24)));
  });

  it("counts what each compaction cut, and nothing twice", () => {
    const never = gridOf([1_000_000], [1_000_000], [40_000]);
    const tune = createTune({ grid: never, patch: { compactionGapMaxTokens: 0 }, model: DEFAULT_MODEL });
    for (const line of remembering(90)) tune.takeLine(line);
    const [row] = tune.rows();
    expect(row?.compactions).toBe(3);
    expect(row?.cutUnobserved).toBe(3 * 20_000);
  });

  it("counts what compactions cut that nobody had observed", () => {
    const never = gridOf([1_000_000], [1_000_000], [40_000]);
    const tune = createTune({ grid: never, patch: { compactionGapMaxTokens: 0 }, model: DEFAULT_MODEL });
    for (const line of remembering(50)) tune.takeLine(line);
    const [row] = tune.rows();
    expect(row).toMatchObject({ compactions: 1, cutUnobserved: 20_000 });
  });

  it("marks rows that come out the same alike", () => {
    const tune = createTune({ grid: gridOf([5001, 6000], [20_000], [81_000]), model: DEFAULT_MODEL });
    // Prompts of ten thousand tokens pass both thresholds at once.
    const session = plainSession();
    for (let n = 0; n < 5; n++) session.wait(60).user(5000).assistant(5000);
    tune.takeSession(session.entries);
    const rows = tune.rows();
    expect(rows.map(({ best }) => best)).toEqual([true, true]);
  });

  it("adds up several files", () => {
    const tune = createTune({ grid, model: DEFAULT_MODEL });
    tune.takeSession(talk(20).entries);
    tune.open();
    tune.takeSession(talk(20).entries);
    expect(tune.rows()[1]?.runs.observer).toBe(4);
  });
});
