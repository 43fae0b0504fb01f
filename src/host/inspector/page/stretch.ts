import { effect, signal } from "@preact/signals";
import type { EventRow, StretchTotals } from "../history/viewer-data.ts";
import { askStretch } from "./server-data.ts";
import { detail, latestOnly } from "./store.ts";

export type StretchEnd = Pick<EventRow, "index" | "number" | "at">;

/** A stretch of events that is selected to be summed */
export const stretch = signal<{ from: StretchEnd; to: StretchEnd } | null>(null);
export const totals = signal<StretchTotals | null>(null);

const loadTotals = latestOnly(askStretch, (answer) => {
  totals.value = answer;
});
effect(() => {
  if (stretch.value) loadTotals(stretch.value.from.index, stretch.value.to.index);
});

/** The event that `s` was pressed at first */
let mark: StretchEnd | null = null;

/** Selects the stretch between two events, whichever is the earlier. */
export function selectStretch(a: StretchEnd, b: StretchEnd): void {
  stretch.value = a.index <= b.index ? { from: a, to: b } : { from: b, to: a };
}

/** The first time: a stretch begins here. The second time: it ends here. The third time: it is let go. */
export function markStretch(): void {
  const row = detail.value?.row;
  if (!row) return;
  if (stretch.value && !mark) {
    clearStretch();
    return;
  }
  selectStretch(mark ?? row, row);
  mark = mark ? null : row;
}

export function clearStretch(): void {
  mark = null;
  stretch.value = null;
  totals.value = null;
}
