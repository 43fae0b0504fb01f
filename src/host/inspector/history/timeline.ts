import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { type EventHistory, type LaneMove, lastAtMost, type PastStep, perLane } from "./event-history.ts";
import { histogramOf, type View as InView, isDense } from "./histogram.ts";
import type { Axis, CompactionMark, LanesDrawn, RunMark, Timeline, TimelineRun } from "./viewer-data.ts";

export interface TimelineQuery {
  axis: Axis;
  /** In units of the axis; the whole when missing */
  from?: number | undefined;
  to?: number | undefined;
  /** Pixels that there are to draw on */
  width: number;
}

/** A stretch of the time line, with that of the `real` run if this is a what-if, thinned so that its size depends on the width and not on the events in it. */
export function timelineOf(
  history: EventHistory,
  { axis, width, ...asked }: TimelineQuery,
  real?: EventHistory,
): Timeline {
  const { steps } = history;
  const last = steps.length - 1;
  const lastReal = real?.steps.at(-1)?.at ?? 0;
  const isByEvent = axis === "event";
  const from = asked.from ?? (isByEvent ? 0 : (steps[0]?.at ?? 0));
  const end = isByEvent ? last : Math.max(lastReal, steps[last]?.at ?? 0);
  const to = Math.max(asked.to ?? end, from + (isByEvent ? 1 : 1000));
  const view = viewOf(history, { axis, from, to, width });
  return {
    axis,
    from,
    to,
    offset: (steps[view.first]?.number ?? 1) - view.first,
    ...lanesDrawn(history, view, width),
    real: real && !isByEvent ? lanesDrawn(real, viewOf(real, { axis, from, to, width }), width) : null,
    clocks: clocksIn(view, steps, width),
  };
}

function viewOf(
  { steps }: EventHistory,
  { axis, from, to, width }: TimelineQuery & { from: number; to: number },
): View {
  const isByEvent = axis === "event";
  const last = steps.length - 1;
  const xOf = (index: number) => (isByEvent ? index : (steps[index]?.at ?? 0));
  const indexAt = (x: number) => (isByEvent ? Math.floor(x) : lastAtMost(steps, ({ at }) => at, x));
  return {
    from,
    to,
    first: Math.max(0, indexAt(from)),
    last: Math.min(last, Math.max(0, indexAt(to))),
    perPixel: (to - from) / Math.max(1, width),
    xOf,
  };
}

function lanesDrawn(history: EventHistory, view: View, width: number): LanesDrawn {
  const { moves, runs, compactions } = history;
  if (isDense(history, view, width)) {
    return {
      histogram: histogramOf(history, view, width),
      lanes: perLane(() => []),
      runs: [],
      compactions: [],
    };
  }
  return {
    histogram: null,
    lanes: perLane((lane) => stateSpans(view, moves[lane])),
    runs: runsIn(view, runs),
    compactions: compactionsIn(view, compactions),
  };
}

interface View extends InView {
  /** Units of the axis in one pixel */
  perPixel: number;
}

/** What is narrower is drawn together with its neighbour, in pixels. */
const NARROWEST = 2;
/** Among those that are drawn together the longest gives the colour, but what went wrong must not vanish. */
const FAILING = "backingOff";

/** Marks that are closer than this would lie upon one another. */
const MARK = 6;

function stateSpans(
  { from, to, first, last, perPixel, xOf }: View,
  moves: readonly LaneMove[],
): [number, number, string][] {
  const spans: [number, number, string][] = [];
  /** The longest stretch of those in the span that is drawn last */
  let longest = 0;
  const start = Math.max(
    0,
    lastAtMost(moves, ({ index }) => index, first),
  );
  const end = lastAtMost(moves, ({ index }) => index, last);
  for (const [at, { index, state }] of moves.slice(start, end + 1).entries()) {
    const x0 = Math.max(from, xOf(index));
    const next = moves[start + at + 1];
    const x1 = next ? Math.min(to, xOf(next.index)) : to;
    const length = x1 - x0;
    const previous = spans.at(-1);
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

function runsIn({ from, to, first, last, perPixel, xOf }: View, runs: readonly RunMark[]): TimelineRun[] {
  // A run that began before the view may still be in flight in it; runs of one lane do not overlap.
  const start = Math.max(0, lastAtMost(runs, (run) => run.from, first) - LANES.length);
  const found: TimelineRun[] = [];
  const lastOf = new Map<LaneName, TimelineRun>();
  for (const run of runs.slice(start, lastAtMost(runs, (each) => each.from, last) + 1)) {
    const x0 = xOf(run.from);
    const x1 = run.to === null ? to : xOf(run.to);
    if (x1 < from) continue;
    const close = lastOf.get(run.lane);
    if (close && x0 - close.x0 < perPixel * MARK) merge(close, run, x1);
    else {
      const mark = { ...run, x0, x1, count: 1 };
      lastOf.set(run.lane, mark);
      found.push(mark);
    }
  }
  return found;
}

function merge(mark: TimelineRun, run: RunMark, x1: number): void {
  mark.count++;
  mark.x1 = Math.max(mark.x1, x1);
  mark.records += run.records;
  if (run.outcome && OUTCOMES.indexOf(run.outcome) < OUTCOMES.indexOf(mark.outcome ?? "recorded")) {
    mark.outcome = run.outcome;
  }
}

function compactionsIn(
  { first, last, perPixel, xOf }: View,
  compactions: readonly CompactionMark[],
): Timeline["compactions"] {
  const found: Timeline["compactions"] = [];
  for (const { index, result } of compactions) {
    if (index < first || index > last) continue;
    const x = xOf(index);
    const close = found.at(-1);
    if (close && x - close.x < perPixel * MARK) {
      close.count++;
      if (result === "failed") close.result = result;
    } else found.push({ x, index, result, count: 1 });
  }
  return found;
}

/** Each pixel gives its lowest and its highest value of every clock, so that no peak and no reset vanishes. */
function clocksIn(
  { from, first, last, perPixel, xOf }: View,
  steps: readonly PastStep[],
  width: number,
): Timeline["clocks"] {
  const drawn: Timeline["clocks"] = { x: [], values: perLane(() => []), thresholds: perLane(() => []) };
  const clockAt = (index: number, lane: LaneName) => steps[index]?.clocks[lane] ?? { clock: 0, threshold: 0 };
  const push = (x: number, index: number, clockOf: (lane: LaneName) => number) => {
    drawn.x.push(x);
    for (const lane of LANES) {
      drawn.values[lane].push(clockOf(lane));
      drawn.thresholds[lane].push(clockAt(index, lane).threshold);
    }
  };
  if (last - first < width * 2) {
    for (let index = first; index <= last; index++)
      push(Math.max(from, xOf(index)), index, (lane) => clockAt(index, lane).clock);
    return drawn;
  }
  let next = first;
  for (let pixel = 0; next <= last; pixel++) {
    const x = from + pixel * perPixel;
    const start = next;
    const lowest = perLane(() => Number.POSITIVE_INFINITY);
    const highest = perLane(() => 0);
    for (; next <= last && (xOf(next) < x + perPixel || pixel >= width); next++) {
      for (const lane of LANES) {
        const { clock } = clockAt(next, lane);
        lowest[lane] = Math.min(lowest[lane], clock);
        highest[lane] = Math.max(highest[lane], clock);
      }
    }
    if (next === start) continue;
    push(x, next - 1, (lane) => lowest[lane]);
    push(x + perPixel / 2, next - 1, (lane) => highest[lane]);
  }
  return drawn;
}
