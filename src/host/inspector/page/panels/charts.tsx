import { signal } from "@preact/signals";
import type { LaneName } from "../../../../reducers/engine/lane-names.ts";
import { compact, LANE_LABELS, stateLabel } from "../../../../reducers/words.ts";
import type { LaidOutChart } from "../../history/viewer-data.ts";
import { stateStyle } from "../state-style.ts";
import { detail, LANES, overview, selected } from "../store.ts";

/** Put in by the build, which lays the charts out. */
declare const LAID_OUT_CHARTS: Record<LaneName, LaidOutChart>;

/** A lane shown alone and large */
const enlarged = signal<LaneName | null>(null);

/** The lanes' statecharts: where each lane is, the arrow it took last, and how often each arrow was taken. */
export function ChartsPanel() {
  const lanes = enlarged.value ? [enlarged.value] : LANES;
  return (
    <div
      class="charts"
      // By their widths, so that all are drawn at one scale.
      style={{
        gridTemplateColumns: lanes.map((lane) => `minmax(230px, ${LAID_OUT_CHARTS[lane].width}fr)`).join(" "),
      }}
    >
      {lanes.map((lane) => (
        <Chart key={lane} lane={lane} />
      ))}
    </div>
  );
}

function Chart({ lane }: { lane: LaneName }) {
  const chart = LAID_OUT_CHARTS[lane];
  const now = detail.value?.lanes[lane];
  const taken = overview.value?.taken[lane] ?? {};
  const most = Math.max(1, ...Object.values(taken));
  const just = now?.arrowsAt === selected.value;
  return (
    <figure>
      <figcaption>
        <button
          type="button"
          class="enlarge"
          title="Enlarge, or all three"
          onClick={() => {
            enlarged.value = enlarged.value ? null : lane;
          }}
        >
          {LANE_LABELS[lane]}
        </button>
        {now && (
          <span class="state" style={stateStyle(now.state)}>
            {stateLabel(now.state)}
          </span>
        )}
      </figcaption>
      <svg
        viewBox={`-4 -4 ${chart.width + 8} ${chart.height + 8}`}
        role="img"
        aria-label={`Chart of ${LANE_LABELS[lane]}`}
      >
        <defs>
          {["never", "some", "last"].map((kind) => (
            <marker
              key={kind}
              id={`${lane}-${kind}`}
              class={`head ${kind}`}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              markerUnits="userSpaceOnUse"
              orient="auto"
            >
              <path d="M0 0L8 4L0 8z" />
            </marker>
          ))}
        </defs>
        {chart.nodes.map(({ id, label, description, x, y, width, height, group }) => {
          const active = now !== undefined && (now.state === id || now.state.startsWith(`${id}.`));
          return (
            <g
              key={id}
              class={`node ${group ? "group" : ""} ${active ? "active" : ""}`}
              style={active ? stateStyle(now.state) : undefined}
            >
              <title>{description}</title>
              <rect x={x} y={y} width={width} height={height} rx={5} />
              <text x={x + width / 2} y={group ? y + 15 : y + height / 2 + 4}>
                {stateLabel(label)}
              </text>
            </g>
          );
        })}
        {chart.edges.map(({ id, transitions, points, label }) => {
          const times = taken[id] ?? 0;
          const isLast = now?.arrows.includes(id) ?? false;
          const kind = isLast ? "last" : times === 0 ? "never" : "some";
          const words = transitions.map(({ event, guard }) => (guard ? `${event} [${guard}]` : event));
          return (
            <g key={id} class={`edge ${kind} ${isLast && just ? "just" : ""}`}>
              <title>{`${id.split(">").map(stateLabel).join(" → ")}: taken ${times} times\n${words.join("\n")}`}</title>
              <polyline
                points={points.map(({ x, y }) => `${x},${y}`).join(" ")}
                stroke-width={isLast ? 2.5 : times === 0 ? 1 : 1 + 2 * (Math.log1p(times) / Math.log1p(most))}
                marker-end={`url(#${lane}-${kind})`}
              />
              {times > 0 && (
                <text class="edge-count" x={label.x} y={label.y + 4}>
                  {compact(times)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
