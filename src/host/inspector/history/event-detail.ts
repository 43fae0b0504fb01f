import { whyLane } from "../../../machines/recording/explain.ts";
import { budgetUses } from "../../../reducers/engine/budget.ts";
import type { EngineState } from "../../../reducers/engine/engine-state.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import { WORKERS } from "../../../reducers/engine/lane-names.ts";
import { poolTarget } from "../../../reducers/settings.ts";
import { budgetRows, spendRows, usageMoney } from "../../../reducers/spend-words.ts";
import { countOf, duration, grouped, resultWords } from "../../../reducers/words.ts";
import { changesBetween, factsAt } from "./event-facts.ts";
import { type EventHistory, lastAtMost, perLane } from "./event-history.ts";
import { rowAt } from "./event-search.ts";
import { commandWords, eventWords } from "./event-words.ts";
import { changesAt, type Texts } from "./memory-lines.ts";
import type { EventDetail } from "./viewer-data.ts";

/** Everything about one event: first what it changed, then why each lane stands where it stands. */
export function eventDetailAt(history: EventHistory, index: number, texts?: Texts): EventDetail {
  const { steps, moves } = history;
  const step = steps[index];
  if (!step) throw new Error(`there is no event at ${index}`);
  const { event, at, snapshot, transitions, commands, clocks } = step;
  const state = history.stateAt(index);
  return {
    row: rowAt(steps, index),
    changes: changesBetween(factsAt(history, index - 1), factsAt(history, index)),
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
    commands: commands.map(commandWords),
    memory: changesAt(history, texts, index),
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
