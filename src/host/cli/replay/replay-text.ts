import { laneInputs } from "../../../machines/lanes/inputs.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import type { Decided, Difference, Verification } from "../../../machines/recording/verify.ts";
import type { AnswerCounts } from "../../../machines/what-if/simulation.ts";
import type { Workload } from "../../../machines/what-if/workload.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import { type LaneName, WORKERS, type Worker } from "../../../reducers/engine/lane-names.ts";
import {
  clipped,
  compact,
  countOf,
  dateOf,
  dollars,
  EVENT_LABELS,
  grouped,
  LANE_LABELS,
  listed,
  stateLabel,
  stateWords,
  timeOfDay,
} from "../../../reducers/words.ts";
import { eventWords, plainDecision } from "../../inspector/history/event-words.ts";
import type { Io } from "../io.ts";
import { isVerified } from "./replay-json.ts";
import type { RunReport, Tally } from "./replay-run.ts";

const NUMBER_WIDTH = 7;
const TIME_WIDTH = 8;
const EVENT_WIDTH = 48;
const NARROWEST_EVENT = 24;
const GAP = "  ";
/** The longest state with a clock of five digits against its threshold */
const LANE_WIDTHS: Readonly<Record<LaneName, number>> = { observer: 27, reflectDrop: 27, compaction: 27 };
/** What the short way of writing numbers saves of it */
const SAVED = 2;
/** Where lanes stand below their event: the narrowest terminal that holds three of them has 80 columns. */
const FOLDED_INDENT = 6;
const FOLDED_LANE = 24;

/** Prints steps as the rows of a table, with the day above them whenever it changes. */
export interface StepTable {
  row(step: ReplayStep): void;
  /** Says what those of its states mean whose names are no words; a line, or none. */
  legend(): string[];
}

export function createStepTable(io: Io, lanes: readonly LaneName[]): StepTable {
  const columns = io.columns ?? Number.POSITIVE_INFINITY;
  const { isShort, isFolded, eventWidth, laneWidth } = layoutOf(columns, lanes);
  const number = isShort ? compact : grouped;
  const row = (nth: string, time: string, words: string, cells: readonly string[]) => {
    const event = [nth.padStart(NUMBER_WIDTH), time.padEnd(TIME_WIDTH), words.padEnd(eventWidth)];
    if (!isFolded) return [[...event, ...cells].join(GAP).trimEnd()];
    const below = `${" ".repeat(FOLDED_INDENT)}${cells.join(" ")}`.trimEnd();
    return [event.join(GAP).trimEnd(), ...(cells.length > 0 ? [below] : [])];
  };
  const meanings = new Map<string, string>();
  let day = "";

  function printStep({
    event,
    number: nth,
    modelled,
    state,
    snapshot: { states },
    transitions,
  }: ReplayStep): void {
    const at = Date.parse(event.at);
    const itsDay = dateOf(at);
    if (day === "") {
      const titles = lanes.map((lane) => ` ${LANE_LABELS[lane]}`.padEnd(laneWidth(lane)));
      for (const line of row("#", "time", "event", titles)) io.line(io.paint("underline", line));
    }
    if (itsDay !== day) io.line(io.paint("dim", row("", itsDay, "", [])[0] ?? ""));
    day = itsDay;
    const inputs = laneInputs(state, states, at);
    const cells = lanes.map((lane) => {
      const { clock, threshold } = inputs[lane];
      const moved = transitions.some((transition) => transition.lane === lane);
      const name = stateLabel(states[lane]);
      const text = `${moved ? ">" : " "}${name} ${number(clock)}/${number(threshold).replace(/\.0k$/, "k")}`;
      if (/[A-Z]/.test(states[lane])) meanings.set(stateWords(lane, states[lane]), name);
      const padded = text.padEnd(laneWidth(lane));
      return moved ? io.paint(["bold", colourOf(states[lane])], padded) : padded;
    });
    const words = clipped(
      `${modelled ? "~" : ""}${EVENT_LABELS[event.type]} ${eventWords(event)}`.trim(),
      eventWidth,
    );
    for (const line of row(grouped(nth), timeOfDay(at), words, cells)) io.line(line);
  }

  return {
    row: printStep,
    legend() {
      const all = [...meanings].map(([words, state]) => `${state}: ${words}`);
      return all.length === 0 ? [] : [`${all.join("; ")}.`];
    },
  };
}

/** How the table uses so many columns: at first numbers are short, then events, and then lanes stand below their event. */
function layoutOf(columns: number, lanes: readonly LaneName[]) {
  const before = NUMBER_WIDTH + TIME_WIDTH + 2 * GAP.length;
  const widthOf = (event: number, saved: number) =>
    lanes.reduce((sum, lane) => sum + GAP.length + LANE_WIDTHS[lane] - saved, before + event);
  const isShort = columns < widthOf(EVENT_WIDTH, 0);
  const isFolded = columns < widthOf(NARROWEST_EVENT, SAVED);
  const missing = isShort ? Math.max(0, widthOf(EVENT_WIDTH, SAVED) - columns) : 0;
  return {
    isShort,
    isFolded,
    eventWidth: isFolded ? Math.max(NARROWEST_EVENT, columns - before) : EVENT_WIDTH - missing,
    laneWidth: (lane: LaneName) => (isFolded ? FOLDED_LANE : LANE_WIDTHS[lane] - (isShort ? SAVED : 0)),
  };
}

