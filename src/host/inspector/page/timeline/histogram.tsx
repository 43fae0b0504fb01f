import type { LaneName } from "../../../../reducers/engine/lane-names.ts";
import { countOf, LANE_LABELS, stateLabel } from "../../../../reducers/words.ts";
import type { Histogram } from "../../history/viewer-data.ts";
import { stateStyle } from "../state-style.ts";
import { timelineWidth } from "../store.ts";

interface Place {
  left: number;
  top: number;
  /** Of the states' part, and of the one below it, in pixels */
  height: number;
  below: number;
}

/** A lane where single stretches cannot be told apart: its share of each state, and below how many runs ended. */
export function LaneHistogram({
  lane,
  histogram,
  place,
}: {
  lane: LaneName;
  histogram: Histogram;
  place: Place;
}) {
  const { columns, states, runs, failed, compactions } = histogram;
  const width = timelineWidth.value / columns;
  const base = Array.from({ length: columns }, () => 0);
  const { left, top, height, below } = place;
  const counts = lane === "compaction" ? compactions : runs[lane];
  const most = Math.max(1, ...counts);
  const bars = (heights: readonly number[]) =>
    heights
      .map((share, at) => {
        if (share === 0) return "";
        const size = Math.max(1.5, (share / most) * below);
        return rectangle(left + at * width, top + height + 2 + below - size, width, size);
      })
      .join("");
  return (
    <g>
      {Object.entries(states[lane]).map(([state, shares]) => {
        const shape = shares
          .map((share, at) => {
            const start = base[at] ?? 0;
            base[at] = start + share;
            if (share === 0) return "";
            return rectangle(left + at * width, top + start * height, width, Math.max(0.5, share * height));
          })
          .join("");
        return (
          <g key={state} class="span" style={stateStyle(state)}>
            <title>{`${LANE_LABELS[lane]}, share of the time: ${stateLabel(state)}`}</title>
            <path d={shape} />
          </g>
        );
      })}
      <g class={lane === "compaction" ? "bars compactions" : "bars"}>
        <title>
          {lane === "compaction"
            ? `compactions, ${countOf(most, "compaction")} at most in a column`
            : `runs that ended, ${countOf(most, "run")} at most in a column; failed ones in red`}
        </title>
        <path d={bars(counts)} />
        {lane !== "compaction" && <path class="failed" d={bars(failed[lane])} />}
      </g>
    </g>
  );
}

function rectangle(x: number, y: number, width: number, height: number): string {
  return `M${x.toFixed(2)} ${y.toFixed(2)}h${width.toFixed(2)}v${height.toFixed(2)}h${(-width).toFixed(2)}z`;
}
