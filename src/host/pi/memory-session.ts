import type {
  ExtensionAPI,
  ExtensionContext,
  SessionBeforeCompactEvent,
} from "@earendil-works/pi-coding-agent";
import { firstValueFrom, from, merge, Subject, timer } from "rxjs";
import packageJson from "../../../package.json" with { type: "json" };
import { compactionRequests } from "../../effects/compaction.ts";
import { watching } from "../../effects/effect.ts";
import type { LiveSession } from "../../effects/live-session.ts";
import { runLoop } from "../../effects/loop.ts";
import { promptCacheWatch } from "../../effects/prompt-cache.ts";
import { whenGone } from "../../effects/session-life.ts";
import { openTelemetry } from "../../effects/telemetry/telemetry.ts";
import { workerRuns } from "../../effects/workers/runs.ts";
import { createEngine } from "../../machines/engine.ts";
import type { Unstamped } from "../../reducers/engine/events.ts";
import { memoryMode } from "../../reducers/engine/session-host.ts";
import type { EntryLookup } from "../../reducers/entries/entry.ts";
import { harmlessText } from "../../reducers/harmless-text.ts";
import { planFold } from "../../reducers/ledger/compaction-plan.ts";
import { givenMemoryId } from "../../reducers/ledger/memory-id.ts";
import { isFound, recallFrom } from "../../reducers/ledger/recall.ts";
import { messageOf } from "../../reducers/message-of.ts";
import { type RecallOptions, renderRecall } from "../../reducers/recall/recall-text.ts";
import { redactedLookup } from "../../reducers/redact.ts";
import { foldWords } from "../../reducers/words.ts";
import { loadSettings, settingsFiles, settingsWarning } from "../settings/settings.ts";
import { announcements, workersAreIdle } from "./announcements.ts";
import { branchChange, describeBranch, entriesAmong } from "./branch-sync.ts";
import { budgetNotices } from "./budget/budget-notices.ts";
import { openDayBudget } from "./budget/day-budget.ts";
import { createCompactionRequests } from "./compaction/compaction-requests.ts";
import { keptByPi, promptCacheOf } from "./compaction/prompt-cache.ts";
import { foldedTokens, foldRequest } from "./fold-request.ts";
import { createHandCommands } from "./hand/hand-commands.ts";
import { withoutForgotten } from "./hand/sent-messages.ts";
import { modelFor } from "./model-choice.ts";
import { notices } from "./notices.ts";
import { keepKeyframe, takeKeyframe } from "./recording/kept-keyframes.ts";
import { createSessionRecorder, recordingStart } from "./recording/session-recorder.ts";
import { createStepHistory } from "./recording/step-history.ts";
import { createRunDemands } from "./run-demand.ts";
import { contextWindowOf, hostOf } from "./session-facts.ts";
import { isExtendedElsewhere } from "./session-tail.ts";
import { createSessionUi } from "./session-ui.ts";
import { firstWord } from "./ui/first-word.ts";
import { footer } from "./ui/footer.ts";

/** Pi draws its transcript anew at the end of a compaction, after its hook: what is said before is not seen. */
const FOLD_TOLD_AFTER_MS = 100;

const WRITTEN_ELSEWHERE =
  "Memory: another program has written to this session's file; nothing is recorded here before the next prompt. Open the session again to go on with what was written there.";

/** The memory of one open Pi session: what the extension's hooks, commands and tool call. */
export type MemorySession = Awaited<ReturnType<OpenMemorySession>>;
export type OpenMemorySession = typeof openMemorySession;

/**
 * What the engine needs of Pi's own package. It is handed in, because only Pi's loader finds that package, and the
 * engine of the npm package is not loaded by it (see `loadOpenMemorySession`).
 */
export type PiHost = Pick<
  typeof import("@earendil-works/pi-coding-agent"),
  "CONFIG_DIR_NAME" | "copyToClipboard" | "getAgentDir" | "VERSION"
>;

