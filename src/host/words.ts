import type { LanesSnapshot } from "../machines/lanes/lanes.ts";
import type { EngineEventOf } from "../reducers/engine/events.ts";
import type { LaneName } from "../reducers/engine/lane-names.ts";

/** How users know the lanes. */
export const LANE_LABELS: Readonly<Record<LaneName, string>> = {
  observer: "observer",
  reflectDrop: "reflect/drop",
  compaction: "compaction",
};

/** How users know the clocks, by the lane that waits for them. */
export const CLOCK_LABELS: Readonly<Record<LaneName, string>> = {
  observer: "observe",
  reflectDrop: "reflect",
  compaction: "compact",
};

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
  const cost = usage.cost > 0 ? `, ${dollars(usage.cost)}` : "";
  return `${countOf(requests, "request")}, ${grouped(input)} in, ${grouped(usage.output)} out, ${duration(durationMs)}${cost}`;
}

/** Whether any lane has a run in flight. */
export function isAnyLaneRunning(states: LanesSnapshot["states"]): boolean {
  return Object.values(states).some((state) => state.startsWith("running") || state === "compacting");
}

/** `1 event`, `2,000 events` */
export function countOf(count: number, one: string, more = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : more}`;
}

/** A whole number with its thousands apart: `21,340`. Many times faster than `toLocaleString`. */
export function grouped(count: number): string {
  const digits = String(Math.round(count));
  if (digits.length <= 3) return digits;
  return digits.replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** About as much in at most five characters: `21.3k` */
export function compact(count: number): string {
  if (count < 1000) return String(Math.round(count));
  if (count < 99_950) return `${(count / 1000).toFixed(1)}k`;
  return count < 999_500 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** `$0.0031` */
export function dollars(cost: number): string {
  return `$${cost.toFixed(4)}`;
}

/** A stretch of time, given in milliseconds: `1.2 s` */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

/** Local time of day of a time in milliseconds since the epoch, `HH:MM:SS` */
export function timeOfDay(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
}

/** Its local date, `YYYY-MM-DD` */
export function dateOf(at: number): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}

/** `a, b and c` */
export function listed(words: readonly string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Text of one line, cut to a width. */
export function clipped(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}
