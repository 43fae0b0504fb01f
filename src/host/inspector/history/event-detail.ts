import type { LanesSnapshot } from "../../../machines/lanes/lanes.ts";
import { whyLane } from "../../../machines/recording/explain.ts";
import { idAt } from "../../../reducers/branch.ts";
import { budgetUses } from "../../../reducers/engine/budget.ts";
import type { EngineState } from "../../../reducers/engine/engine-state.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import { LANES, WORKERS } from "../../../reducers/engine/lane-names.ts";
import { clocksOfSession } from "../../../reducers/session.ts";
import { poolTarget } from "../../../reducers/settings.ts";
import { budgetRows, spendRows, usageMoney } from "../../../reducers/spend-words.ts";
import { countOf, duration, grouped, LANE_LABELS, resultWords } from "../../../reducers/words.ts";
import { type EventHistory, lastAtMost, perLane } from "./event-history.ts";
import { rowAt } from "./event-search.ts";
import { eventWords } from "./event-words.ts";
import type { Change, EventDetail } from "./viewer-data.ts";

/** Everything about one event: first what it changed, then why each lane stands where it stands. */
export function eventDetailAt(history: EventHistory, index: number): EventDetail {
  const { steps, moves } = history;
  const step = steps[index];
  if (!step) throw new Error(`there is no event at ${index}`);
  const { event, at, snapshot, transitions, commands, clocks } = step;
  const state = history.stateAt(index);
  const before = factsOf(history.stateAt(index - 1), steps[index - 1]?.snapshot);
  return {
    row: rowAt(steps, index),
    changes: changesBetween(before, factsOf(state, snapshot)),
    lanes: perLane((lane) => {
      const came = moves[lane][lastAtMost(moves[lane], (move) => move.index, index)];
      const arrows = [...(came?.arrows ?? [])];
      return {
        state: snapshot.states[lane],
        why: whyLane(lane, { state, snapshot, at }),
        moved: transitions.find((transition) => transition.lane === lane) ?? null,
        arrows,
        arrowsAt: came && arrows.length > 0 ? came.index : null,
      };
    }),
    clocks,
    commands,
    result: resultOf(event),
    ledger: ledgerRows(state),
    spend: WORKERS.map((worker) => {
      const { runs, requests, usage } = state.workers[worker];
      const input = usage.input + usage.cacheRead + usage.cacheWrite;
      return { worker, runs, requests, input, output: usage.output, cost: usageMoney(usage) };
    }),
    event: shortened(event),
  };
}

type Facts = Record<string, string | number | boolean | null>;

/** What is worth comparing, flat. */
function factsOf(state: EngineState, snapshot: LanesSnapshot | undefined): Facts {
  const { session, settings } = state;
  const { ledger, branch } = session;
  const clocks = clocksOfSession(session);
  const facts: Facts = {};
  for (const lane of LANES) facts[`${LANE_LABELS[lane]} lane`] = snapshot?.states[lane] ?? "not started";
  Object.assign(facts, {
    "observe clock": clocks.observe,
    "reflect clock": clocks.reflect,
    "compact clock": clocks.compact,
    "since compaction": clocks.sinceCompaction,
    "active observations": ledger.counts.active,
    "dropped observations": ledger.counts.dropped,
    reflections: ledger.counts.reflections,
    "pool tokens": ledger.activeTokens,
    "observed through": idAt(branch, ledger.watermarks.observe) ?? null,
    "reflected through": idAt(branch, ledger.watermarks.reflect) ?? null,
    "dropped through": idAt(branch, ledger.watermarks.drop) ?? null,
    compactions: ledger.compactions,
    entries: branch.length,
    "agent idle": state.agentIdle,
    "context window": state.contextWindow ?? null,
  });
  for (const worker of WORKERS) {
    const { runs, usage, failure } = state.workers[worker];
    facts[`${worker} runs`] = runs;
    facts[`${worker} tokens`] = usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
    facts[`${worker} failure`] = failure?.kind ?? null;
  }
  for (const [key, value] of Object.entries(settings)) facts[`setting ${key}`] = plain(value);
  for (const lane of LANES) {
    for (const [key, value] of Object.entries(snapshot?.contexts[lane] ?? {})) {
      if (key !== "lane") facts[`${LANE_LABELS[lane]} ${wordsOf(key)}`] = plain(value);
    }
  }
  return facts;
}

