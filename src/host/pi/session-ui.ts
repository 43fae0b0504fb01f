import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Observable } from "rxjs";
import type { Engine, Step } from "../../machines/engine.ts";
import type { LaneName } from "../../reducers/engine/lane-names.ts";
import type { EntryLookup } from "../../reducers/entries/entry.ts";
import type { InspectServer } from "../inspector/server/inspect-server.ts";
import { createRunDemands, demandedLane } from "./run-demand.ts";
import { createStepHistory } from "./step-history.ts";
import { createFooter } from "./ui/footer.ts";
import { openLanesOverlay, type PiTui } from "./ui/lanes-overlay.ts";
import { lanesLines } from "./ui/lanes-overlay-text.ts";

export interface SessionWindowsOptions {
  ctx: ExtensionContext;
  engine: Engine;
  steps$: Observable<Step>;
  /** Turns false when `ctx` must not be touched any more. */
  isOpen: () => boolean;
  lookup: EntryLookup;
  /** `provider/id` of the workers' model, or why there is none */
  workerModel: () => string;
  /** Brings the engine up to date with Pi's branch. */
  sync: () => void;
  /** Puts the demand for a run into the event stream. */
  demand: (lane: LaneName) => void;
}

/** Shows text where the mode has a place for it: a notice in TUI and RPC, a standard stream elsewhere. */
export type Show = (ctx: ExtensionContext, text: string) => void;

/** How a user of Pi sees the lanes: the footer, `/om:lanes`, `/om:run` and `/om:inspect`. */
export function createSessionWindows(options: SessionWindowsOptions, show: Show) {
  const { ctx, engine, steps$, isOpen, lookup, workerModel, sync, demand } = options;
  const footer = createFooter(ctx, isOpen);
  const demands = createRunDemands({
    engine,
    report: demand,
    say: (message) => {
      if (isOpen()) show(ctx, message);
    },
  });

  const history = createStepHistory();
  let serving: Promise<InspectServer> | undefined;

  /** The server is loaded on request only; one serves all who look. */
  async function serve(say: (words: string) => void): Promise<InspectServer> {
    const { inspectLive } = await import("../inspector/server/live-inspector.ts");
    return inspectLive(`session ${engine.state.sessionId}`, engine, steps$, history.steps, lookup, say);
  }

  return {
    take(step: Step): void {
      footer.update(step.state, step.snapshot.states);
      history.add(step);
    },

    /** Serves the lanes on this machine and tells the address; in the terminal, `open` opens it in a browser too. */
    async inspect(args: string, command: ExtensionContext): Promise<void> {
      if (!command.hasUI) {
        show(command, "/om:inspect needs a Pi that stays: use it in the terminal or over RPC.");
        return;
      }
      sync();
      try {
        serving ??= serve((words) => show(command, words));
        const { page, socket, stately } = await serving;
        if (!isOpen()) return;
        show(
          command,
          `The lanes are at ${page}\nInspector protocol: ${socket}\nStately (online page): ${stately}`,
        );
        if (command.mode === "tui" && args.trim() === "open") {
          const { openBrowser } = await import("../inspector/server/live-inspector.ts");
          openBrowser(page);
        }
      } catch (error) {
        serving = undefined;
        if (isOpen()) show(command, `/om:inspect: ${error instanceof Error ? error.message : error}`);
      }
    },

    /** Shows the result of a run that the user asked for, in place of the routine notice; tells whether it did. */
    tellResult(step: Step): boolean {
      const result = demands.resultOf(step);
      if (!result) return false;
      if (isOpen()) {
        if (ctx.hasUI) ctx.ui.notify(result.message, result.level);
        else show(ctx, result.message);
      }
      return true;
    },

    /** A live overlay in the terminal, plain text elsewhere. */
    async showLanes(command: ExtensionContext, tui: () => Promise<PiTui>): Promise<void> {
      sync();
      if (command.mode === "tui") {
        await openLanesOverlay(command, { engine, steps$, workerModel, tui: await tui() });
        return;
      }
      const { state, snapshot } = engine;
      show(command, lanesLines({ state, snapshot, workerModel: workerModel(), now: Date.now() }).join("\n"));
    },

    /** Runs a lane now. Print mode ends with its prompt, so only there the command waits for the result. */
    async run(args: string, command: ExtensionContext): Promise<void> {
      sync();
      const asked = demandedLane(args);
      if ("problem" in asked) return show(command, asked.problem);
      const ended = demands.demand(asked.lane);
      if (!command.hasUI) await ended;
    },

    async close(): Promise<void> {
      demands.close();
      footer.clear();
      await serving?.then(
        (server) => server.close(),
        () => {},
      );
    },
  };
}
