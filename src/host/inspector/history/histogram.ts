import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { type EventHistory, type LaneMove, lastAtMost, perLane } from "./event-history.ts";
import type { Histogram } from "./viewer-data.ts";

/** With more changes of lanes to a pixel, single stretches cannot be told apart any more. */
const MOST_CHANGES = 0.7;
/** Width of a column, in pixels */
const COLUMN = 4;

export interface View {
  from: number;
  to: number;
  /** The first and the last event in view */
  first: number;
  last: number;
  /** Where an event is, in units of the axis */
  xOf: (index: number) => number;
}

/** Whether a view has room for every single change. */
export function isDense({ moves }: EventHistory, { first, last }: View, width: number): boolean {
  const changes = LANES.map((lane) => {
    const at = (index: number) => lastAtMost(moves[lane], (move) => move.index, index);
    return at(last) - at(first);
  });
  return Math.max(...changes) > MOST_CHANGES * width;
}

/** A stretch of the time line in columns: each lane's share of every state, and how many runs ended and compactions came. */
export function histogramOf(
  { moves, runs, compactions }: EventHistory,
  { from, to, xOf }: Pick<View, "from" | "to" | "xOf">,
  width: number,
): Histogram {
  const columns = Math.max(1, Math.floor(width / COLUMN));
  const size = (to - from) / columns;
  const zeros = () => Array.from({ length: columns }, () => 0);
  const columnOf = (x: number) => Math.min(columns - 1, Math.max(0, Math.floor((x - from) / size)));
  const counted = (marks: Iterable<number>) => {
    const counts = zeros();
    for (const index of marks) {
      const x = xOf(index);
      if (x >= from && x <= to) counts[columnOf(x)] = (counts[columnOf(x)] ?? 0) + 1;
    }
    return counts;
  };
  const endsOf = (lane: LaneName, isWanted: (outcome: string | null) => boolean) =>
    runs.flatMap((run) => (run.lane === lane && run.to !== null && isWanted(run.outcome) ? run.to : []));
  const shares = (lane: LaneName) => {
    const states = new Map<string, number[]>();
    for (const [x0, x1, state] of stretches(moves[lane], { from, to, xOf })) {
      const share = states.get(state) ?? zeros();
      states.set(state, share);
      for (let at = columnOf(x0), start = x0; start < x1 && at < columns; at++) {
        const end = Math.min(x1, at === columns - 1 ? to : from + (at + 1) * size);
        share[at] = (share[at] ?? 0) + (end - start) / size;
        start = Math.max(end, start + Number.EPSILON);
      }
    }
    return Object.fromEntries(states);
  };
  return {
    columns,
    states: perLane(shares),
    runs: perLane((lane) => counted(endsOf(lane, () => true))),
    failed: perLane((lane) => counted(endsOf(lane, (outcome) => outcome === "failed"))),
    compactions: counted(compactions.map(({ index }) => index)),
  };
}

/** The stretches that a lane spent in one state, within the view */
function* stretches(
  moves: readonly LaneMove[],
  { from, to, xOf }: Pick<View, "from" | "to" | "xOf">,
): Generator<[x0: number, x1: number, state: string]> {
  const start = Math.max(
    0,
    lastAtMost(moves, ({ index }) => xOf(index), from),
  );
  for (let at = start; at < moves.length; at++) {
    const { index, state } = moves[at] as LaneMove;
    const x0 = Math.max(from, xOf(index));
    if (x0 >= to) return;
    const next = moves[at + 1];
    yield [x0, Math.min(to, next ? xOf(next.index) : to), state];
  }
}