function changesBetween(before: Facts, after: Facts): Change[] {
  return Object.keys(after)
    .filter((name) => before[name] !== after[name])
    .map((name) => {
      const old = before[name] ?? null;
      const now = after[name] ?? null;
      return {
        name,
        before: shown(old),
        after: shown(now),
        delta: typeof old === "number" && typeof now === "number" ? now - old : null,
      };
    });
}

function shown(value: Facts[string]): string {
  if (value === null) return "–";
  return typeof value === "number" && Math.abs(value) < 1e12 ? grouped(value) : String(value);
}

function plain(value: unknown): Facts[string] {
  if (value === undefined || value === null) return null;
  return ["string", "number", "boolean"].includes(typeof value)
    ? (value as string | number | boolean)
    : JSON.stringify(value);
}

/** `clockAtStart` as `clock at start` */
function wordsOf(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function resultOf(event: EngineEvent): EventDetail["result"] {
  if (event.type === "compaction.finished") {
    return [{ name: "compaction", value: eventWords(event) }];
  }
  if (event.type === "compaction.failed")
    return [{ name: "compaction", value: `failed: ${event.failure.kind}` }];
  if (event.type !== "run.finished") return null;
  const { usage, requests, durationMs, rejected, sourceTokens } = event;
  return [
    { name: event.worker, value: resultWords(event) },
    { name: "run", value: event.runId },
    ...(event.model === undefined ? [] : [{ name: "model", value: event.model }]),
    { name: "took", value: `${duration(durationMs)}, ${countOf(requests, "request")}` },
    { name: "read", value: `${grouped(sourceTokens)} source tokens` },
    { name: "rejected", value: grouped(rejected) },
    { name: "tokens in", value: grouped(usage.input + usage.cacheRead + usage.cacheWrite) },
    { name: "tokens out", value: grouped(usage.output) },
    { name: "cost", value: usageMoney(usage) },
  ];
}

function ledgerRows(state: EngineState): EventDetail["ledger"] {
  const { session, settings } = state;
  const { counts, activeTokens, reflectionTokens, compactions, ignored, latestFolded } = session.ledger;
  const leftOut = Object.entries(ignored).filter(([, count]) => count > 0);
  return [
    { name: "active observations", value: grouped(counts.active) },
    { name: "dropped", value: grouped(counts.dropped) },
    { name: "reflections", value: grouped(counts.reflections) },
    { name: "pool", value: `${grouped(activeTokens)} tokens` },
    { name: "pool target", value: grouped(poolTarget(settings)) },
    { name: "full fold at", value: grouped(settings.observationsPoolMaxTokens) },
    { name: "reflection tokens", value: grouped(reflectionTokens) },
    { name: "compactions", value: `${grouped(compactions)}${latestFolded ? "" : ", none of ours"}` },
    ...spendRows(session.ledger.spend).map(({ name, value }) => ({ name: `spend, ${name}`, value })),
    ...budgetRows(budgetUses(state)),
    { name: "entries", value: grouped(session.branch.length) },
    {
      name: "ignored",
      value:
        leftOut.length === 0 ? "none" : leftOut.map(([reason, count]) => `${count} ${reason}`).join(", "),
    },
  ];
}

const LONGEST_LIST = 20;

/** The event with its long lists cut: a branch of a hundred thousand entries helps nobody. */
function shortened(event: EngineEvent): unknown {
  return JSON.parse(
    JSON.stringify(event, (_key, value: unknown) =>
      Array.isArray(value) && value.length > LONGEST_LIST
        ? [...value.slice(0, LONGEST_LIST), `… ${value.length - LONGEST_LIST} more`]
        : value,
    ),
  );
}