/**
 * Opens memory for a session. From here on the engine decides and this module only carries facts in; the effects carry
 * commands out. `isOpen` turns false when the session is closed or gone, after which `pi` and `ctx` must not be touched.
 */
export function openMemorySession(
  pi: ExtensionAPI,
  ctx: ExtensionContext,
  reason: string,
  isOpen: () => boolean,
  host: PiHost,
) {
  const manager = ctx.sessionManager;
  const sessionId = manager.getSessionId();
  const keyframe = takeKeyframe(sessionId);
  const engine = createEngine(keyframe ? { keyframe } : {});
  const piEvents$ = new Subject<Unstamped>();
  const closed$ = new Subject<void>();
  let hasFailed = false;
  /** Pi asked for a compaction, and we answered with a fold: what is to be said of it. */
  let offered: string | undefined;
  let isEnding = false;
  let hasToldOfOthers = false;
  /** Whether the agent's latest run was broken off, as a signal to end Pi does. */
  let wasAborted = false;
  const compactions = createCompactionRequests(ctx);
  const places = {
    agentDir: host.getAgentDir(),
    cwd: ctx.cwd,
    configDirName: host.CONFIG_DIR_NAME,
    projectTrusted: ctx.isProjectTrusted(),
    env: process.env,
  };
  const { settings, problems } = loadSettings(places);
  const entryOf: EntryLookup = (id) => manager.getEntry(id);
  /** Whatever of the session is read, by workers, recall, view or page, is found here. */
  const lookup = settings.redactSecrets ? redactedLookup(entryOf) : entryOf;

  const dayUsd = settings.budget?.dayUsd;
  const dayBudget =
    dayUsd === undefined
      ? undefined
      : openDayBudget({
          ...{ agentDir: host.getAgentDir(), limit: dayUsd, runMs: settings.workerTimeoutMs },
          now: () => Date.now(),
          known: () => engine.state.daySpent,
          warn: (message) => session.notify(message, "warning"),
        });

  function sync(): void {
    const change = branchChange(manager, engine.state.session);
    if (change.type === "extended") piEvents$.next({ type: "branch.extended", entries: change.entries });
    else if (change.type === "replaced") piEvents$.next({ type: "branch.replaced", branch: change.branch });
  }

  const session: LiveSession = {
    state: () => engine.state,
    lookup,
    isOpen,
    isEnding: () => isEnding,
    isExtendedElsewhere() {
      const isExtended = isExtendedElsewhere(manager);
      if (isExtended && !hasToldOfOthers) session.notify(WRITTEN_ELSEWHERE, "warning");
      hasToldOfOthers ||= isExtended;
      return isExtended;
    },
    sync,
    append(entries) {
      for (const { customType, data } of entries) pi.appendEntry(customType, data);
      sync();
    },
    dayBudget,
    workerModel: (setting) => modelFor(ctx, setting),
    promptCache: () =>
      isOpen() && !compactions.takeTurns() ? promptCacheOf(ctx, keptByPi(settingsFiles(places))) : undefined,
    isIdle: () => isOpen() && ctx.isIdle(),
    compact: compactions.compact,
    notify: (message, level) => {
      if (isOpen() && ctx.hasUI) ctx.ui.notify(harmlessText(message), level);
    },
    now: () => Date.now(),
  };
  const start = recordingStart({
    engine,
    restored: keyframe,
    source: manager,
    sessionId,
    version: packageJson.version,
    pi: host.VERSION,
  });
  const recorder = settings.debugLog
    ? createSessionRecorder({
        start,
        sessionId,
        agentDir: host.getAgentDir(),
        onFailure: (message) => session.notify(message, "warning"),
      })
    : undefined;
  const { hasUI } = ctx;
  const telemetry = openTelemetry({
    env: process.env,
    version: packageJson.version,
    onProblem(message) {
      // Where there is no user interface nobody would see that nothing is sent, and the session may be over by now.
      if (hasUI) session.notify(message, "warning");
      else process.stderr.write(`${harmlessText(message)}\n`);
    },
  });
  // A terminal has a line for each ledger entry (entry-renderers.ts); a notice would say it twice.
  const showsEntries = ctx.mode === "tui" && pi.registerEntryRenderer !== undefined;
  const demands = createRunDemands({
    engine,
    report: (lane) => piEvents$.next({ type: "run.demanded", lane, ...dayBudget?.news() }),
    say: (message) => {
      if (isOpen()) show(ctx, message);
    },
  });
  const history = createStepHistory();

  const steps$ = runLoop({
    engine,
    piEvents$,
    session,
    closed$,
    effects: [
      ...(recorder ? [watching(recorder.take)] : []),
      ...(telemetry ? [telemetry.effect] : []),
      workerRuns,
      announcements(pi),
      compactionRequests,
      promptCacheWatch,
      whenGone(() => void close("disposed")),
      watching(history.add),
      footer(ctx),
      budgetNotices,
      notices({
        tellsRecorded: settings.showWorkerNotifications && !showsEntries,
        demands,
        show: ({ message, level }) => {
          if (ctx.hasUI) session.notify(message, level);
          else if (isOpen()) show(ctx, message);
        },
      }),
    ],
    onFailure: (error) => {
      hasFailed = true;
      session.notify(`Memory Lanes stopped for this session: ${messageOf(error)}`, "warning");
    },
  });
  const ui = createSessionUi(
    {
      ...{ engine, steps$, history: history.steps, start, session, demands, problems },
      copy: (text) => host.copyToClipboard(text),
    },
    show,
  );

  piEvents$.next({
    type: "session.opened",
    reason,
    sessionId,
    settings,
    host: hostOf(ctx),
    ...contextWindowOf(ctx),
    branch: describeBranch(manager),
    ...dayBudget?.news(),
  });
  const word =
    ctx.mode === "tui" && settings.showWorkerNotifications ? firstWord(host.getAgentDir()) : undefined;
  if (word) session.notify(word, "info");
  const warning = settingsWarning(problems);
  if (warning) session.notify(warning, "warning");

  /** Facts that a hook of Pi brings: first what it appended, then what it is. */
  function hear(event: Unstamped): void {
    sync();
    piEvents$.next(event);
  }

  let closing: Promise<void> | undefined;

  /** Ends everything that is under way; resolves when what was to be written is. Called again, it waits for the same. */
  function close(why: string): Promise<void> {
    closing ??= end(why);
    return closing;
  }

  async function end(why: string): Promise<void> {
    try {
      piEvents$.next({ type: "session.closed", reason: why });
      if (!hasFailed) keepKeyframe(engine);
      demands.close();
    } finally {
      closed$.next();
    }
    // Any other reason is that another session follows.
    const isLast = why === "quit" || why === "disposed";
    const telling = telemetry?.close({ isLast });
    await Promise.allSettled([ui.close(), recorder?.close(), dayBudget?.idle(), telling]);
    engine.stop();
  }

  return {
    agentStarted: () => hear({ type: "agent.started", ...dayBudget?.news() }),
    turnEnded: () => hear({ type: "turn.ended", ...dayBudget?.news() }),
    /** Resolves when the compaction that this led to has ended: until then Pi keeps the prompts that come. */
    agentSettled(aborted: boolean): Promise<void> {
      wasAborted = aborted;
      hear({ type: "agent.settled", aborted });
      return compactions.ended();
    },
    modelSelected: () => hear({ type: "model.selected", ...contextWindowOf(ctx) }),
    cacheWarmed: () => hear({ type: "cache.warmed" }),
    branchMoved: sync,

    /** Answers Pi's compaction from the ledger; nothing when memory is empty, so that Pi does it. */
    beforeCompact(event: SessionBeforeCompactEvent) {
      offered = undefined;
      hear({ type: "compaction.started", reason: event.reason });
      if (memoryMode(engine.state) === "off") return undefined;
      const { session } = engine.state;
      const entryAt = entriesAmong(event.branchEntries, session.branch, lookup);
      const plan = planFold(
        session.branch,
        session.ledger,
        foldRequest(event, engine.state),
        settings,
        entryAt,
      );
      if (!plan) return undefined;
      const { firstKeptEntryId, summary, details } = plan;
      offered = foldWords({
        observations: details.observations.length,
        reflections: details.reflections.length,
        ...foldedTokens(event, engine.state, plan),
      });
      const { tokensBefore } = event.preparation;
      return { compaction: { firstKeptEntryId, summary, details, tokensBefore } };
    },
    /** Pi takes the last answer of any extension: what stands now need not be what we gave. */
    compacted(fromExtension: boolean) {
      sync();
      const folded = engine.state.session.ledger.latestCompaction?.folded ?? false;
      piEvents$.next({
        type: "compaction.finished",
        folded,
        offered: offered !== undefined,
        fromExtension,
      });
      const told = offered;
      if (folded && told !== undefined && settings.showWorkerNotifications) {
        setTimeout(() => session.notify(`Memory: ${told}`, "info"), FOLD_TOLD_AFTER_MS).unref();
      }
      offered = undefined;
    },
    compactFailed: (aborted: boolean, message: string | undefined) =>
      hear({
        type: "compaction.failed",
        failure: { kind: aborted ? "cancelled" : "failed", message: message ?? "cancelled" },
      }),

    async recall({ id, ...options }: { id?: string | undefined } & RecallOptions) {
      const startedAt = session.now();
      sync();
      if (id === undefined || id.trim() === "") {
        const text = await ui.search(options.query ?? "", "agent");
        return { content: [{ type: "text" as const, text }], details: {} };
      }
      const recalled = recallFrom(engine.state.session, lookup, givenMemoryId(id));
      const rendered = renderRecall(recalled, options);
      const text = isFound(recalled) ? rendered.text : undefined;
      const facts = { sessionId, id: recalled.id, query: options.query, text };
      telemetry?.recall({ ...facts, startedAt, endedAt: session.now() });
      // Pi before 1.0 knows of a tool's failure only when it throws.
      if (!isFound(recalled)) throw new Error(rendered.text);
      return {
        content: [{ type: "text" as const, text: rendered.text }],
        details: { id: recalled.id, page: rendered.page, pages: rendered.pages },
      };
    },

    hand: createHandCommands({ session, entries: () => manager.getEntries(), show }),

    /** What the agent is sent, without the lines that the user has made memory forget since the summary was written. */
    withoutForgotten<M extends { role: string }>(messages: readonly M[]): M[] | undefined {
      sync();
      const { forgotten } = engine.state.session.ledger.hand;
      return forgotten.size === 0
        ? undefined
        : messages.map((message) => withoutForgotten(message, forgotten));
    },

    whenIdle: () => workersAreIdle(engine, steps$),

    showStatus: ui.showStatus,
    showView: ui.showView,
    showSearch: ui.showSearch,
    showLanes: ui.showLanes,
    run: ui.run,
    inspect: ui.inspect,

    /**
     * Waits, as long as the settings say, for the runs that are in flight, and lets no other begin: print mode ends with its
     * answer, and what was asked of a model is paid for.
     */
    async finishRuns(): Promise<void> {
      isEnding = true;
      if (wasAborted || hasFailed) return;
      const idle$ = from(workersAreIdle(engine, steps$));
      await firstValueFrom(merge(idle$, timer(settings.printWaitMs)));
    },
    close,
  };
}

/**
 * Shows text where the mode has a place for it: a notice in TUI and RPC, a standard stream elsewhere. It may be a session's,
 * so it is made harmless.
 */
function show(ctx: ExtensionContext, text: string): void {
  const shown = harmlessText(text);
  if (ctx.hasUI) ctx.ui.notify(shown, "info");
  // In JSON mode standard output belongs to the protocol.
  else (ctx.mode === "json" ? process.stderr : process.stdout).write(`${shown}\n`);
}
