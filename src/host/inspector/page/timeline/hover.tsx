import { signal } from "@preact/signals";
import { CLOCK_LABELS, grouped, LANE_LABELS, stateLabel, timeOfDay } from "../../../../reducers/words.ts";
import type { Timeline } from "../../history/viewer-data.ts";
import { stateStyle } from "../state-style.ts";
import { axis, LANES, timeline, timelineWidth } from "../store.ts";
import { GUTTER, pixelOf } from "./scale.ts";

/** Where the pointer is on the time line, in units of the axis */
export const hovered = signal<number | null>(null);

export function noteHover(event: PointerEvent): void {
  const shown = timeline.value;
  const box = (event.currentTarget as Element).getBoundingClientRect();
  const share = (event.clientX - box.left - GUTTER.left) / timelineWidth.value;
  const isOn = shown !== null && share >= 0 && share <= 1 && event.buttons === 0;
  hovered.value = isOn ? shown.from + share * (shown.to - shown.from) : null;
}

/** The values of the curves, and the lanes' states, under the pointer. */
export function Hover() {
  const shown = timeline.value;
  const x = hovered.value;
  if (!shown || x === null) return null;
  const at = lastAtOrBefore(shown.clocks.x, x);
  if (at < 0) return null;
  const left = pixelOf(shown, x);
  const isFlipped = left > GUTTER.left + timelineWidth.value * 0.6;
  const where = axis.value === "event" ? `#${grouped(Math.floor(x) + shown.offset)}` : timeOfDay(x);
  return (
    <div class={isFlipped ? "hover flip" : "hover"} style={{ left: `${left}px` }}>
      <div class="values">
        <p class="muted">{shown.histogram ? `about ${where}` : where}</p>
        <dl>
          {LANES.map((lane) => {
            const value = shown.clocks.values[lane][at] ?? 0;
            const threshold = shown.clocks.thresholds[lane][at] ?? 0;
            const state = stateAt(shown, lane, x);
            return (
              <div key={lane} style={`--clock: var(--clock-${lane})`}>
                <dt title={LANE_LABELS[lane]}>{CLOCK_LABELS[lane]}</dt>
                <dd>
                  {grouped(value)} of {grouped(threshold)}
                  {state && (
                    <span class="state" style={stateStyle(state)}>
                      {stateLabel(state)}
                    </span>
                  )}
                </dd>
              </div>
            );
          })}
        </dl>
      </div>
    </div>
  );
}

function stateAt({ lanes }: Timeline, lane: keyof Timeline["lanes"], x: number): string | undefined {
  return lanes[lane].find(([x0, x1]) => x >= x0 && x < x1)?.[2];
}

function lastAtOrBefore(list: readonly number[], x: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle] ?? 0) > x) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}
