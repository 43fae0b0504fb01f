import { batch, computed, effect, signal } from "@preact/signals";
import type { LaneName } from "../../../reducers/engine/lane-names.ts";
import { LANE_LABELS } from "../../../reducers/words.ts";
import type {
  Axis,
  EventDetail,
  EventFilter,
  EventRow,
  Memory,
  MemoryView,
  Overview,
  Timeline,
} from "../history/viewer-data.ts";
import { keepRecording } from "./kept-recording.ts";
import {
  askEventDetail,
  askEvents,
  askIndexAt,
  askJump,
  askMemory,
  askNumbered,
  askOverview,
  askPosition,
  askTimeline,
  followSource,
} from "./server-data.ts";

export const LANES = Object.keys(LANE_LABELS) as LaneName[];

export type Panel = "event" | "charts" | "memory" | "compare";

export const overview = signal<Overview | null>(null);
export const failure = signal<string | null>(null);
/** The selected event, by index */
export const selected = signal(0);
export const detail = signal<EventDetail | null>(null);
export const memory = signal<Memory | null>(null);
export const memoryView = signal<MemoryView>("full");
/** There is room for the memory beside everything else */
export const isWide = signal(false);
export const axis = signal<Axis>("event");
/** What the time line shows, in units of the axis; the whole when null */
export const view = signal<readonly [number, number] | null>(null);
export const timeline = signal<Timeline | null>(null);
/** The whole of it, while a part is shown */
export const whole = signal<Timeline | null>(null);
export const timelineWidth = signal(900);
export const filter = signal<EventFilter>({ types: [], lanes: [], text: "" });
export const panel = signal<Panel>("event");
export const helpShown = signal(false);
/** Go to the newest event whenever there is one */
export const following = signal(false);
/** Whoever tells of new events is still there */
export const connected = signal(false);
export const playing = signal(false);
/** Events a second */
export const speed = signal(8);

export const count = computed(() => overview.value?.count ?? 0);
/** More events may come */
export const grows = computed(() => overview.value?.complete === false);

/** What is shown of the selected event is still that of another one */
export const isBusy = computed(() => detail.value?.row.index !== selected.value);

export function fail(error: unknown): void {
  failure.value = error instanceof Error ? error.message : String(error);
}

/** Asks the server, and drops the answer when a newer question has been asked meanwhile. */
export function latestOnly<A extends unknown[], T>(
  ask: (...args: A) => Promise<T>,
  take: (answer: T) => void,
) {
  let asked = 0;
  let running = false;
  let waiting: A | undefined;
  const run = async (args: A): Promise<void> => {
    running = true;
    const turn = ++asked;
    try {
      const answer = await ask(...args);
      if (turn === asked) take(answer);
      failure.value = null;
    } catch (error) {
      fail(error);
    }
    running = false;
    const next = waiting;
    waiting = undefined;
    if (next) void run(next);
  };
  return (...args: A): void => {
    if (running) waiting = args;
    else void run(args);
  };
}

const loadDetail = latestOnly(askEventDetail, (answer) => {
  detail.value = answer;
});
const loadMemory = latestOnly(askMemory, (answer) => {
  memory.value = answer;
});
const loadTimeline = latestOnly(askTimeline, (answer) => {
  timeline.value = answer;
});

const loadWhole = latestOnly(askTimeline, (answer) => {
  whole.value = answer;
});

/**
 * Selects an event; one that is out of range means the nearest that there is. Who selects the newest one follows what
 * comes after it, and nobody else is moved.
 */
export function select(index: number): void {
  const last = count.value - 1;
  const wanted = Math.max(0, Math.min(last, Math.round(index)));
  batch(() => {
    selected.value = wanted;
    following.value = grows.value && wanted >= last;
  });
}

/** Steps through the events that the filter lets through. */
export function step(direction: 1 | -1, by = 1): void {
  const { types, lanes, text } = filter.value;
  const isAll = types.length === 0 && lanes.length === 0 && text.trim() === "";
  if (isAll) select(selected.value + direction * by);
  else stepAmong(filter.value, direction, by).catch(fail);
}

