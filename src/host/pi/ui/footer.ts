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
import type { LanesSnapshot } from "../../../machines/lanes/lanes.ts";
import type { EngineState } from "../../../reducers/engine/engine-state.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { harmlessText } from "../../../reducers/harmless-text.ts";
import { clocksOfSession } from "../../../reducers/session.ts";
import { compactionThreshold } from "../../../reducers/settings.ts";
import { LANE_LABELS } from "../../words.ts";

/** The key of our text in Pi's footer. */
export const FOOTER_KEY = "om";

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

/** The clocks with their thresholds, in source tokens, by the lane that waits for them. */
export function clocksByLane(state: EngineState): Record<LaneName, { clock: number; threshold: number }> {
  const clocks = clocksOfSession(state.session);
  const { settings, contextWindow } = state;
  return {
    observer: { clock: clocks.observe, threshold: settings.observeAfterTokens },
    reflectDrop: { clock: clocks.reflect, threshold: settings.reflectAfterTokens },
    compaction: { clock: clocks.compact, threshold: compactionThreshold(settings, contextWindow) },
  };
}

const CLOCK_NAMES: Readonly<Record<LaneName, string>> = {
  observer: "observe",
  reflectDrop: "reflect",
  compaction: "compact",
};

/** The footer's one line: each clock as a gauge, and what is going on. */
export function footerText(
  state: EngineState,
  states: LanesSnapshot["states"],
  paint: Paint = PLAIN,
): string {
  const clocks = clocksByLane(state);
  // Names first and single spaces: Pi makes one space of several, so that nothing else tells whose bar it is.
  const gauges = LANES.map((lane) => {
    const { clock, threshold } = clocks[lane];
    const bar = paint(clock >= threshold ? "warning" : "muted", gauge(clock, threshold));
    return `${paint("dim", CLOCK_NAMES[lane])} ${bar}`;
  });
  const doing = activityOf(states, state.settings.passive, paint);
  return [paint("dim", "om"), ...gauges, ...(doing === "" ? [] : [`${paint("dim", "▸")} ${doing}`])].join(
    " ",
  );
}

function activityOf(states: LanesSnapshot["states"], passive: boolean, paint: Paint): string {
  const running = [
    states.observer === "running" && "observing…",
    states.reflectDrop === "running.reflecting" && "reflecting…",
    states.reflectDrop === "running.dropping" && "dropping…",
    states.compaction === "compacting" && "compacting…",
  ].filter((word) => word !== false);
  if (running.length > 0) return paint("accent", running.join(" "));
  const held = LANES.filter((lane) => states[lane] === "backingOff");
  if (held.length > 0) {
    return paint("warning", `${held.map((lane) => LANE_LABELS[lane]).join(", ")} failed, backing off`);
  }
  return passive ? paint("dim", "passive") : "";
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
