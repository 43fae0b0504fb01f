import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { endWith, filter, ignoreElements, interval, merge, type Observable, takeUntil } from "rxjs";
import type { Engine, Step } from "../../../machines/engine.ts";
import { isUnderWay } from "../../../machines/lanes/lanes.ts";
import { paintOf } from "./footer.ts";
import { lanesRows, linesOf } from "./lanes-overlay-text.ts";

/** What the overlay needs of Pi's terminal package; handed in, since only Pi's loader finds it. */
export type PiTui = Pick<
  typeof import("@earendil-works/pi-tui"),
  "matchesKey" | "truncateToWidth" | "visibleWidth" | "wrapTextWithAnsi"
>;

interface LanesOverlayOptions {
  engine: Engine;
  steps$: Observable<Step>;
  models: () => readonly string[];
  tui: PiTui;
}

const TICK_MS = 1000;

/** Borders, an empty line, and the line that says which keys there are */
const FRAME_LINES = 4;

/** Opens the lanes over Pi's transcript, live until the user closes them (Esc or q) or the session ends. */
export async function openLanesOverlay(
  ctx: ExtensionContext,
  {
    engine,
    steps$,
    models,
    tui: { matchesKey, truncateToWidth, visibleWidth, wrapTextWithAnsi },
  }: LanesOverlayOptions,
): Promise<void> {
  await ctx.ui.custom<undefined>(
    (tui, theme, keybindings, done) => {
      const close = () => done(undefined);
      const redraw = () => tui.requestRender();
      // Event time goes on between events: a lane that backs off or runs shows seconds.
      const ticks$ = interval(TICK_MS).pipe(
        takeUntil(steps$.pipe(ignoreElements(), endWith(true))),
        filter(() => Object.values(engine.snapshot.states).some(isCounting)),
      );
      const drawing = merge(steps$, ticks$).subscribe({ next: redraw, complete: close, error: close });

      /** How many lines are above what is shown, and how many lines show; as the last drawing had it. */
      let top = 0;
      let shown = 1;
      let total = 1;

      function render(width: number): string[] {
        const inner = Math.max(1, width - 4);
        const border = (text: string) => theme.fg("borderMuted", text);
        const row = (text: string) => {
          const cut = truncateToWidth(text, inner);
          return `${border("│")} ${cut}${" ".repeat(Math.max(0, inner - visibleWidth(cut)))} ${border("│")}`;
        };
        const now = {
          state: engine.state,
          snapshot: engine.snapshot,
          models: models(),
          now: Date.now(),
        };
        const rows = lanesRows(now, paintOf(ctx), inner);
        const lines = linesOf(rows, inner, { wrap: wrapTextWithAnsi, widthOf: visibleWidth });
        total = lines.length;
        shown = Math.max(1, Math.min(total, tui.terminal.rows - FRAME_LINES));
        top = Math.max(0, Math.min(top, total - shown));
        const keys = theme.fg("dim", keyWords(top, shown, total, inner));
        const title = truncateToWidth(" Memory lanes ", inner);
        return [
          border(
            `╭─${theme.fg("accent", title)}${border("─".repeat(Math.max(0, inner - visibleWidth(title) + 1)))}╮`,
          ),
          ...lines.slice(top, top + shown).map(row),
          row(""),
          row(keys),
          border(`╰${"─".repeat(inner + 2)}╯`),
        ];
      }

      /** How far a key moves what is shown, in lines; undefined for keys that do not. */
      function moveOf(data: string): number | undefined {
        if (keybindings.matches(data, "tui.select.up") || matchesKey(data, "k")) return -1;
        if (keybindings.matches(data, "tui.select.down") || matchesKey(data, "j")) return 1;
        if (keybindings.matches(data, "tui.select.pageUp")) return -shown;
        if (keybindings.matches(data, "tui.select.pageDown") || matchesKey(data, "space")) return shown;
        if (matchesKey(data, "home")) return -total;
        if (matchesKey(data, "end")) return total;
        return undefined;
      }

      return {
        render,
        invalidate() {},
        handleInput(data: string) {
          if (keybindings.matches(data, "tui.select.cancel") || matchesKey(data, "q")) return close();
          const move = moveOf(data);
          if (move === undefined) return;
          top = Math.max(0, Math.min(top + move, total - shown));
          redraw();
        },
        dispose() {
          drawing.unsubscribe();
        },
      };
    },
    { overlay: true, overlayOptions: { width: "90%", minWidth: 78, maxHeight: "100%", anchor: "center" } },
  );
}

function isCounting(state: string): boolean {
  return isUnderWay(state) || state === "backingOff";
}

/** What the keys do, and which lines of how many are shown where not all of them are; as long as there is room for. */
function keyWords(top: number, shown: number, total: number, columns: number): string {
  if (shown >= total) return "live · esc or q closes";
  const where = `${top + 1} to ${top + shown} of ${total}`;
  const long = `live · ${where} · ↑ ↓ page up/down scroll · esc or q closes`;
  return long.length <= columns ? long : `${where} · ↑ ↓ · q closes`;
}
