import { clocksByLane, type LaneStates } from "../../../machines/lanes/inputs.ts";
import type { LanesSnapshot } from "../../../machines/lanes/lanes.ts";
import { NOTHING_TO_FOLD } from "../../../machines/recording/explain.ts";
import { idAt } from "../../../reducers/branch.ts";
import { budgetUses } from "../../../reducers/engine/budget.ts";
import type { EngineState } from "../../../reducers/engine/engine-state.ts";
import { LANES, type LaneName, laneOf, WORKERS } from "../../../reducers/engine/lane-names.ts";
import { backlogOf } from "../../../reducers/engine/observer-chunk.ts";
import { whyPassive } from "../../../reducers/engine/session-host.ts";
import { type EntryLookup, fieldsOf, textOf } from "../../../reducers/entries/entry.ts";
import { IGNORED_REASONS } from "../../../reducers/entries/entry-fact.ts";
import type { Ledger } from "../../../reducers/ledger/ledger.ts";
import { pinnedCount } from "../../../reducers/ledger/pool.ts";
import { diffProjections, isVisibleMemoryStale } from "../../../reducers/ledger/projections.ts";
import { instructionsIn, leftOutIn } from "../../../reducers/ledger/summary.ts";
import { clocksOfSession, hasMemory, type SessionState } from "../../../reducers/session.ts";
import { poolTarget } from "../../../reducers/settings.ts";
import { budgetRows, spendRows } from "../../../reducers/spend-words.ts";
import {
  backlogWords,
  CLOCK_LABELS,
  countOf,
  grouped,
  LANE_LABELS,
  REPLACED_ADVICE,
  replacedWords,
  stateLabel,
  stateWords,
  timeOfDay,
} from "../../../reducers/words.ts";
import type { SettingsProblem } from "../../settings/settings.ts";
import { memoryIn } from "./memory-view.ts";

interface StatusInput {
  state: EngineState;
  snapshot: LanesSnapshot;
  lookup: EntryLookup;
  problems: readonly SettingsProblem[];
  /** Which model each worker uses and why, see `modelLines` */
  models: readonly string[];
}

/** What `/om:status` says, in plain text. The clocks are the very numbers that the lanes decide by. */
export function statusReport({ state, snapshot, lookup, problems, models }: StatusInput): string {
  return [
    memorySection(state, lookup),
    clockSection(state),
    laneSection(state, snapshot.states, models),
    problemSection(state, snapshot, problems),
  ]
    .filter((section) => section !== "")
    .join("\n\n");
}

function memorySection({ session, settings }: EngineState, lookup: EntryLookup): string {
  const { ledger } = session;
  const { counts } = ledger;
  const visible = memoryIn(session, lookup, "visible");
  const drift = diffProjections(visible, memoryIn(session, lookup, "full"));
  const lines = [
    "Memory",
    `  full      ${countOf(counts.active, "active observation")} (${countOf(counts.dropped, "dropped", "dropped")}), ${countOf(counts.reflections, "reflection")}`,
    `  visible   ${countOf(visible.observations.length, "observation")}, ${countOf(visible.reflections.length, "reflection")}`,
    `  drift     observations +${drift.observationsToAppear.length} −${drift.observationsToLeave.length}, reflections +${drift.reflectionsToAppear.length} −${drift.reflectionsToLeave.length}`,
    `  pool      ${grouped(ledger.activeTokens)} active; target ${grouped(poolTarget(settings))}, full fold at ${grouped(settings.observationsPoolMaxTokens)}`,
    `  folds     ${countOf(ledger.compactions, "compaction")} on this branch`,
  ];
  const byHand = handWords(ledger);
  if (byHand !== "") lines.push(`  by hand   ${byHand}`);
  const summary = latestSummary(session, lookup);
  const leftOut = leftOutIn(summary);
  if (leftOut > 0) lines.push(`  left out  ${countOf(leftOut, "line")} of the last fold, for want of room`);
  const asked = instructionsIn(summary);
  if (asked !== undefined) lines.push(`  asked     of the last fold: ${asked}`);
  if (isVisibleMemoryStale(ledger)) {
    lines.push(
      "  note      the latest compaction was not ours: the agent sees that summary, not the visible memory above",
    );
  }
  return lines.join("\n");
}

/** What the user has said of single lines; `""` for nothing. */
function handWords(ledger: Ledger): string {
  const { forgotten, promoted } = ledger.hand;
  const counts = [
    [pinnedCount(ledger), "pinned"],
    [forgotten.size, "forgotten"],
    [promoted.size, "moved into AGENTS.md"],
  ] as const;
  return counts
    .filter(([count]) => count > 0)
    .map(([count, done]) => `${grouped(count)} ${done}`)
    .join(", ");
}