async function stepAmong(wanted: EventFilter, direction: 1 | -1, by: number): Promise<void> {
  const position = await askPosition(wanted, selected.value, () => wanted === filter.peek());
  if (position === null) return;
  const row = await nthMatch(wanted, Math.max(0, position + direction * by));
  if (row && (direction > 0 ? row.index > selected.value : row.index < selected.value)) select(row.index);
}

/** The match at a position, or the last one, as soon as it has been found. */
async function nthMatch(wanted: EventFilter, position: number): Promise<EventRow | undefined> {
  for (;;) {
    const { rows, matches, searched } = await askEvents(wanted, position, 1);
    if (rows.length > 0) return rows[0];
    if (wanted !== filter.peek()) return undefined;
    if (searched < count.value) continue;
    return matches === 0 ? undefined : (await askEvents(wanted, matches - 1, 1)).rows[0];
  }
}

/** Jumps to where a lane (or any lane) changes next. */
export function jump(lane: LaneName | null, direction: 1 | -1): void {
  askJump(lane, selected.value, direction).then((index) => {
    if (index !== null) select(index);
  }, fail);
}

/** Selects the event at a point of the time line. */
export function selectAt(x: number): void {
  if (axis.value === "event") select(x);
  else askIndexAt(x).then(select, fail);
}

export function follow(): void {
  batch(() => {
    playing.value = false;
    select(count.value - 1);
  });
}

export function setAxis(next: Axis): void {
  batch(() => {
    axis.value = next;
    view.value = null;
  });
}

/** Zooms the time line around a point by a factor; the whole is the limit. */
export function zoom(factor: number, around: number): void {
  const shown = timeline.value;
  if (!shown) return;
  const [first, last] = wholeOf();
  const from = around - (around - shown.from) * factor;
  const to = around + (shown.to - around) * factor;
  const smallest = axis.value === "event" ? 10 : 2000;
  if (to - from < smallest) return;
  view.value = from <= first && to >= last ? null : [Math.max(first, from), Math.min(last, to)];
}

/** Zooms around the selected event, or around the middle where that is out of sight. */
export function zoomHere(factor: number): void {
  const shown = timeline.value;
  if (!shown) return;
  const x = selectedX.value;
  zoom(factor, x >= shown.from && x <= shown.to ? x : (shown.from + shown.to) / 2);
}

/** Moves the part of the time line that is shown so that its middle is at a point. */
export function moveView(middle: number): void {
  const shown = view.value;
  if (!shown) return;
  const [first, last] = wholeOf();
  const size = shown[1] - shown[0];
  const from = Math.max(first, Math.min(last - size, middle - size / 2));
  view.value = [from, from + size];
}

/** Moves the time line by a share of its width. */
export function pan(share: number): void {
  const shown = timeline.value;
  if (!shown || view.value === null) return;
  const [first, last] = wholeOf();
  const size = shown.to - shown.from;
  const from = Math.max(first, Math.min(last - size, shown.from + share * size));
  view.value = [from, from + size];
}

/** How much of the time line is shown beyond an event that it was moved to. */
const SHARE_BEYOND = 0.1;

/** Moves a time line that shows a part only, so that it shows this point too. */
function showOnTimeline(x: number): void {
  const shown = view.peek();
  if (!shown || (x >= shown[0] && x <= shown[1])) return;
  const [first, last] = wholeOf();
  const size = shown[1] - shown[0];
  const wanted = x < shown[0] ? x - SHARE_BEYOND * size : x - (1 - SHARE_BEYOND) * size;
  const from = Math.max(first, Math.min(last - size, wanted));
  view.value = [from, from + size];
}

/** What the whole time line spans, in units of the axis */
export const wholeRange = () => wholeOf();

/** How much larger than the whole the time line is shown; 1 when it is the whole */
export const magnification = computed(() => {
  const shown = view.value;
  if (!shown) return 1;
  const [first, last] = wholeOf();
  return (last - first) / Math.max(1e-9, shown[1] - shown[0]);
});

