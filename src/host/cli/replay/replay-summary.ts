import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import type { Decided, Difference, Verification } from "../../../machines/recording/verify.ts";
import type { AnswerCounts } from "../../../machines/what-if/simulation.ts";
import type { Workload } from "../../../machines/what-if/workload.ts";
import type { EngineEventOf } from "../../../reducers/engine/events.ts";
import { type LaneName, WORKERS, type Worker } from "../../../reducers/engine/lane-names.ts";
import type { BreakOff } from "../../../reducers/entries/session-file.ts";
import { decisionWords, eventWords } from "../../inspector/history/event-words.ts";
import type { Io } from "../io.ts";
import { count, grouped, listed } from "../words.ts";
import type { SummaryLine } from "./replay-json.ts";
import type { RunReport } from "./replay-run.ts";
import type { Reading } from "./replay-source.ts";

/** What happened, counted as the steps go by. */
export interface Tally {
  runs: Record<Worker, Partial<Record<EngineEventOf<"run.finished">["outcome"], number>>>;
  compactions: number;
  /** USD */
  cost: number;
  shown: number;
}

export function newTally(): Tally {
  return { runs: { observer: {}, reflector: {}, dropper: {} }, compactions: 0, cost: 0, shown: 0 };
}

export function tallyStep(tally: Tally, { event }: ReplayStep): void {
  if (event.type === "compaction.finished") tally.compactions++;
  if (event.type !== "run.finished") return;
  const runs = tally.runs[event.worker];
  runs[event.outcome] = (runs[event.outcome] ?? 0) + 1;
  tally.cost += event.usage.cost;
}

export function isVerified({ difference, unverified }: Verification): boolean {
  return difference === undefined && unverified === 0;
}

export function summaryLine(tally: Tally, report: RunReport, verify: boolean): SummaryLine {
  const { reading, verification, answers } = report;
  return {
    type: "summary",
    events: report.events,
    shown: tally.shown,
    runs: tally.runs,
    compactions: tally.compactions,
    cost: tally.cost,
    badLines: reading.bad,
    firstBadLines: reading.badLines,
    truncatedLastLine: reading.truncated,
    ...(reading.breakOff && { breakOff: reading.breakOff }),
    missingEvents: report.missingEvents,
    ...(answers && { answers }),
    ...(verify &&
      verification && {
        verification: {
          ok: isVerified(verification),
          compared: verification.compared,
          decisions: verification.decisions,
          unverified: verification.unverified,
        },
      }),
  };
}

/** The lines under a replay's table. */
export function summaryText(tally: Tally, report: RunReport): string[] {
  const runs = WORKERS.map((worker) => runWords(worker, tally.runs[worker]));
  const cost = tally.cost > 0 ? `; $${tally.cost.toFixed(4)}` : "";
  const lines = [
    `${count(report.events, "event")}, ${grouped(tally.shown)} shown: ${listed(runs)}; ${count(tally.compactions, "compaction")}${cost}.`,
  ];
  if (report.missingEvents > 0) {
    lines.push(
      `${count(report.missingEvents, "event")} are missing from the recording: what follows them may be off.`,
    );
  }
  if (report.reading.truncated)
    lines.push("The last line breaks off, as in a file that is still being written.");
  if (report.answers) lines.push(...answerWords(report.answers, report.model));
  return lines;
}

function runWords(worker: Worker, outcomes: Tally["runs"][Worker]): string {
  const all = Object.values(outcomes).reduce((sum, n) => sum + n, 0);
  const unusual = Object.entries(outcomes).filter(([outcome]) => outcome !== "recorded");
  const how = unusual.map(([outcome, n]) => `${grouped(n)} ${outcome}`).join(", ");
  return `${count(all, `${worker} run`)}${how === "" ? "" : ` (${how})`}`;
}

