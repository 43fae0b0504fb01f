import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Observable } from "rxjs";
import type { LiveSession } from "../../effects/live-session.ts";
import type { Engine, Step } from "../../machines/engine.ts";
import { harmlessText } from "../../reducers/harmless-text.ts";
import { messageOf } from "../../reducers/message-of.ts";
import type { InspectServer } from "../inspector/server/inspect-server.ts";
import type { SettingsProblem } from "../settings/settings.ts";
import { demandedLane, type RunDemands } from "./run-demand.ts";
import { openLanesOverlay, type PiTui } from "./ui/lanes-overlay.ts";
import { lanesLines } from "./ui/lanes-overlay-text.ts";
import { memoryView, type ViewMode } from "./ui/memory-view.ts";
import { modelLines } from "./ui/model-lines.ts";
import { statusReport } from "./ui/status-report.ts";

interface SessionUiOptions {
  engine: Engine;
  steps$: Observable<Step>;
  /** What the engine has done so far; live. */
  history: readonly Step[];
  session: LiveSession;
  demands: RunDemands;
  /** What is wrong with the settings */
  problems: readonly SettingsProblem[];
  /** Puts a text into the user's clipboard. */
  copy: (text: string) => Promise<void>;
}

/** Shows text where the mode has a place for it: a notice in TUI and RPC, a standard stream elsewhere. */
export type Show = (ctx: ExtensionContext, text: string) => void;

/** How a user of Pi looks at memory and its lanes: the commands `/om:…`. */
export function createSessionUi(options: SessionUiOptions, show: Show) {
  const { engine, steps$, history, session, demands, problems, copy } = options;
  const { isOpen, lookup, sync } = session;
  const models = () => modelLines(session);
  let serving: Promise<InspectServer> | undefined;

  /** The server is loaded on request only; one serves all who look. */
  async function serve(say: (words: string) => void): Promise<InspectServer> {
    const { inspectLive } = await import("../inspector/server/live-inspector.ts");
    return inspectLive(`session ${engine.state.sessionId}`, engine, steps$, history, lookup, say);
  }

  return {
    showStatus(command: ExtensionContext): void {
      sync();
      const { state, snapshot } = engine;
      show(command, statusReport({ state, lanes: snapshot.states, lookup, problems, models: models() }));
    },

    async showView(args: string, command: ExtensionContext): Promise<void> {
      sync();
      const words = args.split(/\s+/).filter((word) => word !== "");
      const unknown = words.find((word) => word !== "full" && word !== "copy");
      if (unknown) {
        show(
          command,
          `/om:view does not know "${unknown}". Use /om:view, /om:view full, and copy after either.`,
        );
        return;
      }
      const mode: ViewMode = words.includes("full") ? "full" : "visible";
      const text = memoryView(engine.state.session, lookup, mode);
      if (!words.includes("copy")) return show(command, text);
      await copy(harmlessText(text));
      show(command, `Copied ${mode} memory to the clipboard.`);
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
        if (isOpen()) show(command, `/om:inspect: ${messageOf(error)}`);
      }
    },

    /** A live overlay in the terminal, plain text elsewhere. */
    async showLanes(command: ExtensionContext, tui: () => Promise<PiTui>): Promise<void> {
      sync();
      if (command.mode === "tui") {
        await openLanesOverlay(command, { engine, steps$, models, tui: await tui() });
        return;
      }
      const { state, snapshot } = engine;
      show(command, lanesLines({ state, snapshot, models: models(), now: Date.now() }).join("\n"));
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
      await serving?.then(
        (server) => server.close(),
        () => {},
      );
    },
  };
}