function wholeOf(): [number, number] {
  const known = overview.value;
  if (!known) return [0, 1];
  return axis.value === "event" ? [0, Math.max(1, known.count - 1)] : [known.firstAt, known.lastAt];
}

/** Where the selected event is on the time line. */
export const selectedX = computed(() =>
  axis.value === "event" ? selected.value : (detail.value?.row.at ?? overview.value?.firstAt ?? 0),
);

/** The number of the event that the address names, until the event has been read */
let sought: number | null = null;
let soughtIndex = 0;

/** Goes to the event that the address names; where it names none, to the newest of a running Pi, else to the first decision. */
async function goToAddress(): Promise<void> {
  const { hash } = location;
  const number = Number(new URLSearchParams(hash.slice(1)).get("event") ?? Number.NaN);
  const { source, firstDecision } = overview.peek() ?? {};
  if (Number.isInteger(number)) {
    sought = number;
    await seek();
  } else if (hash === NEWEST || (hash === "" && source?.kind === "live")) select(count.value - 1);
  else select(firstDecision ?? 0);
}

const NEWEST = "#newest";

async function seek(): Promise<void> {
  if (sought === null) return;
  const { index, pending } = await askNumbered(sought);
  // The server may be ahead of what this page knows to be there.
  if (!pending && index < count.peek()) sought = null;
  batch(() => {
    select(index);
    following.value = false;
  });
  soughtIndex = selected.peek();
}

/** Loads everything and keeps it loaded as the selection, the view and the source change. */
export async function start(): Promise<void> {
  try {
    overview.value = await askOverview();
  } catch (error) {
    fail(error);
    return;
  }
  // Two runs meet at a time and not at an event's place in its list.
  if (overview.value.hasReal) axis.value = "time";
  await goToAddress().catch(fail);
  addEventListener("hashchange", () => void goToAddress().catch(fail));
  if (grows.value) {
    connected.value = true;
    const saves = overview.value?.source.saveAs !== null;
    followSource((progress) => {
      if (!progress) {
        connected.value = false;
        return;
      }
      batch(() => {
        if (overview.value) overview.value = { ...overview.value, ...progress };
        if (following.value) selected.value = Math.max(0, progress.count - 1);
      });
      // Who goes elsewhere meanwhile does not want to be taken there any more.
      if (selected.peek() !== soughtIndex) sought = null;
      seek().catch(fail);
      if (saves) keepRecording(progress.count).catch(() => {});
    });
  }
  const wide = matchMedia("(min-width: 1600px)");
  const widen = () => {
    isWide.value = wide.matches;
  };
  wide.addEventListener("change", widen);
  widen();
  effect(() => {
    if (count.value > 0) loadDetail(selected.value);
  });
  effect(() => {
    if ((panel.value === "memory" || isWide.value) && count.value > 0) {
      loadMemory(selected.value, memoryView.value);
    }
  });
  effect(() => {
    if (count.value > 0) loadTimeline(axis.value, view.value, timelineWidth.value);
  });
  effect(() => {
    if (view.value && count.value > 0) loadWhole(axis.value, null, timelineWidth.value);
  });
  effect(() => showOnTimeline(selectedX.value));
  effect(() => {
    // Who follows does so again after the page is loaded anew.
    if (following.value) history.replaceState(null, "", NEWEST);
    else if (detail.value && !isBusy.value && sought === null) {
      history.replaceState(null, "", `#event=${detail.value.row.number}`);
    }
  });
  effect(() => {
    if (!playing.value) return;
    const everyMs = Math.max(33, 1000 / speed.value);
    const by = Math.max(1, Math.round((speed.value * everyMs) / 1000));
    const timer = setInterval(() => {
      if (selected.value >= count.value - 1) playing.value = false;
      else step(1, by);
    }, everyMs);
    return () => clearInterval(timer);
  });
}
