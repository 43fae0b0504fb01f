import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { CLOCK_LABELS, compact, dateOf, grouped, timeOfDay } from "../../../../reducers/words.ts";
import type { Timeline } from "../../history/viewer-data.ts";
import { axis, detail, LANES, timeline, timelineWidth } from "../store.ts";
import { GUTTER } from "./scale.ts";
import { onWheel, scrub } from "./swimlanes.tsx";

const HEIGHT = 120;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 14, 30, 90, 365].map((n) => n * DAY),
];
const EVENT_STEPS = Array.from({ length: 9 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat();

/** Each clock as a share of its own threshold, so that one line is the threshold of all. */
export function ClocksPlot() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    let plot: uPlot | undefined;
    let theme = 0;
    const retheme = () => {
      theme++;
      draw();
    };
    let drawn = "";
    function draw(): void {
      const shown = timeline.value;
      if (!shown || !element) return;
      const width = timelineWidth.value + GUTTER.left + GUTTER.right;
      const isDense = shown.histogram !== null;
      const look = `${theme} ${shown.axis} ${isDense}`;
      if (!plot || drawn !== look) {
        plot?.destroy();
        drawn = look;
        plot = new uPlot(optionsFor(width, element, isDense), dataOf(shown), element);
      } else {
        plot.setSize({ width, height: HEIGHT });
        plot.setData(dataOf(shown), false);
      }
      plot.setScale("x", { min: shown.from, max: shown.to });
    }
    const stop = effect(draw);
    addEventListener("themechange", retheme);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", retheme);
    return () => {
      stop();
      removeEventListener("themechange", retheme);
      system.removeEventListener("change", retheme);
      plot?.destroy();
    };
  }, []);
  const clocks = detail.value?.clocks;
  return (
    <div class="clocks">
      <div ref={host} onWheel={onWheel} onPointerDown={scrub} onPointerMove={scrub} />
      <ul class="legend">
        {LANES.map((lane) => (
          <li key={lane} style={`--clock: var(--clock-${lane})`}>
            {CLOCK_LABELS[lane]}{" "}
            {clocks ? `${grouped(clocks[lane].clock)} of ${grouped(clocks[lane].threshold)}` : ""}
          </li>
        ))}
      </ul>
    </div>
  );
}

const HIGHEST_SHARE = 3;

function dataOf({ clocks }: Timeline): uPlot.AlignedData {
  const shares = LANES.map((lane) =>
    clocks.values[lane].map((value, at) =>
      Math.min(HIGHEST_SHARE, value / Math.max(1, clocks.thresholds[lane][at] ?? 1)),
    ),
  );
  return [clocks.x, ...shares, clocks.x.map(() => 1)];
}

/** `10:15`, with seconds where the steps are that small, and the day where they are that long */
function timeLabel(x: number, splits: readonly number[]): string {
  const step = (splits[1] ?? 0) - (splits[0] ?? 0);
  if (step >= DAY) return dateOf(x);
  return step % MINUTE === 0 ? timeOfDay(x).slice(0, "HH:MM".length) : timeOfDay(x);
}

function optionsFor(width: number, element: HTMLElement, isDense: boolean): uPlot.Options {
  // A canvas knows no variables and neither light nor dark; a style that is in use does.
  const colour = (name: string) => {
    element.style.color = `var(${name})`;
    return getComputedStyle(element).color;
  };
  // A clock stays as it is until the next event. Where a pixel has many of them, its lowest and highest value are joined.
  const paths = uPlot.paths.stepped?.({ align: 1 });
  const line = (name: string): uPlot.Series => ({
    stroke: isDense ? `color-mix(in srgb, ${colour(name)} 45%, transparent)` : colour(name),
    width: isDense ? 1 : 1.5,
    points: { show: false },
    ...(!isDense && paths && { paths }),
  });
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    // Above is the legend, which must not lie on the lines.
    padding: [18, GUTTER.right, 0, 0],
    scales: {
      x: { time: false, auto: false },
      y: { range: (_plot, _min, max) => [0, Math.max(1.15, max * 1.05)] },
    },
    axes: [
      {
        size: 22,
        font: "11px system-ui, sans-serif",
        stroke: colour("--muted"),
        grid: { show: false },
        ticks: { stroke: colour("--line"), size: 4 },
        values: (_plot, splits) =>
          splits.map((x, _at, all) =>
            axis.value === "event" ? `#${compact(x + (timeline.value?.offset ?? 1))}` : timeLabel(x, all),
          ),
        space: 90,
        incrs: axis.value === "time" ? TIME_STEPS : EVENT_STEPS,
      },
      {
        size: GUTTER.left,
        font: "11px system-ui, sans-serif",
        stroke: colour("--muted"),
        grid: { stroke: colour("--line"), width: 1 },
        ticks: { show: false },
        values: (_plot, splits) => splits.map((y) => `${Math.round(y * 100)} %`),
        splits: (_plot, _axis, _min, max) => (max > 1.6 ? [0, 1, 2, 3].filter((y) => y <= max) : [0, 0.5, 1]),
      },
    ],
    series: [
      {},
      line("--clock-observer"),
      line("--clock-reflectDrop"),
      line("--clock-compaction"),
      { stroke: colour("--threshold"), width: 1, dash: [5, 4], points: { show: false } },
    ],
  };
}
