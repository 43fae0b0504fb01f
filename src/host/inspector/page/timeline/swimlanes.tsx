import { useEffect, useRef } from "preact/hooks";
import type { LaneName } from "../../../../reducers/engine/lane-names.ts";
import { duration, LANE_LABELS, stateLabel } from "../../../../reducers/words.ts";
import type { LanesDrawn, Timeline, TimelineRun } from "../../history/viewer-data.ts";
import { eventAt } from "../server-data.ts";
import { stateStyle } from "../state-style.ts";
import { axis, fail, LANES, pan, select, selectAt, timeline, timelineWidth, zoom } from "../store.ts";
import { type StretchEnd, selectStretch } from "../stretch.ts";
import { LaneHistogram } from "./histogram.tsx";
import { Cursor, PinMarks, StretchMark } from "./marks.tsx";
import { GUTTER, pixelOf } from "./scale.ts";

/** Height of a lane's row and of its bar, in pixels: alone, and where each lane has two */
const ALONE = { row: 30, bar: 14 };
const PAIRED = { row: 21, bar: 10 };

/** The lanes' states over time, their runs with results, and the compactions. */
export function Swimlanes() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      timelineWidth.value = Math.max(100, Math.round(element.clientWidth - GUTTER.left - GUTTER.right));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const shown = timeline.value;
  return (
    <div class="swimlanes" ref={host} onWheel={onWheel} onPointerDown={scrub} onPointerMove={scrub}>
      {shown && (
        <svg width="100%" height={heightOf(shown)} role="img" aria-label="States of the lanes over time">
          {LANES.map((lane, row) =>
            shown.real ? (
              <g key={lane}>
                <Lane lane={lane} row={2 * row} run="real" drawn={shown.real} shown={shown} size={PAIRED} />
                <Lane lane={lane} row={2 * row + 1} run="what if" drawn={shown} shown={shown} size={PAIRED} />
              </g>
            ) : (
              <Lane key={lane} lane={lane} row={row} drawn={shown} shown={shown} size={ALONE} />
            ),
          )}
          {shown.real && <Compactions drawn={shown.real} shown={shown} isReal />}
          <Compactions drawn={shown} shown={shown} />
        </svg>
      )}
      {shown && <StretchMark shown={shown} />}
      {shown && <PinMarks shown={shown} />}
      {shown && <Cursor shown={shown} />}
    </div>
  );
}

function heightOf({ real }: Timeline): number {
  return (real ? 2 * LANES.length * PAIRED.row : LANES.length * ALONE.row) + 4;
}

function Compactions({
  drawn,
  shown,
  isReal = false,
}: {
  drawn: LanesDrawn;
  shown: Timeline;
  isReal?: boolean;
}) {
  const height = heightOf(shown);
  return drawn.compactions.map(({ x, index, result, count }) => (
    <g key={index}>
      <title>{`compaction ${result}${count > 1 ? `, ${count} of them` : ""}${isReal ? ", as it was" : ""}`}</title>
      <line
        class={`compaction-line ${result === "failed" ? "failed" : ""} ${isReal ? "real" : ""}`}
        x1={pixelOf(shown, x)}
        x2={pixelOf(shown, x)}
        y1={0}
        y2={height}
      />
    </g>
  ));
}

interface LaneProps {
  lane: LaneName;
  row: number;
  /** Which of two runs it is, in words */
  run?: "real" | "what if";
  drawn: LanesDrawn;
  shown: Timeline;
  size: typeof ALONE;
}

function Lane({ lane, row, run, drawn, shown, size }: LaneProps) {
  const top = row * size.row + 4;
  const base = top + size.bar - 3;
  const place = { left: GUTTER.left, top, height: size.bar, below: size.row - size.bar - 4 };
  return (
    <g>
      <text class={run === "what if" ? "run-name" : "lane-name"} x={8} y={base}>
        {run === "what if" ? "what if" : LANE_LABELS[lane]}
        {run && (
          <title>{`${LANE_LABELS[lane]}, ${run === "real" ? "as it was" : "under the other settings"}`}</title>
        )}
      </text>
      {drawn.histogram && <LaneHistogram lane={lane} histogram={drawn.histogram} place={place} />}
      <Strips lane={lane} drawn={drawn} shown={shown} top={top} bar={size.bar} />
      {drawn.lanes[lane].map(([x0, x1, state]) => {
        const left = pixelOf(shown, x0);
        const width = pixelOf(shown, x1) - left;
        if (width < STRIP) return null;
        return (
          <g key={x0} class="span" style={stateStyle(state)}>
            <title>{`${LANE_LABELS[lane]}: ${stateLabel(state)}`}</title>
            <rect x={left} y={top} width={width} height={size.bar} />
            {width > stateLabel(state).length * 6.5 + 8 && (
              <text x={left + 5} y={base}>
                {stateLabel(state)}
              </text>
            )}
          </g>
        );
      })}
      {drawn.runs
        .filter((each) => each.lane === lane)
        .map((each) => (
          <Run key={each.runId} run={each} top={top + size.bar + 2} shown={shown} isReal={run === "real"} />
        ))}
    </g>
  );
}

