import type {
  ExtensionAPI,
  ExtensionContext,
  SessionBeforeCompactEvent,
} from "@earendil-works/pi-coding-agent";
import { Subject, share } from "rxjs";
import packageJson from "../../../package.json" with { type: "json" };
import { requestCompaction } from "../../effects/compaction.ts";
import type { World } from "../../effects/live-session.ts";
import { noticeFor } from "../../effects/notices.ts";
import { createWorkerRuns } from "../../effects/workers/worker-runs.ts";
import { createEngine, type Step, stepsOf } from "../../machines/engine.ts";
import { type EngineEvent, EVENT_VERSION, type Unstamped } from "../../reducers/engine/events.ts";
import type { EntryLookup } from "../../reducers/entries/entry.ts";
import { planFold } from "../../reducers/ledger/compaction-plan.ts";
import { recallFrom, renderRecall } from "../../reducers/ledger/recall.ts";
import { loadSettings, settingsWarning } from "../settings/settings.ts";
import { branchChange, describeBranch, entriesAmong } from "./branch-sync.ts";
import { workerModelOf } from "./model-choice.ts";
import { parkLanes, unparkLanes } from "./parked-lanes.ts";
import { createSessionRecorder } from "./session-recorder.ts";
import { createSessionWindows } from "./session-ui.ts";
import { memoryView, type ViewMode } from "./ui/memory-view.ts";
import { statusReport } from "./ui/status-report.ts";

/** The memory of one open Pi session: what the extension's hooks, commands and tool call. */
export type MemorySession = Awaited<ReturnType<OpenMemory>>;
export type OpenMemory = typeof openMemory;

/**
 * What the engine needs of Pi's own package. It is handed in, because only Pi's loader finds that package, and the
 * engine of the npm package is not loaded by it (see `loadOpenMemory`).
 */
export type PiHost = Pick<
  typeof import("@earendil-works/pi-coding-agent"),
  "CONFIG_DIR_NAME" | "copyToClipboard" | "getAgentDir" | "VERSION"
>;

/**
 * Opens memory for a session. From here on the engine decides and this module only carries facts in and commands
 * out. `isOpen` turns false when Pi closes the session, after which `pi` and `ctx` must not be touched.
 */
