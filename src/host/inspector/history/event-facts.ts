import { idAt } from "../../../reducers/branch.ts";
import { LANES, WORKERS } from "../../../reducers/engine/lane-names.ts";
import { clocksOfSession } from "../../../reducers/session.ts";
import { grouped, LANE_LABELS, stateLabel } from "../../../reducers/words.ts";
import type { EventHistory } from "./event-history.ts";
import type { Change } from "./viewer-data.ts";

export type Facts = Record<string, string | number | boolean | null>;

/** What is worth comparing of the moment after an event, flat; before the first event it is at -1. */
export function factsAt({ steps, stateAt }: EventHistory, index: number): Facts {
  const state = stateAt(index);
  const snapshot = steps[index]?.snapshot;
  const { session, settings } = state;
  const { ledger, branch } = session;
  const clocks = clocksOfSession(session);
  const facts: Facts = {};
  for (const lane of LANES) {
    const state = snapshot?.states[lane];
    facts[`${LANE_LABELS[lane]} lane`] = state === undefined ? "not started" : stateLabel(state);
  }
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

/** What of these facts is another way, with how much more where it is a number. */
export function changesBetween(before: Facts, after: Facts): Change[] {
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
