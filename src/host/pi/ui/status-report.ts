import { type EngineState, totalSpend } from "../../../reducers/engine/engine-state.ts";
import { type LaneName, WORKERS } from "../../../reducers/engine/lane-names.ts";
import { whyPassive } from "../../../reducers/engine/session-host.ts";
import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import { IGNORED_REASONS } from "../../../reducers/entries/entry-fact.ts";
import {
  diffProjections,
  isVisibleMemoryStale,
  resolveSelection,
  selectFull,
  visibleMemory,
} from "../../../reducers/ledger/projections.ts";
import { clocksOfSession } from "../../../reducers/session.ts";
import { compactionThreshold, poolTarget } from "../../../reducers/settings.ts";
import type { SettingsProblem } from "../../settings/settings.ts";

export interface StatusInput {
  state: EngineState;
  lanes: Readonly<Record<LaneName, string>>;
  lookup: EntryLookup;
  problems: readonly SettingsProblem[];
  /** `provider/id` of the workers' model, or why there is none */
  workerModel: string;
}

/** What `/om:status` says, in plain text. The clocks are the very numbers that the lanes decide by. */
export function statusReport({ state, lanes, lookup, problems, workerModel }: StatusInput): string {
  return [
    memorySection(state, lookup),
    clockSection(state),
    laneSection(state, lanes, workerModel),
    problemSection(state, problems),
  ]
    .filter((section) => section !== "")
    .join("\n\n");
}

function memorySection({ session, settings }: EngineState, lookup: EntryLookup): string {
  const { branch, ledger } = session;
  const { counts } = ledger;
  const visible = visibleMemory(branch, ledger, lookup);
  const drift = diffProjections(visible, resolveSelection(selectFull(ledger), branch, lookup));
  const lines = [
    "Memory",
    `  full      ${many(counts.active, "active observation")} (${many(counts.dropped, "dropped", "dropped")}), ${many(counts.reflections, "reflection")}`,
    `  visible   ${many(visible.observations.length, "observation")}, ${many(visible.reflections.length, "reflection")}`,
    `  drift     observations +${drift.observationsToAppear.length} −${drift.observationsToLeave.length}, reflections +${drift.reflectionsToAppear.length} −${drift.reflectionsToLeave.length}`,
    `  pool      ${tokens(ledger.activeTokens)} active; target ${tokens(poolTarget(settings))}, full fold at ${tokens(settings.observationsPoolMaxTokens)}`,
    `  folds     ${many(ledger.compactions, "compaction")} on this branch`,
  ];
  if (isVisibleMemoryStale(ledger)) {
    lines.push(
      "  note      the latest compaction was not ours: the agent no longer sees the visible memory above",
    );
  }
  return lines.join("\n");
}

function clockSection({ session, settings, contextWindow }: EngineState): string {
  const clocks = clocksOfSession(session);
  const line = (name: string, clock: number, threshold: number) =>
    `  ${name.padEnd(9)} ${tokens(clock)} of ${tokens(threshold)}`;
  return [
    "Clocks (source tokens)",
    line("observe", clocks.observe, settings.observeAfterTokens),
    line("reflect", clocks.reflect, settings.reflectAfterTokens),
    line("compact", clocks.compact, compactionThreshold(settings, contextWindow)),
    `  drop      ${tokens(clocks.drop)} since the last drop (the dropper follows the reflector)`,
    `  since     ${tokens(clocks.sinceCompaction)} since the last compaction`,
  ].join("\n");
}

function laneSection(state: EngineState, lanes: StatusInput["lanes"], workerModel: string): string {
  const spend = totalSpend(state);
  const passive = whyPassive(state, "observer");
  const runs = WORKERS.map((worker) => many(state.workers[worker].runs, `${worker} run`)).join(", ");
  const requests = WORKERS.reduce((sum, worker) => sum + state.workers[worker].requests, 0);
  return [
    passive ? `Lanes (${passive}; no proactive work)` : "Lanes",
    `  observer      ${lanes.observer}`,
    `  reflect/drop  ${lanes.reflectDrop}`,
    `  compaction    ${lanes.compaction}`,
    `  model         ${workerModel}`,
    `  so far        ${runs}`,
    `  cost so far   $${spend.cost.toFixed(4)} (${many(requests, "request")}; ${tokens(spend.input + spend.cacheRead + spend.cacheWrite)} in, ${tokens(spend.output)} out) since this session was opened`,
  ].join("\n");
}

function problemSection(state: EngineState, problems: readonly SettingsProblem[]): string {
  const lines: string[] = [];
  for (const worker of WORKERS) {
    const { failure } = state.workers[worker];
    if (failure)
      lines.push(`  ${worker} failed at ${clockTime(failure.at)}: ${failure.message} (${failure.kind})`);
  }
  if (state.compactionFailure) {
    lines.push(
      `  compaction failed at ${clockTime(state.compactionFailure.at)}: ${state.compactionFailure.message}`,
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

function many(count: number, one: string, more = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : more}`;
}

function tokens(count: number): string {
  return Math.round(count).toLocaleString("en-US");
}

function clockTime(iso: string): string {
  return new Date(iso).toLocaleTimeString("en-GB");
}
