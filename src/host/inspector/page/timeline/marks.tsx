import { compact, timeOfDay } from "../../../../reducers/words.ts";
import type { Timeline } from "../../history/viewer-data.ts";
import { pins } from "../moments.ts";
import { axis, detail, selectedX, timelineWidth } from "../store.ts";
import { type StretchEnd, stretch } from "../stretch.ts";
import { GUTTER, pixelOf } from "./scale.ts";

/** The selected stretch, over the lanes */
export function StretchMark({ shown }: { shown: Timeline }) {
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

/** Where the two pinned moments are */
export function PinMarks({ shown }: { shown: Timeline }) {
  return (["a", "b"] as const).map((name) => {
    const row = pins.value[name];
    const x = shown.axis === "event" ? row?.index : row?.at;
    if (x === undefined || x < shown.from || x > shown.to) return null;
    return (
      <b key={name} class="pin-mark" style={{ left: `${pixelOf(shown, x)}px` }}>
        {name.toUpperCase()}
      </b>
    );
  });
}

/** The selected event's line, through the lanes and the clocks. */
export function Cursor({ shown }: { shown: Timeline }) {
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
