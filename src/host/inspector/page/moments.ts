import { effect, signal } from "@preact/signals";
import type { EventRow, MomentsCompared, RunsCompared } from "../history/viewer-data.ts";
import { askMoments, askRuns } from "./server-data.ts";
import { count, detail, fail, latestOnly, overview, panel } from "./store.ts";

export type PinName = "a" | "b";

/** The two moments that are compared */
export const pins = signal<Readonly<Record<PinName, EventRow | null>>>({ a: null, b: null });
export const moments = signal<MomentsCompared | null>(null);
export const runs = signal<RunsCompared | null>(null);

const loadMoments = latestOnly(askMoments, (answer) => {
  moments.value = answer;
});

/** Pins the selected event as one of the two; once there are both, they are shown side by side. */
export function pin(name: PinName): void {
  const row = detail.value?.row;
  if (!row) return;
  pins.value = { ...pins.value, [name]: row };
  if (pins.value.a && pins.value.b) panel.value = "compare";
}

/** Pins the selected event as whichever is missing: first A, then B, then B anew. */
export function pinNext(): void {
  pin(pins.value.a ? "b" : "a");
}

export function unpin(): void {
  pins.value = { a: null, b: null };
  moments.value = null;
}

effect(() => {
  const { a, b } = pins.value;
  if (a && b) loadMoments(a.index, b.index);
});
effect(() => {
  const isShown = panel.value === "compare" && overview.value?.hasReal === true && count.value > 0;
  if (!isShown || runs.peek()) return;
  askRuns().then((answer) => {
    runs.value = answer;
  }, fail);
});
