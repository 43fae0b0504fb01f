import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { BLOCK, firstAtLeast, lastAtMost, lastAtMostOf, type Spans } from "./columns.ts";
import { type EventHistory, perLane, type RunMark } from "./event-history.ts";
import type { Axis, Timeline, TimelineRun } from "./viewer-data.ts";

export interface TimelineQuery {
  axis: Axis;
  /** In units of the axis; the whole when missing */
  from?: number | undefined;
  to?: number | undefined;
  /** Pixels that there are to draw on */
  width: number;
}

/** A stretch of the time line, thinned so that its size depends on the width and not on the events in it. */
export function timelineOf(eventHistory: EventHistory, query: TimelineQuery): Timeline {
  const { axis, width } = query;
  const last = Math.max(0, eventHistory.length - 1);
  const xOf = (index: number) => (axis === "event" ? index : eventHistory.at.at(index));
  const from = query.from ?? xOf(0);
  const to = Math.max(query.to ?? xOf(last), from + (axis === "event" ? 1 : 1000));
  const indexAt = (x: number) =>
    axis === "event"
      ? Math.floor(x)
      : lastAtMost(eventHistory.length, (index) => eventHistory.at.at(index), x);
  const view: View = {
    eventHistory,
    from,
    to,
    first: Math.max(0, indexAt(from)),
    last: Math.min(last, Math.max(0, indexAt(to))),
    perPixel: (to - from) / Math.max(1, width),
    xOf,
    indexFrom: (x) =>
      axis === "event"
        ? Math.ceil(x)
        : firstAtLeast(eventHistory.length, (index) => eventHistory.at.at(index), x),
  };
  if (eventHistory.length === 0)
    return { axis, from, to, lanes: noLanes(), runs: [], compactions: [], clocks: noClocks() };
  return {
    axis,
    from,
    to,
    lanes: perLane((lane) => stateSpans(view, eventHistory.states[lane])),
    runs: runsIn(view),
    compactions: compactionsIn(view),
    clocks: clocksIn(view, width),
  };
}

interface View {
  eventHistory: EventHistory;
  from: number;
  to: number;
  /** The first event in view, and the one before it if it still holds there */
  first: number;
  last: number;
  /** Units of the axis in one pixel */
  perPixel: number;
  xOf: (index: number) => number;
  /** The first event at or after a point of the axis */
  indexFrom: (x: number) => number;
}

const noLanes = () => perLane(() => []);
const noClocks = () => ({ x: [], values: perLane(() => []), thresholds: perLane(() => []) });

/** What is narrower is drawn together with its neighbour, in pixels. */
const NARROWEST = 2;
/** Among those that are drawn together the longest gives the colour, but what went wrong must not vanish. */
const FAILING = "backingOff";

/** Marks that are closer than this would lie upon one another. */
const MARK = 6;

function stateSpans(
  { from, to, first, last, perPixel, xOf }: View,
  states: Spans<string>,
): [number, number, string][] {
  const { indexes, values } = states;
  const spans: [number, number, string][] = [];
  /** The longest stretch of those in the span that is drawn last */
  let longest = 0;
  const start = Math.max(0, lastAtMostOf(indexes, first));
  for (let n = start; n < indexes.length && (indexes[n] ?? 0) <= last; n++) {
    const x0 = Math.max(from, xOf(indexes[n] ?? 0));
    const next = indexes[n + 1];
    const x1 = next === undefined ? to : Math.min(to, xOf(next));
    const state = values[n] ?? "";
    const length = x1 - x0;
    const previous = spans[spans.length - 1];
    if (previous && x1 - previous[0] < perPixel * NARROWEST) {
      previous[1] = x1;
      if (previous[2] === FAILING) continue;
      if (state !== FAILING && length <= longest) continue;
      previous[2] = state;
    } else spans.push([previous ? previous[1] : x0, x1, state]);
    longest = length;
  }
  return spans;
}

const OUTCOMES = ["failed", "stale", "aborted", "empty", "recorded"];

