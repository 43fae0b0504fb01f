import type { Timeline } from "../../history/viewer-data.ts";
import { timelineWidth } from "../store.ts";

/** Space left and right of what is drawn, in pixels; the clocks' plot keeps the same. */
export const GUTTER = { left: 104, right: 24 };

/** Where a value of the axis is, in pixels from the left edge. */
export function pixelOf({ from, to }: Timeline, x: number): number {
  return GUTTER.left + ((x - from) / (to - from)) * timelineWidth.value;
}
