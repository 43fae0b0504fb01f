import type { ReplacedFolds } from "./engine/engine-state.ts";
import type { EngineEvent, EngineEventOf, Failure, Usage } from "./engine/events.ts";
import type { LaneName } from "./engine/lane-names.ts";

/**
 * The words that people read, whoever shows them: what a lane is called and does, how a run ended, numbers, spans of time.
 * The page and Pi's loader load this file too, so it imports nothing but types.
 */

/** How users know the lanes. */
export const LANE_LABELS: Readonly<Record<LaneName, string>> = {
  observer: "observer",
  reflectDrop: "reflect/drop",
  compaction: "compaction",
};

/** How users know the clocks, by the lane that waits for each. */
export const CLOCK_LABELS: Readonly<Record<LaneName, string>> = {
  observer: "observe",
  reflectDrop: "reflect",
  compaction: "compact",
};

const STATE_WORDS: Readonly<Record<string, string>> = {
  passive: "proactive work is off",
  idle: "waiting until enough is new",
  due: "waiting for its moment",
  running: "observing",
  "running.reflecting": "reflecting",
  "running.dropping": "dropping",
  requested: "Pi was asked to compact",
  compacting: "compacting",
  overBudget: "over budget",
  coolingDown: "waiting after an empty result",
  backingOff: "waiting after a failure",
};

/** What a lane does in a state of its chart, for whoever does not know the chart. */
export function stateWords(lane: LaneName, state: string): string {
  if (lane === "compaction" && state === "coolingDown") return "waiting after a compaction";
  return STATE_WORDS[state] ?? state;
}

/** A state of a chart as people say it: `cooling down`, `reflecting` */
export function stateLabel(state: string): string {
  return (state.split(".").at(-1) ?? state).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** What happened, by the kind of the event. */
export const EVENT_LABELS: Readonly<Record<EngineEvent["type"], string>> = {
  "session.opened": "session opened",
  "session.closed": "session closed",
  "branch.extended": "entries added",
  "branch.replaced": "branch changed",
  "model.selected": "model chosen",
  "agent.started": "agent started",
  "turn.ended": "turn ended",
  "agent.settled": "agent at rest",
  "run.demanded": "run asked for",
  "run.finished": "run finished",
  "compaction.started": "compaction begins",
  "compaction.finished": "compacted",
  "compaction.failed": "compaction failed",
  "cache.expired": "prompt cache ran out",
  "cache.warmed": "prompt cache warmed",
};

type RunFinished = EngineEventOf<"run.finished">;

/** How a run ended, in a few words. */
export function resultWords(run: RunFinished): string {
  const passedOver = passedOverWords(run);
  return passedOver === ""
    ? outcomeWords(run)
    : `${outcomeWords(run)}; asked ${run.model} after ${passedOver}`;
}

/** Which models failed before the one that was asked last, and how; `""` where there were none. */
export function passedOverWords({ passedOver = [] }: Pick<RunFinished, "passedOver">): string {
  return listed(passedOver.map(({ model, failure }) => `${model} failed ${failureWords(failure)}`));
}

function outcomeWords({ outcome, worker, records, failure }: RunFinished): string {
  switch (outcome) {
    case "recorded":
      return `${worker === "dropper" ? "dropped" : "recorded"} ${countOf(records, worker === "reflector" ? "reflection" : "observation")}`;
    case "empty":
      return worker === "dropper" ? "nothing to drop" : "nothing to record";
    case "failed":
      return `failed${failure ? ` ${failureWords(failure)}` : ""}`;
    case "stale":
      return "stale: its branch was left or its file written to by others, nothing was appended";
    case "aborted":
      return "aborted";
  }
}

function failureWords({ kind, message }: Failure): string {
  return `(${kind})${message === "" ? "" : `: ${message}`}`;
}

/** What became of what by a fold; context `before` and `after` it in tokens. */
export function foldWords(fold: {
  observations: number;
  reflections: number;
  before: number;
  after: number;
}): string {
  const what = [countOf(fold.observations, "observation"), countOf(fold.reflections, "reflection")];
  const tokens = [fold.before, fold.after].map((count) => compact(count).replace(/\.\d+k$/, "k"));
  return `folded ${what.join(" and ")}, no model asked: ${tokens.join(" to ")} tokens`;
}

/** That the observer is so many source tokens behind. */
export function backlogWords(tokens: number): string {
  return `${grouped(tokens)} tokens of this session are not observed yet; the observer reads on, as much at a time as its model's window allows`;
}

/** Whose summary came instead of a fold of ours, and what that means. */
export function replacedWords(by: ReplacedFolds["by"]): string {
  const answered = "another extension answered after Memory Lanes";
  return by === "pi"
    ? `${answered} with nothing, so Pi had the summary written by a model, which is paid for`
    : `${answered} with a summary of its own`;
}

export const REPLACED_ADVICE = "Load Memory Lanes after that extension, or remove one of the two.";

/** What a run used: `2 requests, 4,120 in, 312 out, 1.2 s, $0.0031`. */
export function spendWords({ requests, usage, durationMs }: RunFinished): string {
  const cost = usage.cost > 0 ? `, ${dollars(usage.cost)}` : "";
  return `${usageWords(requests, usage)}, ${duration(durationMs)}${cost}`;
}

/** `2 requests, 4,120 in, 312 out`, in model tokens */
export function usageWords(requests: number, { input, cacheRead, cacheWrite, output }: Usage): string {
  return `${countOf(requests, "request")}, ${grouped(input + cacheRead + cacheWrite)} in, ${grouped(output)} out`;
}

/** USD, as small as a run costs: `$0.0031` */
export function dollars(usd: number): string {
  return `$${usd.toFixed(4)}`;
}

/** `1 event`, `2,000 events` */
export function countOf(count: number, one: string, more = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : more}`;
}

/** A whole number with its thousands apart: `21,340`. Many times faster than `toLocaleString`. */
export function grouped(count: number): string {
  const digits = String(Math.round(count));
  return digits.length <= 3 ? digits : digits.replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** About as much in at most five characters: `21.3k` */
export function compact(count: number): string {
  if (count < 1000) return String(Math.round(count));
  if (count < 99_950) return `${(count / 1000).toFixed(1)}k`;
  return count < 999_500 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** Milliseconds as a span of time: `340 ms`, `1.2 s`, `30 s`, `3 min` */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0).replace(/\.0$/, "")} s`;
  return `${Math.round(ms / 60_000)} min`;
}

/** Local time of day, `HH:MM:SS`, of an ISO 8601 time or of milliseconds since the epoch */
export function timeOfDay(at: string | number): string {
  return new Date(at).toTimeString().slice(0, 8);
}

/** Local date, `YYYY-MM-DD`, of milliseconds since the epoch */
export function dateOf(at: number): string {
  return new Date(at).toLocaleDateString("en-CA");
}

/** `a, b and c` */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Text of one line, cut to a width */
export function clipped(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1)).toWellFormed()}…`;
}
