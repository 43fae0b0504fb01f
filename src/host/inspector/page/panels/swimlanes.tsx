import { useEffect, useRef } from "preact/hooks";
import type { LaneName } from "../../../../reducers/engine/lane-names.ts";
import { compact, duration, LANE_LABELS, stateLabel, timeOfDay } from "../../../../reducers/words.ts";
import type { Timeline, TimelineRun } from "../../history/viewer-data.ts";
import { eventAt } from "../server-data.ts";
import { stateStyle } from "../state-style.ts";
import {
  axis,
  detail,
  fail,
  LANES,
  pan,
  select,
  selectAt,
  selectedX,
  timeline,
  timelineWidth,
  zoom,
} from "../store.ts";
import { type StretchEnd, selectStretch, stretch } from "../stretch.ts";
import { LaneHistogram } from "./histogram.tsx";

/** Space left and right of what is drawn, in pixels; the clocks' plot keeps the same. */
export const GUTTER = { left: 104, right: 24 };

const ROW = 30;
const BAR = 14;
const HEIGHT = LANES.length * ROW + 4;

/** Where a value of the axis is, in pixels from the left edge. */
export function pixelOf({ from, to }: Timeline, x: number): number {
  return GUTTER.left + ((x - from) / (to - from)) * timelineWidth.value;
}

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
        <svg width="100%" height={HEIGHT} role="img" aria-label="States of the lanes over time">
          {LANES.map((lane, row) => (
            <Lane key={lane} lane={lane} row={row} shown={shown} />
          ))}
          {shown.compactions.map(({ x, index, result, count }) => (
            <g key={index}>
              <title>{`compaction ${result}${count > 1 ? `, ${count} of them` : ""}`}</title>
              <line
                class={result === "failed" ? "compaction-line failed" : "compaction-line"}
                x1={pixelOf(shown, x)}
                x2={pixelOf(shown, x)}
                y1={0}
                y2={HEIGHT}
              />
            </g>
          ))}
        </svg>
      )}
      {shown && <StretchMark shown={shown} />}
      {shown && <Cursor shown={shown} />}
    </div>
  );
}

function Lane({ lane, row, shown }: { lane: LaneName; row: number; shown: Timeline }) {
  const top = row * ROW + 4;
  const place = { left: GUTTER.left, top, height: BAR, below: ROW - BAR - 4 };
  return (
    <g>
      <text class="lane-name" x={8} y={top + 11}>
        {LANE_LABELS[lane]}
      </text>
      {shown.histogram && <LaneHistogram lane={lane} histogram={shown.histogram} place={place} />}
      <Strips lane={lane} shown={shown} top={top} />
      {shown.lanes[lane].map(([x0, x1, state]) => {
        const left = pixelOf(shown, x0);
        const width = pixelOf(shown, x1) - left;
        if (width < STRIP) return null;
        return (
          <g key={x0} class="span" style={stateStyle(state)}>
            <title>{`${LANE_LABELS[lane]}: ${stateLabel(state)}`}</title>
            <rect x={left} y={top} width={width} height={BAR} />
            {width > stateLabel(state).length * 6.5 + 8 && (
              <text x={left + 5} y={top + 11}>
                {stateLabel(state)}
              </text>
            )}
          </g>
        );
      })}
      {shown.runs
        .filter((run) => run.lane === lane)
        .map((run) => (
          <Run key={run.runId} run={run} top={top + BAR + 2} shown={shown} />
        ))}
    </g>
  );
}

/** Stretches that are narrower have no room for a word. A long recording has a thousand of them. */
const STRIP = 12;

/** All narrow stretches of a lane, those of one state as one shape. */
function Strips({ lane, shown, top }: { lane: LaneName; shown: Timeline; top: number }) {
  const shapes = new Map<string, string>();
  for (const [x0, x1, state] of shown.lanes[lane]) {
    const left = pixelOf(shown, x0);
    const width = Math.max(0.75, pixelOf(shown, x1) - left);
    if (width >= STRIP) continue;
    const shape = `M${left.toFixed(2)} ${top}h${width.toFixed(2)}v${BAR}h${(-width).toFixed(2)}z`;
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

function Run({ run, top, shown }: { run: TimelineRun; top: number; shown: Timeline }) {
  const left = Math.max(GUTTER.left, pixelOf(shown, run.x0));
  const right = Math.min(GUTTER.left + timelineWidth.value, pixelOf(shown, run.x1));
  const words = [
    run.count > 1 ? `${run.count} runs of the ${run.worker}, the worst:` : run.runId,
    run.outcome ?? "in flight",
    run.records > 0 ? `${run.records} records` : "",
    run.durationMs === null ? "" : duration(run.durationMs),
  ];
  return (
    <g class={`run outcome-${run.outcome ?? "open"}`} onPointerDown={(event) => choose(event, run)}>
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

/** The selected stretch, over the lanes */
function StretchMark({ shown }: { shown: Timeline }) {
  const chosen = stretch.value;
  if (!chosen) return null;
  const xOf = ({ index, at }: StretchEnd) => (shown.axis === "event" ? index : at);
  const [from, to] = [Math.max(shown.from, xOf(chosen.from)), Math.min(shown.to, xOf(chosen.to))];
  if (to < from) return null;
  const left = pixelOf(shown, from);
  return (
    <div
      class="stretch"
      style={{ left: `${left}px`, width: `${Math.max(2, pixelOf(shown, to) - left)}px` }}
    />
  );
}

/** The selected event's line, through the lanes and the clocks. */
function Cursor({ shown }: { shown: Timeline }) {
  const x = selectedX.value;
  if (x < shown.from || x > shown.to) return null;
  const left = pixelOf(shown, x);
  const label =
    axis.value === "event"
      ? timeOfDay(detail.value?.row.at ?? 0)
      : `#${compact(detail.value?.row.number ?? 0)}`;
  return (
    <div
      class={left > GUTTER.left + timelineWidth.value - 60 ? "cursor flip" : "cursor"}
      style={{ left: `${left}px` }}
    >
      <span>{label}</span>
    </div>
  );
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
