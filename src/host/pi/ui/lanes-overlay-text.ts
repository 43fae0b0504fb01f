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

const INDENT = 15;

/** How the lanes stand, line by line: state, clock, reason, last result and spend of each, then memory as a whole. */
export function lanesLines({ state, snapshot, models, now }: LanesInput, paint: Paint = PLAIN): string[] {
  const clocks = clocksByLane(state);
  const lines: string[] = [];
  const detail = (name: string, text: string, tone: Tone = "muted") =>
    lines.push(`${" ".repeat(INDENT)}${paint("dim", name.padEnd(6))}${paint(tone, text)}`);

  for (const lane of LANES) {
    const name = snapshot.states[lane];
    const { clock, threshold } = clocks[lane];
    const since = snapshot.since[lane];
    const bar = paint(clock >= threshold ? "warning" : "muted", gauge(clock, threshold, 10));
    lines.push(
      `${paint("text", LANE_LABELS[lane].padEnd(INDENT))}${paint(toneOf(name), name.padEnd(20))}${bar} ${paint("muted", `${grouped(clock)} of ${grouped(threshold)}`)}`,
    );
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
    lines.push("");
  }
  return [...lines, ...memoryLines(state, models, paint)];
}

function memoryLines(state: EngineState, models: readonly string[], paint: Paint): string[] {
  const { counts, activeTokens } = state.session.ledger;
  const [spent, ...parts] = spendRows(state.session.ledger.spend);
  const perWorker = WORKERS.filter((worker) => state.workers[worker].runs > 0)
    .map((worker) => `${worker} ${countOf(state.workers[worker].runs, "run")}`)
    .join(", ");
  const row = (name: string, text: string) => `${paint("text", name.padEnd(INDENT))}${paint("muted", text)}`;
  return [
    row(
      "memory",
      `${countOf(counts.active, "active observation")}, ${countOf(counts.reflections, "reflection")}, ${grouped(counts.dropped)} dropped; pool ${grouped(activeTokens)}, target ${grouped(poolTarget(state.settings))}`,
    ),
    row("spend", spent?.value ?? ""),
    ...parts.map(({ name, value }) => row("", `${name} ${value}`)),
    ...budgetRows(budgetUses(state)).map(({ name, value }) => row(name, value)),
    row("runs", perWorker === "" ? "none since this session was opened" : perWorker),
    ...models.map((model, index) => row(index === 0 ? "model" : "", model)),
  ];
}

function toneOf(state: string): Tone {
  if (isUnderWay(state)) return "accent";
  if (["due", "coolingDown", "overBudget"].includes(state)) return "warning";
  if (state === "backingOff") return "error";
  return state === "passive" ? "dim" : "success";
}
