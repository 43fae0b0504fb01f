import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { LanesSnapshot } from "../../../machines/lanes/lanes.ts";
import type { EngineState } from "../../../reducers/engine/engine-state.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
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

export interface Footer {
  /** Shows how things stand; does nothing when that reads the same as before. */
  update(state: EngineState, states: LanesSnapshot["states"]): void;
  clear(): void;
}

/** Our line in Pi's footer. `isOpen` turns false when `ctx` must not be touched any more. */
export function createFooter(ctx: ExtensionContext, isOpen: () => boolean): Footer {
  let shown: string | undefined;

  function show(text: string | undefined): void {
    if (text === shown || !isOpen() || !ctx.hasUI) return;
    shown = text;
    ctx.ui.setStatus(FOOTER_KEY, text);
  }

  return {
    update: (state, states) => {
      if (ctx.hasUI) show(footerText(state, states, paintOf(ctx)));
    },
    clear: () => show(undefined),
  };
}

/** The colours of the terminal's theme; RPC clients get plain text. */
export function paintOf(ctx: ExtensionContext): Paint {
  return ctx.mode === "tui" ? (tone, text) => ctx.ui.theme.fg(tone, text) : PLAIN;
}
