import { tokensThrough } from "../../reducers/branch.ts";
import { addUsage, noUsage } from "../../reducers/engine/engine-state.ts";
import type { Usage } from "../../reducers/engine/events.ts";
import type { Worker } from "../../reducers/engine/lane-names.ts";
import type { EntryLike } from "../../reducers/entries/entry.ts";
import { clocksOfSession, type SessionState } from "../../reducers/session.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../reducers/settings.ts";
import type { RecordingLine } from "../recording/recording.ts";
import type { ReplayStep } from "../recording/replay-step.ts";
import { timelineOf } from "./session-timeline.ts";
import { createRecordedTimeline } from "./simulated-recording.ts";
import { createSimulation, type Simulation } from "./simulation.ts";
import type { Price, Workload } from "./workload.ts";

/** The settings that decide how often the lanes work. */
export type Thresholds = Pick<Settings, "observeAfterTokens" | "reflectAfterTokens" | "compactAfterTokens">;

/** A schedule as it may stand in settings, where compaction may also go by a share of the window. */
export type Schedule = Thresholds & Pick<Settings, "compactAfterTokensMode">;

/** What a schedule comes to, over all that was put in. Tokens are source tokens unless said otherwise. */
export interface TuneRow {
  thresholds: Thresholds;
  runs: Record<Worker, number>;
  requests: number;
  /** What the observer read */
  sourceTokensRead: number;
  /** Model tokens and, given a price, USD */
  usage: Usage;
  /** The most that was unobserved at any moment */
  longestUnobserved: number;
  /** The most that no reflection had taken into account at any moment */
  longestUnreflected: number;
  /** Conversation that compactions took out of context before anybody had observed it */
  cutUnobserved: number;
  compactions: number;
  /** No other row is as good in every respect and better in one. */
  best: boolean;
  /** The schedule in use now */
  yours: boolean;
}

export interface TuneOptions {
  grid: readonly Thresholds[];
  /** Other settings in place of the recorded ones */
  patch?: Partial<Settings>;
  /** The schedule in use now. It is the last row, unless the grid has it. */
  yours?: Schedule | undefined;
  model: Workload;
  price?: Price | undefined;
}

/** Runs the same conversation under many schedules at once. All results are modelled, so that the rows compare. */
export interface Tune {
  /** Begins with another file. */
  open(): void;
  /** The next line of a recording */
  takeLine(line: RecordingLine): void;
  /** A plain session's branch, root first */
  takeSession(entries: readonly EntryLike[]): void;
  /** Lets what is under way in the current file end, and gives the rows in the grid's order. */
  rows(): TuneRow[];
}

export function createTune({ grid, patch = {}, yours, model, price }: TuneOptions): Tune {
  const schedules = schedulesOf(grid, yours).map((schedule) => {
    const settings = { ...patch, ...schedule };
    const begin = () =>
      createSimulation({ patch: settings, model, price, answer: () => ({ type: "modelled" }) });
    return { schedule, begin, simulation: begin(), books: newBooks() };
  });
  let timeline = createRecordedTimeline();

  function each(act: (simulation: Simulation) => ReplayStep[]): void {
    for (const { simulation, books } of schedules) for (const step of act(simulation)) note(books, step);
  }

  function finish(): void {
    each((simulation) => simulation.finish());
  }

  return {
    open() {
      finish();
      timeline = createRecordedTimeline();
      for (const schedule of schedules) {
        schedule.simulation = schedule.begin();
        schedule.books.before = undefined;
      }
    },
    takeLine(line) {
      if (line.type === "decision") return;
      if (line.type === "header" || line.type === "keyframe") {
        const keyframe = line.type === "keyframe" ? line : undefined;
        timeline.open(keyframe);
        for (const { simulation } of schedules) simulation.open(keyframe);
        return;
      }
      for (const item of timeline.take(line)) each((simulation) => simulation.take(item));
    },
    takeSession(entries) {
      const session = { sessionId: "", entries, settings: DEFAULT_SETTINGS, ledgerIsResult: true };
      for (const item of timelineOf(session)) each((simulation) => simulation.take(item));
    },
    rows() {
      finish();
      const rows = schedules.map(({ schedule, books }) => ({
        thresholds: thresholdsOf(schedule),
        ...books.sums,
        best: false,
        yours: yours !== undefined && isSame(schedule, yours),
      }));
      return rows.map((row) => ({ ...row, best: !rows.some((other) => isBetter(other, row)) }));
    },
  };
}