/** Stretches that are narrower have no room for a word. A long recording has a thousand of them. */
const STRIP = 12;

interface StripsProps extends Pick<LaneProps, "lane" | "drawn" | "shown"> {
  top: number;
  bar: number;
}

/** All narrow stretches of a lane, those of one state as one shape. */
function Strips({ lane, drawn, shown, top, bar }: StripsProps) {
  const shapes = new Map<string, string>();
  for (const [x0, x1, state] of drawn.lanes[lane]) {
    const left = pixelOf(shown, x0);
    const width = Math.max(0.75, pixelOf(shown, x1) - left);
    if (width >= STRIP) continue;
    const shape = `M${left.toFixed(2)} ${top}h${width.toFixed(2)}v${bar}h${(-width).toFixed(2)}z`;
    shapes.set(state, (shapes.get(state) ?? "") + shape);
  }
  return [...shapes].map(([state, shape]) => (
    <g key={state} class="span" style={stateStyle(state)}>
      <title>{`${LANE_LABELS[lane]}: ${stateLabel(state)}`}</title>
      <path d={shape} />
    </g>
  ));
}

const MARKS: Record<string, string> = { recorded: "●", empty: "○", failed: "✕", stale: "◌", aborted: "◌" };

function Run({
  run,
  top,
  shown,
  isReal,
}: {
  run: TimelineRun;
  top: number;
  shown: Timeline;
  isReal: boolean;
}) {
  const left = Math.max(GUTTER.left, pixelOf(shown, run.x0));
  const right = Math.min(GUTTER.left + timelineWidth.value, pixelOf(shown, run.x1));
  const words = [
    run.count > 1 ? `${run.count} runs of the ${run.worker}, the worst:` : run.runId,
    run.outcome ?? "in flight",
    run.records > 0 ? `${run.records} records` : "",
    run.durationMs === null ? "" : duration(run.durationMs),
  ];
  return (
    <g
      class={`run outcome-${run.outcome ?? "open"}`}
      onPointerDown={(event) => (isReal ? undefined : choose(event, run))}
    >
      <title>{words.filter((word) => word !== "").join(" · ")}</title>
      <line x1={left} x2={Math.max(left + 1, right)} y1={top + 4} y2={top + 4} />
      {run.outcome && (
        <text x={right} y={top + 8}>
          {MARKS[run.outcome] ?? ""}
        </text>
      )}
    </g>
  );
}

function choose(event: PointerEvent, run: TimelineRun): void {
  event.stopPropagation();
  select(run.to ?? run.from);
}

function valueAt(event: MouseEvent): number | undefined {
  const shown = timeline.value;
  const box = (event.currentTarget as Element).getBoundingClientRect();
  const pixel = event.clientX - box.left - GUTTER.left;
  if (!shown || pixel < 0) return undefined;
  return shown.from + (Math.min(pixel, timelineWidth.value) / timelineWidth.value) * (shown.to - shown.from);
}

const PRIMARY_BUTTON = 1;

/** Where a stretch is being drawn from, by event */
let drawnFrom: StretchEnd | null = null;

/** Selects what is under the pointer, while the button is down; with ⇧ the stretch from where it went down. */
export function scrub(event: PointerEvent): void {
  if ((event.buttons & PRIMARY_BUTTON) === 0) return;
  const value = valueAt(event);
  if (value === undefined) return;
  if (event.shiftKey) drawStretch(value, event.type === "pointerdown");
  else selectAt(value);
}

function drawStretch(x: number, isStart: boolean): void {
  eventAt(axis.value, x).then((found) => {
    if (!found) return;
    if (isStart || !drawnFrom) drawnFrom = found;
    selectStretch(drawnFrom, found);
  }, fail);
}

export function onWheel(event: WheelEvent): void {
  event.preventDefault();
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    pan(Math.sign(event.deltaX || event.deltaY) * 0.1);
    return;
  }
  const value = valueAt(event);
  if (value !== undefined) zoom(event.deltaY > 0 ? 1.25 : 0.8, value);
}
