import type { LanesSnapshot } from "../../../machines/lanes/lanes.ts";
import { idAt } from "../../../reducers/branch.ts";
import type { EngineState } from "../../../reducers/engine/engine-state.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import { LANES, WORKERS } from "../../../reducers/engine/lane-names.ts";
import { clocksOfSession } from "../../../reducers/session.ts";
import { poolTarget } from "../../../reducers/settings.ts";
import { clocksByLane } from "../../pi/ui/footer.ts";
import { LANE_LABELS, resultWords, seconds, tokens, whyLanes } from "../../words.ts";
import type { EventHistory, EventStore } from "./event-history.ts";
import type { EventList } from "./event-list.ts";
import { eventWords } from "./event-words.ts";
import type { Change, EventDetail } from "./viewer-data.ts";

/** Everything about one event: first what it changed, then why each lane stands where it stands. */
export function eventDetailAt(
  eventHistory: EventHistory,
  store: EventStore,
  list: EventList,
  index: number,
): EventDetail {
  const [event] = store.read(index, index + 1);
  const snapshot = eventHistory.standings.at(index);
  if (!event || !snapshot) throw new Error(`there is no event at ${index}`);
  const { before, after: state } = eventHistory.statesAround(index);
  const at = eventHistory.at.at(index);
  const decided = eventHistory.decisions.get(index);
  const reasons = whyLanes(state, snapshot, at);
  return {
    row: list.row(index),
    changes: changesBetween(factsOf(before, eventHistory.standings.at(index - 1)), factsOf(state, snapshot)),
    lanes: Object.fromEntries(
      LANES.map((lane) => {
        const taken = eventHistory.lastTaken[lane];
        const arrows = taken.at(index) ?? [];
        return [
          lane,
          {
            state: snapshot.states[lane],
            why: reasons[lane],
            moved: decided?.transitions.find((transition) => transition.lane === lane) ?? null,
            arrows: [...arrows],
            arrowsAt: arrows.length === 0 ? null : (taken.sinceOf(index) ?? null),
          },
        ];
      }),
    ) as EventDetail["lanes"],
    clocks: clocksByLane(state),
    commands: decided ? [...decided.commands] : [],
    result: resultOf(event),
    ledger: ledgerRows(state),
    spend: WORKERS.map((worker) => {
      const { runs, requests, usage } = state.workers[worker];
      const input = usage.input + usage.cacheRead + usage.cacheWrite;
      return { worker, runs, requests, input, output: usage.output, cost: usage.cost };
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
  return typeof value === "number" && Math.abs(value) < 1e12 ? tokens(value) : String(value);
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
    { name: "took", value: `${seconds(durationMs)}, ${requests} ${requests === 1 ? "request" : "requests"}` },
    { name: "read", value: `${tokens(sourceTokens)} source tokens` },
    { name: "rejected", value: tokens(rejected) },
    { name: "tokens in", value: tokens(usage.input + usage.cacheRead + usage.cacheWrite) },
    { name: "tokens out", value: tokens(usage.output) },
    { name: "cost", value: `$${usage.cost.toFixed(4)}` },
  ];
}

function ledgerRows({ session, settings }: EngineState): EventDetail["ledger"] {
  const { counts, activeTokens, reflectionTokens, compactions, ignored, latestFolded } = session.ledger;
  const leftOut = Object.entries(ignored).filter(([, count]) => count > 0);
  return [
    { name: "active observations", value: tokens(counts.active) },
    { name: "dropped", value: tokens(counts.dropped) },
    { name: "reflections", value: tokens(counts.reflections) },
    { name: "pool", value: `${tokens(activeTokens)} tokens` },
    { name: "pool target", value: tokens(poolTarget(settings)) },
    { name: "full fold at", value: tokens(settings.observationsPoolMaxTokens) },
    { name: "reflection tokens", value: tokens(reflectionTokens) },
    { name: "compactions", value: `${tokens(compactions)}${latestFolded ? "" : ", none of ours"}` },
    { name: "entries", value: tokens(session.branch.length) },
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