/** The grid's schedules, and the one in use if it is none of them. */
function schedulesOf(grid: readonly Thresholds[], yours: Schedule | undefined): Schedule[] {
  const schedules = grid.map((row): Schedule => ({ ...row, compactAfterTokensMode: "calibrated" }));
  const isThere = yours === undefined || schedules.some((schedule) => isSame(schedule, yours));
  return isThere ? schedules : [...schedules, yours];
}

function thresholdsOf({
  observeAfterTokens,
  reflectAfterTokens,
  compactAfterTokens,
}: Thresholds): Thresholds {
  return { observeAfterTokens, reflectAfterTokens, compactAfterTokens };
}

function isSame(one: Schedule, other: Schedule): boolean {
  return (
    one.observeAfterTokens === other.observeAfterTokens &&
    one.reflectAfterTokens === other.reflectAfterTokens &&
    one.compactAfterTokens === other.compactAfterTokens &&
    one.compactAfterTokensMode === other.compactAfterTokensMode
  );
}

/** Every combination, the first list changing slowest. Lists are sorted and freed of repetitions. */
export function gridOf(
  observe: readonly number[],
  reflect: readonly number[],
  compact: readonly number[],
): Thresholds[] {
  const rising = (list: readonly number[]) => [...new Set(list)].sort((a, b) => a - b);
  return rising(observe).flatMap((observeAfterTokens) =>
    rising(reflect).flatMap((reflectAfterTokens) =>
      rising(compact).map((compactAfterTokens) => ({
        observeAfterTokens,
        reflectAfterTokens,
        compactAfterTokens,
      })),
    ),
  );
}

interface Books {
  sums: Omit<TuneRow, "thresholds" | "best" | "yours">;
  /** The session before the step that comes */
  before: SessionState | undefined;
}

function newBooks(): Books {
  return {
    sums: {
      runs: { observer: 0, reflector: 0, dropper: 0 },
      requests: 0,
      sourceTokensRead: 0,
      usage: noUsage(),
      longestUnobserved: 0,
      longestUnreflected: 0,
      cutUnobserved: 0,
      compactions: 0,
    },
    before: undefined,
  };
}

function note(books: Books, { event, state }: ReplayStep): void {
  const { sums, before } = books;
  const { session } = state;
  books.before = session;
  if (event.type === "run.finished") {
    sums.runs[event.worker]++;
    sums.requests += event.requests;
    sums.sourceTokensRead += event.sourceTokens;
    sums.usage = addUsage(sums.usage, event.usage);
  }
  const { observe, reflect } = clocksOfSession(session);
  sums.longestUnobserved = Math.max(sums.longestUnobserved, observe);
  sums.longestUnreflected = Math.max(sums.longestUnreflected, reflect);
  if (event.type !== "branch.extended" || session.ledger.latestCompaction === before?.ledger.latestCompaction)
    return;
  sums.compactions++;
  sums.cutUnobserved += cutUnobserved(session, before);
}

/** What the latest compaction cut that the one before it had left, and that no observation covers. */
function cutUnobserved({ branch, ledger }: SessionState, before: SessionState | undefined): number {
  const cut = ledger.latestCompaction?.cut ?? 0;
  const cutBefore = before?.ledger.latestCompaction?.cut ?? 0;
  const from = Math.max(ledger.watermarks.observe, cutBefore - 1);
  return Math.max(0, tokensThrough(branch, cut - 1) - tokensThrough(branch, from));
}

/** Output tokens cost several times what input does; without a price this stands for one. */
const OUTPUT_WEIGHT = 5;

/** What rows are compared by: USD, or without a price input tokens, output counted five times. */
export function costOf({ usage }: Pick<TuneRow, "usage">): number {
  return usage.cost > 0 ? usage.cost : usage.input + usage.output * OUTPUT_WEIGHT;
}

type Comparable = Omit<TuneRow, "best" | "yours">;

function isBetter(a: Comparable, b: Comparable): boolean {
  const differences = [
    costOf(a) - costOf(b),
    a.longestUnobserved - b.longestUnobserved,
    a.longestUnreflected - b.longestUnreflected,
    a.cutUnobserved - b.cutUnobserved,
    a.compactions - b.compactions,
  ];
  return (
    differences.every((difference) => difference <= 0) && differences.some((difference) => difference < 0)
  );
}