/** Says what of a replay is modelled, and on what. */
export function answerWords(answers: AnswerCounts, model: Workload | undefined): string[] {
  const many = (type: "modelled" | "noTrace") =>
    [...WORKERS, "compaction" as const]
      .filter((who) => answers[who][type] > 0)
      .map((who) => count(answers[who][type], who === "compaction" ? who : `${who} run`));
  const modelled = many("modelled");
  const lost = many("noTrace");
  const lines: string[] = [];
  if (modelled.length > 0) {
    lines.push(`~ is modelled: nothing was recorded for ${listed(modelled)}. ${modelWords(answers, model)}`);
  }
  if (lost.length > 0) {
    lines.push(
      `The file holds no trace of ${listed(lost)} that these settings ask for: runs are taken to have found nothing.`,
    );
  }
  return lines;
}

function modelWords(answers: AnswerCounts, model: Workload | undefined): string {
  const modelled = WORKERS.filter((worker) => answers[worker].modelled > 0);
  const measured = modelled.filter((worker) => (model?.[worker].measuredRuns ?? 0) > 0);
  const assumed = modelled.filter((worker) => !measured.includes(worker));
  const parts: string[] = [];
  if (measured.length > 0) {
    const on = measured.map((worker) => count(model?.[worker].measuredRuns ?? 0, `recorded ${worker} run`));
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

/** What of a file could not be read: lines, and for a session what lies before the place where its branch breaks off. */
export function readingWords(file: string, { bad, badLines, breakOff }: Reading): string[] {
  const words: string[] = [];
  if (bad > 0) {
    const named = badLines.slice(0, NAMED).map(({ line, why }) => `line ${line} (${why})`);
    const more = bad - named.length;
    const all = more > 0 ? [...named, `${grouped(more)} more`] : named;
    words.push(`${file}: ${count(bad, "line")} could not be read: ${listed(all)}`);
  }
  if (breakOff) words.push(`${file}, ${breakOffWords(breakOff)}`);
  return words;
}

const NAMED = 5;

/** Where a branch breaks off, how much lies before, and how to see it: `line 7: the branch breaks off at entry …`. */
export function breakOffWords({ line, entryId, parentId, entriesBefore, leaf }: BreakOff): string {
  const what =
    entryId === undefined
      ? "the last entry has no id, so that Pi opens the session at no entry"
      : `the branch breaks off at entry ${entryId}: its parent ${parentId} cannot be read`;
  const before =
    leaf === undefined
      ? "nothing before it can be read"
      : `${count(entriesBefore, "entry lies", "entries lie")} before it; --leaf ${leaf} shows them`;
  return `line ${line}: ${what}; ${before}`;
}

export function verdictText(io: Io, verification: Verification): string[] {
  const { compared, decisions, unverified, difference } = verification;
  if (difference) return differenceText(io, difference);
  const compareds = `${count(compared, "event")} with ${count(decisions, "decision")}`;
  if (unverified > 0) {
    return [
      `${io.paint("red", "Not verified")}: ${compareds} came out as recorded, but ${count(unverified, "event")} could not be compared, since lines are missing or cannot be read.`,
    ];
  }
  return [`${io.paint("green", "Verified")}: ${compareds}, all as recorded.`];
}

function differenceText(io: Io, { number, event, expected, actual, lastEvents }: Difference): string[] {
  const sameWords = decidedWords(expected) === decidedWords(actual);
  const shown = (decided: Decided) => (sameWords ? JSON.stringify(decided) : decidedWords(decided));
  return [
    `${io.paint("red", "Difference")} at event ${number}, ${event.type}:`,
    `  expected  ${shown(expected)}`,
    `  actual    ${shown(actual)}`,
    "  last events",
    ...lastEvents.map((last) =>
      `  ${String(last.number).padStart(7)}  ${last.event.at}  ${last.event.type} ${eventWords(last.event)}`.trimEnd(),
    ),
  ];
}

function decidedWords(decided: Decided): string {
  return decisionWords(decided) || "nothing";
}

/** Whether an event moved a lane of these, or made one ask for something. */
export function changedAnything({ transitions, commands }: ReplayStep, lanes: readonly LaneName[]): boolean {
  if (transitions.length === 0 && commands.length === 0) return false;
  return lanes.length > 1 || transitions.some(({ lane }) => lanes.includes(lane));
}