function runsIn({ eventHistory, from, to, first, last, perPixel, xOf }: View): TimelineRun[] {
  const { runs } = eventHistory;
  // A run that began before the view may still be in flight in it; runs of one lane do not overlap.
  const start = Math.max(0, lastAtMost(runs.length, (n) => runs[n]?.from ?? 0, first) - LANES.length);
  const found: TimelineRun[] = [];
  const lastOf = new Map<LaneName, TimelineRun>();
  for (let n = start; n < runs.length; n++) {
    const run = runs[n];
    if (!run || run.from > last) break;
    const x0 = xOf(run.from);
    const x1 = run.to === null ? to : xOf(run.to);
    if (x1 < from) continue;
    const close = lastOf.get(run.lane);
    if (close && x0 - close.x0 < perPixel * MARK) merge(close, run, x1);
    else {
      const mark = markOf(eventHistory, run, x0, x1);
      lastOf.set(run.lane, mark);
      found.push(mark);
    }
  }
  return found;
}

function markOf({ at }: EventHistory, run: RunMark, x0: number, x1: number): TimelineRun {
  const durationMs = run.to === null ? null : at.at(run.to) - at.at(run.from);
  return { ...run, x0, x1, durationMs, count: 1 };
}

function merge(mark: TimelineRun, run: RunMark, x1: number): void {
  mark.count++;
  mark.x1 = Math.max(mark.x1, x1);
  mark.records += run.records;
  if (run.outcome && OUTCOMES.indexOf(run.outcome) < OUTCOMES.indexOf(mark.outcome ?? "recorded")) {
    mark.outcome = run.outcome;
  }
}

function compactionsIn({ eventHistory, first, last, perPixel, xOf }: View): Timeline["compactions"] {
  const marks = eventHistory.compactions;
  const found: Timeline["compactions"] = [];
  for (
    let n = Math.max(
      0,
      lastAtMost(marks.length, (i) => marks[i]?.index ?? 0, first),
    );
    n < marks.length;
    n++
  ) {
    const mark = marks[n];
    if (!mark || mark.index > last) break;
    if (mark.index < first) continue;
    const x = xOf(mark.index);
    const close = found[found.length - 1];
    if (close && x - close.x < perPixel * MARK) {
      close.count++;
      if (mark.result === "failed") close.result = mark.result;
    } else found.push({ x, index: mark.index, result: mark.result, count: 1 });
  }
  return found;
}

/** Each bucket gives its lowest and its highest value of every clock, so that no peak and no reset vanishes. */
function clocksIn(
  { eventHistory, from, first, last, perPixel, xOf, indexFrom }: View,
  width: number,
): Timeline["clocks"] {
  const clocks = noClocks() as Timeline["clocks"];
  const columns = LANES.map((lane) => eventHistory.clocks[lane]);
  const push = (x: number, index: number, values: readonly number[]) => {
    clocks.x.push(x);
    for (const [at, lane] of LANES.entries()) {
      clocks.values[lane].push(values[at] ?? 0);
      clocks.thresholds[lane].push(eventHistory.thresholds[lane].at(index) ?? 0);
    }
  };
  if (last - first < width * 2) {
    for (let index = first; index <= last; index++) {
      const values = columns.map((column) => column.at(index));
      push(Math.max(from, xOf(index)), index, values);
    }
    return clocks;
  }
  // Where a pixel holds so many events, nobody sees to which of two pixels the last few belong.
  const isCoarse = (last - first) / width > 4 * BLOCK;
  const atBlock = (index: number) => (isCoarse ? Math.ceil(index / BLOCK) * BLOCK : index);
  let next = first;
  // Bounded by the width too: a machine's clock may have been set back.
  for (let pixel = 0; next <= last && pixel <= width; pixel++) {
    const x = from + pixel * perPixel;
    const start = next;
    next = Math.min(last + 1, Math.max(start, atBlock(indexFrom(x + perPixel))));
    if (next === start) continue;
    push(
      x,
      next - 1,
      columns.map((column) => column.low(start, next)),
    );
    push(
      x + perPixel / 2,
      next - 1,
      columns.map((column) => column.high(start, next)),
    );
  }
  return clocks;
}