export function openMemory(
  pi: ExtensionAPI,
  ctx: ExtensionContext,
  reason: string,
  isOpen: () => boolean,
  host: PiHost,
) {
  const manager = ctx.sessionManager;
  const restored = unparkLanes(manager.getSessionId());
  const engine = createEngine(restored ? { keyframe: restored } : {});
  let hasFailed = false;
  // A terminal has a line for each ledger entry (entry-renderers.ts); a notice would say it twice.
  const showsEntries = ctx.mode === "tui" && pi.registerEntryRenderer !== undefined;
  const lookup: EntryLookup = (id) => manager.getEntry(id);
  const { settings, problems } = loadSettings({
    agentDir: host.getAgentDir(),
    cwd: ctx.cwd,
    configDirName: host.CONFIG_DIR_NAME,
    projectTrusted: ctx.isProjectTrusted(),
    env: process.env,
  });
  let seq = 0;
  const events$ = new Subject<EngineEvent>();
  const steps$ = events$.pipe(stepsOf(engine), share());

  function report(event: Unstamped): void {
    events$.next(stamp(event, ++seq));
  }

  function sync(): void {
    const change = branchChange(manager, engine.state.session);
    if (change.type === "extended") report({ type: "branch.extended", entries: change.entries });
    else if (change.type === "replaced") report({ type: "branch.replaced", branch: change.branch });
  }

  const world: World = {
    state: () => engine.state,
    lookup,
    isOpen,
    sync,
    append(customType, data) {
      pi.appendEntry(customType, data);
      sync();
    },
    report,
    workerModel: () => workerModelOf(ctx, settings.model),
    isIdle: () => isOpen() && ctx.isIdle(),
    compact: (handlers) => ctx.compact(handlers),
    notify: (message, level) => {
      if (isOpen() && ctx.hasUI) ctx.ui.notify(message, level);
    },
    now: () => Date.now(),
  };
  const runs = createWorkerRuns(world);
  const recorder = settings.debugLog
    ? createSessionRecorder({
        engine,
        restored,
        source: manager,
        sessionId: manager.getSessionId(),
        agentDir: host.getAgentDir(),
        version: packageJson.version,
        pi: host.VERSION,
        onFailure: (message) => world.notify(message, "warning"),
      })
    : undefined;

  const windows = createSessionWindows(
    {
      ctx,
      engine,
      steps$,
      isOpen,
      lookup,
      workerModel: workerModelName,
      sync,
      demand: (lane) => report({ type: "run.demanded", lane }),
    },
    show,
  );

  function workerModelName(): string {
    const model = world.workerModel();
    return "access" in model ? `${model.access.model.provider}/${model.access.model.id}` : model.problem;
  }

  function act(step: Step): void {
    recorder?.take(step);
    for (const command of step.commands) {
      if (command.type === "startRun") runs.start(command);
      else if (command.type === "abortRun") runs.abort(command.runId);
      else if (command.type === "requestCompaction") requestCompaction(world);
    }
    try {
      tell(step);
    } catch {
      // A screen that cannot be drawn on must not end the session, nor keep the lanes from their work.
    }
  }

  function tell(step: Step): void {
    windows.take(step);
    if (windows.tellResult(step)) return;
    for (const command of step.commands) {
      if (command.type !== "notify") continue;
      const notice = noticeFor(command, step.event, settings.showWorkerNotifications && !showsEntries);
      if (notice) world.notify(notice.message, notice.level);
    }
  }
  steps$.subscribe({
    next: act,
    error: (error) => {
      hasFailed = true;
      world.notify(
        `Memory Lanes stopped for this session: ${error instanceof Error ? error.message : error}`,
        "warning",
      );
    },
  });

  report({
    type: "session.opened",
    reason,
    sessionId: manager.getSessionId(),
    settings,
    ...contextWindowOf(ctx),
    branch: describeBranch(manager),
  });
  const warning = settingsWarning(problems);
  if (warning) world.notify(warning, "warning");

  /** Facts that a hook of Pi brings: first what it appended, then what it is. */
  function hear(event: Unstamped): void {
    sync();
    report(event);
  }

  return {
    agentStarted: () => hear({ type: "agent.started" }),
    turnEnded: () => hear({ type: "turn.ended" }),
    agentSettled: (aborted: boolean) => hear({ type: "agent.settled", aborted }),
    modelSelected: () => hear({ type: "model.selected", ...contextWindowOf(ctx) }),
    branchMoved: sync,

    /** Answers Pi's compaction from the ledger; nothing when memory is empty, so that Pi does it. */
    beforeCompact(event: SessionBeforeCompactEvent) {
      hear({ type: "compaction.started", reason: event.reason });
      const { session } = engine.state;
      const { firstKeptEntryId, tokensBefore } = event.preparation;
      const entryAt = entriesAmong(event.branchEntries, session.branch, lookup);
      const plan = planFold(session.branch, session.ledger, firstKeptEntryId, settings, entryAt);
      if (!plan) return undefined;
      const { unobserved: _, ...compaction } = plan;
      return { compaction: { ...compaction, tokensBefore } };
    },
    compacted() {
      sync();
      const folded = engine.state.session.ledger.latestCompaction?.folded ?? false;
      report({ type: "compaction.finished", folded });
    },
    compactFailed: (aborted: boolean, message: string | undefined) =>
      hear({
        type: "compaction.failed",
        failure: { kind: aborted ? "cancelled" : "failed", message: message ?? "cancelled" },
      }),

    recall({ id, page, maxTokens }: { id: string; page?: number; maxTokens?: number }) {
      sync();
      const recalled = recallFrom(
        engine.state.session,
        lookup,
        id
          .trim()
          .replace(/^\[|\]$/g, "")
          .toLowerCase(),
      );
      const rendered = renderRecall(recalled, { page, maxTokens });
      // Pi before 1.0 knows of a tool's failure only when it throws.
      if (!recalled.observation && !recalled.reflection) throw new Error(rendered.text);
      return {
        content: [{ type: "text" as const, text: rendered.text }],
        details: { id: recalled.id, page: rendered.page, pages: rendered.pages },
      };
    },

    showStatus(command: ExtensionContext) {
      sync();
      const report = statusReport({
        state: engine.state,
        lanes: engine.snapshot.states,
        lookup,
        problems,
        workerModel: workerModelName(),
      });
      show(command, report);
    },
    async showView(args: string, command: ExtensionContext) {
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
      await host.copyToClipboard(text);
      show(command, `Copied ${mode} memory to the clipboard.`);
    },

    showLanes: windows.showLanes,
    run: windows.run,
    inspect: windows.inspect,

    async close(closing: string) {
      const shut = windows.close();
      report({ type: "session.closed", reason: closing });
      if (!hasFailed) parkLanes(engine);
      await Promise.allSettled([shut, recorder?.close()]);
      events$.complete();
      engine.stop();
    },
  };
}

function stamp(event: Unstamped, seq: number): EngineEvent {
  return { v: EVENT_VERSION, seq, at: new Date().toISOString(), ...event } as EngineEvent;
}

function contextWindowOf(ctx: ExtensionContext): { contextWindow?: number } {
  const contextWindow = ctx.model?.contextWindow;
  return contextWindow ? { contextWindow } : {};
}

/** Shows text where the mode has a place for it: a notice in TUI and RPC, a standard stream elsewhere. */
function show(ctx: ExtensionContext, text: string): void {
  if (ctx.hasUI) ctx.ui.notify(text, "info");
  // In JSON mode standard output belongs to the protocol.
  else (ctx.mode === "json" ? process.stderr : process.stdout).write(`${text}\n`);
}
