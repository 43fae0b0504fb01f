import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import {
  asyncScheduler,
  distinctUntilChanged,
  filter,
  finalize,
  ignoreElements,
  map,
  merge,
  retry,
  tap,
  throttleTime,
} from "rxjs";
import { type Effect, quietly } from "../../../effects/effect.ts";
import { clocksByLane } from "../../../machines/lanes/inputs.ts";
import { isUnderWay, type LanesSnapshot } from "../../../machines/lanes/lanes.ts";
import type { EngineState } from "../../../reducers/engine/engine-state.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { whyPassive } from "../../../reducers/engine/session-host.ts";
import { harmlessText } from "../../../reducers/harmless-text.ts";
import { CLOCK_LABELS, stateWords } from "../../../reducers/words.ts";

/** The key of our text in Pi's footer. */
const FOOTER_KEY = "om";

/** Colours of Pi's theme that the footer and the overlay use. */
export type Tone = "accent" | "success" | "warning" | "error" | "muted" | "dim" | "text";

/** Puts a text into a colour; the identity where there are none. */
export type Paint = (tone: Tone, text: string) => string;

export const PLAIN: Paint = (_tone, text) => text;

const CELLS = 5;
const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A clock against its threshold as a bar of `cells` characters. It has no walls: beside a full cell they do not show. */
export function gauge(clock: number, threshold: number, cells = CELLS): string {
  const share = Math.min(1, Math.max(0, clock / Math.max(1, threshold)));
  const eighths = Math.round(share * cells * 8);
  const bar = "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
  return bar.padEnd(cells, "·");
}

/**
 * The footer's one line: each clock as a gauge. What goes on stands where it cannot be cut off in a terminal of 50 columns:
 * in the place of the clock's name for one lane, before all of them for memory as a whole.
 */
function footerText(state: EngineState, states: LanesSnapshot["states"], paint: Paint): string {
  const clocks = clocksByLane(state);
  // Names first and single spaces: Pi makes one space of several, so that nothing else tells whose bar it is.
  const gauges = LANES.map((lane) => {
    const { clock, threshold } = clocks[lane];
    const bar = paint(clock >= threshold ? "warning" : "muted", gauge(clock, threshold));
    return `${laneText(lane, states[lane], paint)} ${bar}`;
  });
  return [paint("dim", "om"), ...wholeWords(state, states, paint), ...gauges].join(" ");
}

function laneText(lane: LaneName, state: string, paint: Paint): string {
  if (isUnderWay(state) && state !== "requested") return paint("accent", `${stateWords(lane, state)}…`);
  if (state === "backingOff") return paint("warning", `${CLOCK_LABELS[lane]} failed`);
  return paint("dim", CLOCK_LABELS[lane]);
}

function wholeWords(state: EngineState, states: LanesSnapshot["states"], paint: Paint): string[] {
  if (LANES.some((lane) => states[lane] === "overBudget")) return [paint("warning", "over budget")];
  return whyPassive(state, "observer") === undefined ? [] : [paint("dim", "passive")];
}

/** Clocks are painted this often at most, in milliseconds. */
const PAINT_EVERY_MS = 50;

/** Our line in Pi's footer: the clocks as a stream, painted where they read differently, and gone with the session. */
export function footer(ctx: ExtensionContext): Effect {
  return (steps$, session) => {
    const paint = (text: string | undefined) => {
      if (session.isOpen() && ctx.hasUI) ctx.ui.setStatus(FOOTER_KEY, text);
    };
    // A lane that moves is shown at once, however short its run is; clocks that only go on can wait.
    const moves$ = steps$.pipe(filter(({ transitions }) => transitions.length > 0));
    const clocks$ = steps$.pipe(
      throttleTime(PAINT_EVERY_MS, asyncScheduler, { leading: true, trailing: true }),
    );
    const texts$ = merge(moves$, clocks$).pipe(
      filter(() => session.isOpen() && ctx.hasUI),
      map(({ state, snapshot }) => footerText(state, snapshot.states, paintOf(ctx))),
      distinctUntilChanged(),
    );
    return texts$.pipe(
      tap(quietly(paint)),
      // A theme that cannot colour a text costs that text alone.
      retry(),
      finalize(() => quietly(paint)(undefined)),
      ignoreElements(),
    );
  };
}

/** The colours of the terminal's theme, on text that was made harmless; RPC clients get plain text. */
export function paintOf(ctx: ExtensionContext): Paint {
  return ctx.mode === "tui" ? (tone, text) => ctx.ui.theme.fg(tone, harmlessText(text)) : PLAIN;
}
