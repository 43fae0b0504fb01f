import type { EngineState } from "../machines/engine-state.ts";
import type { EngineEventOf } from "../machines/events.ts";
import type { Readings, Standing } from "../machines/lanes.ts";
import { readLanes } from "../machines/lanes.ts";
import { LANES, type LaneName } from "../machines/readings.ts";

/** How users know the lanes. */
export const LANE_LABELS: Readonly<Record<LaneName, string>> = {
  observer: "observer",
  reflectDrop: "reflect/drop",
  compaction: "compaction",
};

/** Why each lane is in its state, in plain words. `at` is event time in milliseconds since the epoch. */
export function whyLanes(state: EngineState, standing: Standing, at: number): Record<LaneName, string> {
  const readings = readLanes(state, standing.states, at);
  return {
    observer: whyWork("observer", standing, readings, at),
    reflectDrop: whyWork("reflectDrop", standing, readings, at),
    compaction: whyCompaction(standing, readings),
  };
}

function whyWork(
  lane: "observer" | "reflectDrop",
  standing: Standing,
  readings: Readings,
  at: number,
): string {
  const reading = readings[lane];
  const context = standing.contexts[lane];
  const [outer] = standing.states[lane].split(".");
  switch (outer) {
    case "passive":
      return "proactive work is off (passive)";
    case "idle":
      if (reading.clock < reading.threshold)
        return `${tokens(reading.threshold - reading.clock)} tokens to go`;
      return "no observation is newer than the last reflection";
    case "due":
      return reading.heldBack
        ? "at its threshold; waits for the observer"
        : "at its threshold; starts at the next turn's end";
    case "running":
      return `run ${context.runId ?? ""} is in flight`;
    case "coolingDown":
      return `the last run found nothing to record; ${tokens(
        Math.max(0, context.clockAtStart + reading.threshold - reading.clock),
      )} more tokens before another try`;
    case "backingOff":
      return `${context.failures} ${context.failures === 1 ? "failure" : "failures in a row"}; ${
        context.retryAt > at
          ? `tries again in ${seconds(context.retryAt - at)}`
          : "tries again at the next turn's end"
      }`;
    default:
      return "";
  }
}

function whyCompaction(standing: Standing, { compaction: reading }: Readings): string {
  const context = standing.contexts.compaction;
  switch (standing.states.compaction) {
    case "passive":
      return "proactive work is off (passive)";
    case "idle":
      return `${tokens(Math.max(0, reading.threshold - reading.clock))} tokens to go`;
    case "due":
      return reading.observerBehind
        ? "at its threshold; waits until the observer has caught up"
        : "at its threshold; waits for the agent to settle";
    case "requested":
      return "Pi has been asked to compact";
    case "compacting":
      return "a compaction is in progress";
    case "coolingDown": {
      const kept = reading.clock - reading.sinceCompaction;
      const needed = kept < reading.threshold ? reading.threshold - kept : reading.threshold;
      return `a compaction stands; due again after ${tokens(Math.max(0, needed - reading.sinceCompaction))} more tokens`;
    }
    case "backingOff":
      return `${context.failures} ${context.failures === 1 ? "failure" : "failures in a row"}; waits for new tokens`;
    default:
      return "";
  }
}

/** How a run ended, in a few words. */
export function resultWords(event: EngineEventOf<"run.finished">): string {
  const { outcome, worker, records, failure } = event;
  switch (outcome) {
    case "recorded":
      return `${worker === "dropper" ? "dropped" : "recorded"} ${countOf(records, worker === "reflector" ? "reflection" : "observation")}`;
    case "empty":
      return worker === "dropper" ? "nothing to drop" : "nothing to record";
    case "failed":
      return `failed${failure ? ` (${failure.kind})${failure.message === "" ? "" : `: ${failure.message}`}` : ""}`;
    case "stale":
      return "stale: its branch was left, nothing was appended";
    case "aborted":
      return "aborted";
  }
}

/** What a run used: `2 requests, 4,120 in, 312 out, 1.2 s, $0.0031`. */
export function spendWords({ requests, usage, durationMs }: EngineEventOf<"run.finished">): string {
  const input = usage.input + usage.cacheRead + usage.cacheWrite;
  const cost = usage.cost > 0 ? `, $${usage.cost.toFixed(4)}` : "";
  return `${countOf(requests, "request")}, ${tokens(input)} in, ${tokens(usage.output)} out, ${seconds(durationMs)}${cost}`;
}

/** Whether any lane has a run in flight. */
export function isAnyLaneRunning(states: Standing["states"]): boolean {
  return LANES.some((lane) => states[lane].startsWith("running") || states[lane] === "compacting");
}

export function countOf(count: number, one: string): string {
  return `${tokens(count)} ${one}${count === 1 ? "" : "s"}`;
}

export function tokens(count: number): string {
  return Math.round(count).toLocaleString("en-US");
}

export function seconds(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return `${Math.round(ms / 60_000)} min`;
}