const STATE_COLOURS = {
  passive: "gray",
  idle: "green",
  due: "yellow",
  running: "cyan",
  requested: "cyan",
  compacting: "cyan",
  overBudget: "magenta",
  coolingDown: "blue",
  backingOff: "red",
} as const;

function colourOf(state: string) {
  const [outer = ""] = state.split(".");
  return outer in STATE_COLOURS ? STATE_COLOURS[outer as keyof typeof STATE_COLOURS] : "reset";
}

/** An event on a line of its own. */
export function eventLine(number: number, event: EngineEvent): string {
  return `${number}  ${event.at}  ${EVENT_LABELS[event.type]} ${eventWords(event)}`.trimEnd();
}

/** The lines under a replay's table. */
export function summaryText(report: RunReport, shown: number): string[] {
  const { events, compactions, cost, missingEvents, reading } = report;
  const runs = listed(WORKERS.map((worker) => runWords(worker, report.runs[worker])));
  const money = cost > 0 ? `; ${dollars(cost)}` : "";
  const lines = [
    `${countOf(events, "event")}, ${grouped(shown)} shown: ${runs}; ${countOf(compactions, "compaction")}${money}.`,
  ];
  if (missingEvents > 0) {
    const many = countOf(missingEvents, "event is", "events are");
    lines.push(`${many} missing from the recording: what follows may be off.`);
  }
  if (reading.truncatedLastLine)
    lines.push("The last line breaks off, as in a file that is still being written.");
  return [...lines, ...answerWords(report)];
}

function runWords(worker: Worker, outcomes: Tally["runs"][Worker]): string {
  const all = Object.values(outcomes).reduce((sum, n) => sum + n, 0);
  const unusual = Object.entries(outcomes).filter(([outcome]) => outcome !== "recorded");
  const how = unusual.map(([outcome, n]) => `${grouped(n)} ${outcome}`).join(", ");
  return `${countOf(all, `${worker} run`)}${how === "" ? "" : ` (${how})`}`;
}

/** Says what of a replay is modelled, and on what. */
export function answerWords({
  answers,
  model,
  unexplained = 0,
}: Pick<RunReport, "answers" | "model" | "unexplained">): string[] {
  if (!answers) return [];
  const named = (type: "modelled" | "noTrace") =>
    listed(
      [...WORKERS, "compaction" as const]
        .filter((who) => answers[who][type] > 0)
        .map((who) => countOf(answers[who][type], who === "compaction" ? who : `${who} run`)),
    );
  const modelled = named("modelled");
  const lost = named("noTrace");
  const lines: string[] = [];
  if (modelled !== "")
    lines.push(`~ is modelled: nothing was recorded for ${modelled}. ${modelWords(answers, model)}`);
  if (lost !== "") {
    lines.push(
      `The file holds no trace of ${lost} that these settings ask for: runs are taken to have found nothing.`,
    );
  }
  if (unexplained > 0) {
    lines.push(
      `${countOf(unexplained, "run")} of the file came when nothing was due under these settings: by hand, or under others. Each is shown as asked for.`,
    );
  }
  return lines;
}

function modelWords(answers: AnswerCounts, model: Workload | undefined): string {
  const runsOf = (worker: Worker) => model?.[worker].measuredRuns ?? 0;
  const modelled = WORKERS.filter((worker) => answers[worker].modelled > 0);
  const measured = modelled.filter((worker) => runsOf(worker) > 0);
  const assumed = modelled.filter((worker) => runsOf(worker) === 0);
  const parts: string[] = [];
  if (measured.length > 0) {
    const on = measured.map((worker) => countOf(runsOf(worker), `recorded ${worker} run`));
    parts.push(`The model goes by the mean of ${listed(on)}.`);
  }
  if (assumed.length > 0) parts.push(`For the ${listed(assumed)} it goes by experience, not by this file.`);
  if (answers.compaction.modelled > 0) {
    const kept = model?.keepIsMeasured
      ? `${grouped(model.keepTokens)} tokens, as recorded`
      : "20,000 tokens, Pi's default";
    parts.push(`Compactions keep ${kept}.`);
  }
  return parts.join(" ");
}

/** What `--verify` says. */
export function verdictText(io: Io, verification: Verification): string[] {
  const { compared, decisions, unverified, difference } = verification;
  if (difference) return differenceText(io, difference);
  const all = `${countOf(compared, "event")} with ${countOf(decisions, "decision")}`;
  if (isVerified(verification)) return [`${io.paint("green", "Verified")}: ${all}, all as recorded.`];
  return [
    `${io.paint("red", "Not verified")}: ${all} came out as recorded, but ${countOf(unverified, "event")} could not be compared, since lines are missing or cannot be read.`,
  ];
}

function differenceText(io: Io, { number, event, expected, actual, lastEvents }: Difference): string[] {
  const wordsOf = (decided: Decided) => plainDecision(decided) || "nothing";
  const shown = wordsOf(expected) === wordsOf(actual) ? JSON.stringify : wordsOf;
  return [
    `${io.paint("red", "Difference")} at event ${number}, ${EVENT_LABELS[event.type]}:`,
    `  expected  ${shown(expected)}`,
    `  actual    ${shown(actual)}`,
    "  last events",
    ...lastEvents.map((last) => `  ${eventLine(last.number, last.event)}`),
  ];
}
