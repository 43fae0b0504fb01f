import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { endWith, filter, ignoreElements, interval, merge, type Observable, takeUntil } from "rxjs";
import type { Engine, Step } from "../../../machines/engine.ts";
import { isUnderWay } from "../../../machines/lanes/lanes.ts";
import { paintOf } from "./footer.ts";
import { lanesLines } from "./lanes-overlay-text.ts";

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

      function render(width: number): string[] {
        const inner = Math.max(20, width - 4);
        const border = (text: string) => theme.fg("borderMuted", text);
        const row = (text: string) => {
          const cut = truncateToWidth(text, inner);
          return `${border("│")} ${cut}${" ".repeat(Math.max(0, inner - visibleWidth(cut)))} ${border("│")}`;
        };
        const title = " Memory lanes ";
        const lines = lanesLines(
          { state: engine.state, snapshot: engine.snapshot, models: models(), now: Date.now() },
          paintOf(ctx),
        );
        return [
          border(
            `╭─${theme.fg("accent", title)}${border("─".repeat(Math.max(0, inner - title.length + 1)))}╮`,
          ),
          ...lines.flatMap((line) => (line === "" ? [""] : wrapTextWithAnsi(line, inner))).map(row),
          row(""),
          row(theme.fg("dim", "live · esc or q closes")),
          border(`╰${"─".repeat(inner + 2)}╯`),
        ];
      }

      return {
        render,
        invalidate() {},
        handleInput(data: string) {
          if (keybindings.matches(data, "tui.select.cancel") || matchesKey(data, "q")) close();
        },
        dispose() {
          drawing.unsubscribe();
        },
      };
    },
    { overlay: true, overlayOptions: { width: "90%", minWidth: 60, maxHeight: "90%", anchor: "center" } },
  );
}

function isCounting(state: string): boolean {
  return isUnderWay(state) || state === "backingOff";
}
