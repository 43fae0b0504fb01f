import { clocksByLane } from "../../../machines/lanes/inputs.ts";
import { isUnderWay, type LanesSnapshot } from "../../../machines/lanes/lanes.ts";
import { whyLane } from "../../../machines/recording/explain.ts";
import { budgetUses } from "../../../reducers/engine/budget.ts";
import type { EngineState } from "../../../reducers/engine/engine-state.ts";
import { LANES, laneOf, WORKERS } from "../../../reducers/engine/lane-names.ts";
import { poolTarget } from "../../../reducers/settings.ts";
import { budgetRows, spendRows } from "../../../reducers/spend-words.ts";
import {
  countOf,
  duration,
  grouped,
  LANE_LABELS,
  resultWords,
  spendWords,
  stateLabel,
  timeOfDay,
} from "../../../reducers/words.ts";
import { gauge, type Paint, PLAIN, type Tone } from "./footer.ts";

interface LanesInput {
  state: EngineState;
  snapshot: LanesSnapshot;
  /** Which model each worker uses and why, see `modelLines` */
  models: readonly string[];
  /** Milliseconds since the epoch */
  now: number;
}

/** A paragraph of the overlay: its label stands at the left, its text wraps from `indent` on. */
export interface LanesRow {
  indent: number;
  label: string;
  text: string;
}

const INDENT = 15;
const DETAIL = 6;
const STATE_WIDTH = 20;

/** What a row of label, state, bar and clock takes on one line */
const WIDE = 66;

/**
 * How the lanes stand, row by row: state, clock, reason, last result and spend of each, then memory as a whole. Where there
 * are fewer than 66 columns, labels stand above their texts. An empty row has neither.
 */
export function lanesRows(
  { state, snapshot, models, now }: LanesInput,
  paint: Paint = PLAIN,
  columns = Number.POSITIVE_INFINITY,
): LanesRow[] {
  const isWide = columns >= WIDE;
  const clocks = clocksByLane(state);
  const rows: LanesRow[] = [];
  const start = isWide ? INDENT : 2;
  const detail = (name: string, text: string, tone: Tone = "muted") =>
    rows.push({
      indent: start + DETAIL,
      label: `${" ".repeat(start)}${paint("dim", name)}`,
      text: paint(tone, text),
    });

  for (const lane of LANES) {
    const name = snapshot.states[lane];
    const { clock, threshold } = clocks[lane];
    const since = snapshot.since[lane];
    const bar = paint(clock >= threshold ? "warning" : "muted", gauge(clock, threshold, 10));
    const label = paint("text", LANE_LABELS[lane]);
    const doing = (width: number) => paint(toneOf(name), stateLabel(name).padEnd(width));
    const counts = `${bar} ${paint("muted", `${grouped(clock)} of ${grouped(threshold)}`)}`;
    if (isWide) rows.push({ indent: INDENT, label, text: `${doing(STATE_WIDTH)}${counts}` });
    else rows.push({ indent: INDENT, label, text: doing(0) }, { indent: start, label: "", text: counts });
    const length =
      since && name.startsWith("running")
        ? `, ${duration(Math.max(0, now - Date.parse(since.at)))} so far`
        : "";
    detail("why", `${whyLane(lane, { state, snapshot, at: now })}${length}`);
    const workers = WORKERS.filter((worker) => laneOf(worker) === lane);
    for (const worker of workers) {
      const { last } = state.workers[worker];
      if (!last) continue;
      const tone = last.outcome === "failed" ? "error" : "muted";
      const who = workers.length > 1 ? `${worker} ` : "";
      detail("last", `${who}${resultWords(last)} at ${timeOfDay(last.at)} (${spendWords(last)})`, tone);
    }
    if (lane === "compaction") {
      detail("last", `${countOf(state.session.ledger.compactions, "compaction")} on this branch`);
      const failure = state.compactionFailure;
      if (failure) detail("", `failed at ${timeOfDay(failure.at)}: ${failure.message}`, "error");
    }
    rows.push({ indent: 0, label: "", text: "" });
  }
  for (const [name, text] of memoryTexts(state, models)) {
    const label = paint("text", name);
    if (!isWide && name !== "") rows.push({ indent: 0, label: "", text: label });
    rows.push({ indent: start, label: isWide ? label : "", text: paint("muted", text) });
  }
  return rows;
}

/** The rows in lines, each as `wrap` breaks a text into a width; continued lines begin under their text. */
export function linesOf(
  rows: readonly LanesRow[],
  columns: number,
  { wrap, widthOf }: { wrap: (text: string, width: number) => string[]; widthOf: (text: string) => number },
): string[] {
  return rows.flatMap(({ indent, label, text }) => {
    if (label === "" && text === "") return [""];
    const head = `${label}${" ".repeat(Math.max(0, indent - widthOf(label)))}`;
    const lines = wrap(text, Math.max(1, columns - indent));
    return lines.map((line, at) => `${at === 0 ? head : " ".repeat(indent)}${line}`);
  });
}

/** The same without colours, for those who have no terminal to wrap it in. */
export function lanesText(input: LanesInput): string {
  const asIs = { wrap: (text: string) => [text], widthOf: (text: string) => text.length };
  return linesOf(lanesRows(input), Number.POSITIVE_INFINITY, asIs).join("\n");
}

function memoryTexts(state: EngineState, models: readonly string[]): [name: string, text: string][] {
  const { counts, activeTokens } = state.session.ledger;
  const [spent, ...parts] = spendRows(state.session.ledger.spend);
  const perWorker = WORKERS.filter((worker) => state.workers[worker].runs > 0)
    .map((worker) => `${worker} ${countOf(state.workers[worker].runs, "run")}`)
    .join(", ");
  return [
    [
      "memory",
      `${countOf(counts.active, "active observation")}, ${countOf(counts.reflections, "reflection")}, ${grouped(counts.dropped)} dropped; pool ${grouped(activeTokens)}, target ${grouped(poolTarget(state.settings))}`,
    ],
    ["spend", spent?.value ?? ""],
    ...parts.map(({ name, value }): [string, string] => ["", `${name} ${value}`]),
    ...budgetRows(budgetUses(state)).map(({ name, value }): [string, string] => [name, value]),
    ["runs", perWorker === "" ? "none since this session was opened" : perWorker],
    ...models.map((model, index): [string, string] => [index === 0 ? "model" : "", model]),
  ];
}

function toneOf(state: string): Tone {
  if (isUnderWay(state)) return "accent";
  if (state === "due" || state === "overBudget") return "warning";
  if (state === "backingOff") return "error";
  if (state === "coolingDown") return "muted";
  return state === "passive" ? "dim" : "success";
}
