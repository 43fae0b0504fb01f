import type { LanesSnapshot } from "../machines/lanes/lanes.ts";
import { whyLane } from "../machines/recording/explain.ts";
import type { EngineState } from "../reducers/engine/engine-state.ts";
import type { EngineEventOf } from "../reducers/engine/events.ts";
import { LANES, type LaneName } from "../reducers/engine/lane-names.ts";

/** How users know the lanes. */
export const LANE_LABELS: Readonly<Record<LaneName, string>> = {
  observer: "observer",
  reflectDrop: "reflect/drop",
  compaction: "compaction",
};

/** Why each lane is in its state and what would move it. `at` is event time in milliseconds since the epoch. */
export function whyLanes(state: EngineState, snapshot: LanesSnapshot, at: number): Record<LaneName, string> {
  const moment = { state, snapshot, at };
  return {
    observer: whyLane("observer", moment),
    reflectDrop: whyLane("reflectDrop", moment),
    compaction: whyLane("compaction", moment),
  };
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
      return "stale: its branch was left or its file written to by others, nothing was appended";
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
export function isAnyLaneRunning(states: LanesSnapshot["states"]): boolean {
  return LANES.some((lane) => states[lane].startsWith("running") || states[lane] === "compacting");
}

export function countOf(count: number, one: string): string {
  return `${tokens(count)} ${one}${count === 1 ? "" : "s"}`;
}

export function tokens(count: number): string {
  return Math.round(count).toLocaleString("en-US");
}

export function seconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return `${Math.round(ms / 60_000)} min`;
}
