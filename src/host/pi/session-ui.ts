import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Observable } from "rxjs";
import type { LiveSession } from "../../effects/live-session.ts";
import type { SessionSearch } from "../../effects/session-search.ts";
import type { Engine, Step } from "../../machines/engine.ts";
import { harmlessText } from "../../reducers/harmless-text.ts";
import { messageOf } from "../../reducers/message-of.ts";
import { queryProblem, searchText } from "../../reducers/recall/search/search-text.ts";
import type { InspectServer } from "../inspector/server/inspect-server.ts";
import type { SettingsProblem } from "../settings/settings.ts";
import { type RecordingStart, recordingName } from "./recording/session-recorder.ts";
import { demandedLane, type RunDemands } from "./run-demand.ts";
import { openLanesOverlay, type PiTui } from "./ui/lanes-overlay.ts";
import { lanesText } from "./ui/lanes-overlay-text.ts";
import { memoryView, type ViewMode } from "./ui/memory-view.ts";
import { modelLines } from "./ui/model-lines.ts";
import { statusReport } from "./ui/status-report.ts";

interface SessionUiOptions {
  engine: Engine;
  steps$: Observable<Step>;
  /** What the engine has done so far; live. */
  history: readonly Step[];
  /** What a recording of the session begins with */
  start: RecordingStart;
  session: LiveSession;
  demands: RunDemands;
  /** What is wrong with the settings */
  problems: readonly SettingsProblem[];
  /** Puts a text into the user's clipboard. */
  copy: (text: string) => Promise<void>;
}

const SEARCH_WORDS = {
  agent: {
    where: "this branch",
    widen: "Try fewer or other words.",
    next: "Call recall with an id for the whole, and with a query for its passages.",
  },
  user: {
    where: "this branch",
    widen: "Try fewer or other words; memory-lanes search --all-branches looks beyond this branch.",
    next: "The agent can recall each id; memory-lanes recall FILE ID shows it here.",
  },
} as const;

/** Shows text where the mode has a place for it: a notice in TUI and RPC, a standard stream elsewhere. */
export type Show = (ctx: ExtensionContext, text: string) => void;

const LARGEST_PORT = 65_535;

/** What `/om:inspect` was asked for, or what is wrong with that. */
function inspectArguments(args: string): { open: boolean; port: number | undefined } | { problem: string } {
  const [, number] = /(?:^|\s)--port[ =](\d+)(?=\s|$)/.exec(args) ?? [];
  const port = number === undefined ? undefined : Number(number);
  const words = args.replace(/--port[ =]\d+/, "").split(/\s+/);
  const unknown = words.find((word) => word !== "" && word !== "open");
  if (unknown !== undefined || port === 0 || (port ?? 1) > LARGEST_PORT) {
    const what = unknown ?? `port ${number}`;
    return {
      problem: `/om:inspect does not know "${what}". Use /om:inspect, open and --port NUMBER after it.`,
    };
  }
  return { open: words.includes("open"), port };
}

/** Where a recording of what has happened so far begins: with the session, or here, when its beginning was forgotten. */
function savedFrom(history: readonly Step[], { header, restored, keyframe }: RecordingStart) {
  const last = history.at(-1)?.event;
  if (!last || history[0]?.event.type === "session.opened") {
    return { start: restored ? [header, restored] : [header], from: 0 };
  }
  return { start: [header, ...keyframe(last)], from: history.length };
}

/** How a user of Pi looks at memory and its lanes: the commands `/om:…`. */
export function createSessionUi(options: SessionUiOptions, show: Show) {
  const { engine, steps$, history, start, session, demands, problems, copy } = options;
  const { isOpen, lookup, sync } = session;
  let searching: Promise<SessionSearch> | undefined;
  const models = () => modelLines(session);
  let serving: Promise<InspectServer> | undefined;

  /** The server is loaded on request only; one serves all who look. */
  async function serve(say: (words: string) => void, port: number | undefined): Promise<InspectServer> {
    const { inspectLive } = await import("../inspector/server/live-inspector.ts");
    const { sessionId } = engine.state;
    return inspectLive({
      ...{ name: `session ${sessionId}`, engine, steps$, past: history, lookup, say, port },
      saved: { ...savedFrom(history, start), as: recordingName(sessionId) },
    });
  }

  /** What a search of this branch answers, in words for whoever reads it. The index and its library are loaded on first use. */
  async function search(query: string, reader: keyof typeof SEARCH_WORDS): Promise<string> {
    const problem = queryProblem(query);
    if (problem) {
      if (reader === "agent") throw new Error(`Give an id, or a query. ${problem}`);
      return `${problem} Use /om:search WORDS.`;
    }
    searching ??= import("../../effects/session-search.ts").then(({ createSessionSearch }) =>
      createSessionSearch(lookup),
    );
    const found = await (await searching).search(engine.state.session, query);
    return searchText(query, found, SEARCH_WORDS[reader]);
  }

  return {
    search,

    async showSearch(args: string, command: ExtensionContext): Promise<void> {
      sync();
      const text = await search(args, "user");
      if (isOpen()) show(command, text);
    },

    showStatus(command: ExtensionContext): void {
      sync();
      const { state, snapshot } = engine;
      show(command, statusReport({ state, snapshot, lookup, problems, models: models() }));
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
      const asked = inspectArguments(args);
      if ("problem" in asked) return show(command, asked.problem);
      sync();
      try {
        serving ??= serve((words) => show(command, words), asked.port);
        const { page, socket, stately } = await serving;
        if (!isOpen()) return;
        show(
          command,
          `The lanes are at ${page}\nInspector protocol: ${socket}\nStately (online page): ${stately}`,
        );
        if (command.mode === "tui" && asked.open) {
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
      show(command, lanesText({ state, snapshot, models: models(), now: Date.now() }));
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
