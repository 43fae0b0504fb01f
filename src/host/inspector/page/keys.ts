import { pinNext } from "./moments.ts";
import {
  axis,
  count,
  follow,
  grows,
  helpShown,
  isWide,
  jump,
  LANES,
  type Panel,
  pan,
  panel,
  playing,
  select,
  setAxis,
  speed,
  step,
  view,
  zoomHere,
} from "./store.ts";
import { markStretch } from "./stretch.ts";

/** The keys and what they do, for the help and for the page's `keydown`. */
export const KEYS: { keys: string; words: string }[] = [
  { keys: "→ ←  or  j k", words: "next, previous event (of those that the filter shows)" },
  { keys: "⇧→ ⇧←", words: "ten events on, back" },
  { keys: "Home End", words: "first, last event" },
  { keys: "n p", words: "next, previous change of any lane" },
  { keys: "1 2 3", words: "next change of observer, reflect/drop, compaction; with ⇧ the previous" },
  { keys: "Space", words: "play, pause" },
  { keys: "+ −", words: "twice, half as fast" },
  { keys: "f", words: "go to the newest event and follow" },
  { keys: "/", words: "search the events; Esc there shows all again" },
  { keys: "PgUp PgDn", words: "scroll what is known of the event" },
  { keys: "e c y v", words: "the event, charts, memory, comparison" },
  { keys: "m", words: "pin this event as A, then another one as B, to compare them" },
  { keys: "z x a", words: "zoom in, out, show all" },
  { keys: "[ ]", words: "move the time line" },
  { keys: "s", words: "mark a stretch here, then its end, and its sums are shown; again: let it go" },
  { keys: "t", words: "event axis, time axis" },
  { keys: "d", words: "light, dark" },
  { keys: "?", words: "this help" },
];

const PANELS: Record<string, Panel> = { e: "event", c: "charts", y: "memory", v: "compare" };

export function onKey(event: KeyboardEvent): void {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Tab") clicked = null;
  if (target instanceof HTMLInputElement && target.type === "search") {
    if (event.key === "Escape" || event.key === "Enter") target.blur();
    return;
  }
  if (target instanceof HTMLSelectElement || isForControl(event) || helpShown.value) return;
  // Escape closes what is open before it means anything else.
  if (document.querySelector(":popover-open")) return;
  if (act(event)) event.preventDefault();
}

/** The control that was clicked last, while nobody has pressed Tab since */
let clicked: Element | null = null;

export function onPointerDown({ target }: PointerEvent): void {
  clicked = target instanceof Element ? target.closest(PRESSABLE) : null;
}

const PRESSABLE = "button, summary";

/** Whether the key presses the control that Tab has gone to. Who has clicked on one means the page again. */
function isForControl({ key, target }: KeyboardEvent): boolean {
  return (
    (key === " " || key === "Enter") &&
    target instanceof Element &&
    target.matches(PRESSABLE) &&
    target !== clicked
  );
}

/** Whether the key meant something. */
function act({ key, code, shiftKey }: KeyboardEvent): boolean {
  const digit = /^Digit([123])$/.exec(code)?.[1];
  if (digit !== undefined) {
    jump(LANES[Number(digit) - 1] ?? null, shiftKey ? -1 : 1);
    return true;
  }
  const chosen = PANELS[key];
  if (chosen) {
    if (chosen !== "memory" || !isWide.value) panel.value = chosen;
    return true;
  }
  const action = ACTIONS[key];
  if (!action) return false;
  action(shiftKey ? 10 : 1);
  return true;
}

const ACTIONS: Record<string, (by: number) => void> = {
  ArrowRight: (by) => step(1, by),
  ArrowDown: (by) => step(1, by),
  j: () => step(1),
  ArrowLeft: (by) => step(-1, by),
  ArrowUp: (by) => step(-1, by),
  k: () => step(-1),
  Home: () => select(0),
  End: () => select(count.value - 1),
  PageUp: () => scrollPanel(-1),
  PageDown: () => scrollPanel(1),
  n: () => jump(null, 1),
  p: () => jump(null, -1),
  " ": () => {
    playing.value = !playing.value;
  },
  "+": faster,
  "=": faster,
  "-": () => {
    speed.value = Math.max(0.5, speed.value / 2);
  },
  f: () => {
    if (grows.value) follow();
  },
  "/": () => document.querySelector<HTMLInputElement>("input[type=search]")?.focus(),
  z: () => zoomHere(0.5),
  x: () => zoomHere(2),
  a: () => {
    view.value = null;
  },
  "[": () => pan(-0.5),
  "]": () => pan(0.5),
  m: pinNext,
  s: markStretch,
  t: () => setAxis(axis.value === "event" ? "time" : "event"),
  d: toggleTheme,
  "?": () => {
    helpShown.value = true;
  },
  Escape: () => {
    playing.value = false;
  },
};

function scrollPanel(direction: 1 | -1): void {
  const shown = document.querySelector(".panel > :last-child");
  shown?.scrollBy({ top: direction * shown.clientHeight * 0.8 });
}

function faster(): void {
  speed.value = Math.min(65_536, speed.value * 2);
}

/** Light or dark against the system's wish, until the page is closed. */
export function toggleTheme(): void {
  const { documentElement } = document;
  const dark = documentElement.dataset.theme
    ? documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  documentElement.dataset.theme = dark ? "light" : "dark";
  dispatchEvent(new Event("themechange"));
}