/** What the latest compaction of ours put before the agent, from the session itself; `""` where there is none. */
function latestSummary({ branch, ledger }: SessionState, lookup: EntryLookup): string {
  const id = ledger.latestFolded ? idAt(branch, ledger.latestFolded.entry) : undefined;
  return textOf(fieldsOf(id === undefined ? undefined : lookup(id)).summary);
}

function clockSection(state: EngineState): string {
  const clocks = clocksOfSession(state.session);
  const byLane = clocksByLane(state);
  return [
    "Clocks (source tokens)",
    ...LANES.map((lane) => {
      const { clock, threshold } = byLane[lane];
      return `  ${CLOCK_LABELS[lane].padEnd(9)} ${grouped(clock)} of ${grouped(threshold)}`;
    }),
    `  drop      ${grouped(clocks.drop)} since the last drop (the dropper follows the reflector)`,
    `  since     ${grouped(clocks.sinceCompaction)} since the last compaction`,
  ].join("\n");
}

function laneSection(state: EngineState, lanes: LaneStates, models: readonly string[]): string {
  const passive = whyPassive(state, "observer");
  const runs = WORKERS.map((worker) => countOf(state.workers[worker].runs, `${worker} run`)).join(", ");
  return [
    passive ? `Lanes (${passive}; no proactive work)` : "Lanes",
    ...LANES.map(
      (lane) =>
        `  ${LANE_LABELS[lane].padEnd(12)}  ${stateLabel(lanes[lane])} (${laneWords(state, lane, lanes)})`,
    ),
    ...models.map((model, index) => `  ${(index === 0 ? "model" : "").padEnd(13)} ${model}`),
    `  so far        ${runs} since this session was opened`,
    ...spendRows(state.session.ledger.spend).map(
      ({ name, value }, index) => `  ${(index === 0 ? "cost so far" : `  ${name}`).padEnd(13)} ${value}`,
    ),
    ...budgetRows(budgetUses(state)).map(({ name, value }) => `  ${name.padEnd(13)} ${value}`),
  ].join("\n");
}

function laneWords(state: EngineState, lane: LaneName, lanes: LaneStates): string {
  const { clock, threshold } = clocksByLane(state).compaction;
  const isForWantOfMemory = lane === "compaction" && clock >= threshold && !hasMemory(state.session);
  return isForWantOfMemory ? NOTHING_TO_FOLD : stateWords(lane, lanes[lane]);
}

/** What is wrong now. A failure is no longer once its lane has had success; folds that were not used, once one is. */
function problemSection(
  state: EngineState,
  { contexts }: LanesSnapshot,
  problems: readonly SettingsProblem[],
): string {
  const lines: string[] = [];
  for (const worker of WORKERS) {
    const { failure } = state.workers[worker];
    if (failure && contexts[laneOf(worker)].failures > 0)
      lines.push(`  ${worker} failed at ${timeOfDay(failure.at)}: ${failure.message} (${failure.kind})`);
  }
  if (state.compactionFailure && contexts.compaction.failures > 0) {
    lines.push(
      `  compaction failed at ${timeOfDay(state.compactionFailure.at)}: ${state.compactionFailure.message}`,
    );
  }
  const backlog = backlogOf(state);
  if (backlog > 0) lines.push(`  ${backlogWords(backlog)}`);
  if (state.replacedFolds && !state.session.ledger.latestCompaction?.folded) {
    const { count, at, by } = state.replacedFolds;
    lines.push(
      `  ${countOf(count, "fold")} not used, the last at ${timeOfDay(at)}: ${replacedWords(by)}. ${REPLACED_ADVICE}`,
    );
  }
  const { ignored, ignoredEntries } = state.session.ledger;
  const counted = IGNORED_REASONS.filter((reason) => ignored[reason] > 0);
  if (counted.length > 0) {
    const where = ignoredEntries.map(({ id, reason }) => `${id} (${reason})`).join(", ");
    lines.push(
      `  ignored in the ledger: ${counted.map((reason) => `${ignored[reason]} ${reason}`).join(", ")}; last: ${where}`,
    );
  }
  for (const problem of problems)
    lines.push(`  setting ${problem.key} in ${problem.file}: ${problem.message}`);
  return lines.length === 0 ? "" : ["Problems", ...lines].join("\n");
}
