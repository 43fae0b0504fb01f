import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { harmlessText } from "../../reducers/harmless-text.ts";
import { registerEntryRenderers, settingsFiles, wantsQuiet } from "./entry-renderers.ts";
import { registerHandCommands } from "./hand/register-hand.ts";
import { hasForgotten, isSummary } from "./hand/sent-messages.ts";
import type { MemorySession, OpenMemorySession } from "./memory-session.ts";
import { isBeforeOldestPi, OLDEST_PI } from "./oldest-pi.ts";

/**
 * The extension's entry. It is all that Pi loads at start-up, so it imports no package: the engine (XState, RxJS,
 * Immer, zod) comes in after the session has started. Nothing here may throw into Pi.
 */
export default function memoryLanes(pi: ExtensionAPI): void {
  let current: Holder = newHolder();

  /** The session's memory, loaded on first need. Undefined once closed, or when it could not be loaded. */
  function memory(ctx: ExtensionContext): Promise<MemorySession | undefined> {
    const holder = current;
    clearTimeout(holder.warmUp);
    holder.opening ??= open(holder, ctx).catch((error) => {
      if (!holder.closed) tell(ctx, `Memory Lanes is off for this session: ${messageOf(error)}`);
      return undefined;
    });
    return holder.opening;
  }

  async function open(holder: Holder, ctx: ExtensionContext): Promise<MemorySession | undefined> {
    const host = await import("@earendil-works/pi-coding-agent");
    if (!isLive(holder, ctx)) return undefined;
    if (isTooOld(host.VERSION, ctx)) {
      tell(ctx, `Memory Lanes needs Pi ${OLDEST_PI} or newer; this is ${host.VERSION}.`);
      return undefined;
    }
    return loadOpenMemory()(pi, ctx, holder.reason, () => isLive(holder, ctx), host);
  }

  /** Runs `act` after everything that came before it; the hook of Pi that calls this does not wait. */
  function enqueue(ctx: ExtensionContext, act: (session: MemorySession) => void): void {
    void attempt(ctx, (session) => act(session));
  }

  /** Does something with the session's memory; a fault of ours becomes a warning and goes no further. */
  async function attempt<T>(
    ctx: ExtensionContext,
    act: (session: MemorySession) => T | Promise<T>,
  ): Promise<T | undefined> {
    const holder = current;
    try {
      const session = await memory(ctx);
      return session && isLive(holder, ctx) ? await act(session) : undefined;
    } catch (error) {
      if (isLive(holder, ctx)) tell(ctx, `Memory Lanes: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** Settles once no worker of the current session runs. */
  async function whenIdle(): Promise<void> {
    const session = await current.opening;
    await session?.whenIdle();
  }

  const lines = registerEntryRenderers(pi);
  pi.on("session_start", async (event, ctx) => {
    current = newHolder(event.reason);
    // Clocks, the warning about settings and the footer need the engine, but Pi's first answer comes first.
    current.warmUp = setTimeout(() => enqueue(ctx, () => {}), WARM_UP_MS);
    current.warmUp.unref();
    if (ctx.mode === "tui") lines.quiet = await wantsQuietLines(ctx).catch(() => false);
  });
  pi.on("session_shutdown", async (event, ctx) => {
    const holder = current;
    clearTimeout(holder.warmUp);
    try {
      const session = await settledNow(holder.opening);
      // A Pi without a user interface ends with its answer; nobody sees it wait.
      if (event.reason === "quit" && !ctx.hasUI) await session?.finishRuns();
      const closing = session?.close(event.reason);
      holder.closed = true;
      await closing;
    } catch {
      // The session ends either way, and takes with it everybody who could be told.
      holder.closed = true;
    }
  });

  pi.on("agent_start", (_event, ctx) => enqueue(ctx, (session) => session.agentStarted()));
  pi.on("turn_end", (_event, ctx) => enqueue(ctx, (session) => session.turnEnded()));
  // Pi refuses prompts while it compacts, but keeps those that come before this hook has returned until it has.
  pi.on("agent_settled", (event, ctx) =>
    attempt(ctx, (session) => session.agentSettled(event.aborted === true)),
  );
  pi.on("model_select", (_event, ctx) => enqueue(ctx, (session) => session.modelSelected()));
  // Pi's own decision stands; what it comes to is how long the cache lives on.
  pi.on("cache_warming_decision", (event, ctx) => {
    if (event.action === "warm") enqueue(ctx, (session) => session.cacheWarmed());
  });
  pi.on("session_tree", (_event, ctx) => enqueue(ctx, (session) => session.branchMoved()));
  pi.on("context", async ({ messages }, ctx) => {
    // Nobody waits for the engine here but who has forgotten something of a summary.
    if (!messages.some(isSummary) || !(current.opening || hasForgotten(ctx))) return undefined;
    const sent = await attempt(ctx, (session) => session.withoutForgotten(messages));
    return sent && { messages: sent };
  });
  pi.on("session_before_compact", (event, ctx) => attempt(ctx, (session) => session.beforeCompact(event)));
  pi.on("session_compact", (event, ctx) => enqueue(ctx, (session) => session.compacted(event.fromExtension)));
  pi.on("session_compact_failed", (event, ctx) =>
    enqueue(ctx, (session) => session.compactFailed(event.aborted === true, event.errorMessage)),
  );

  answerWhenIdle(pi, whenIdle);

  pi.registerTool({
    name: "recall",
    label: "Recall",
    description:
      "Read the exact messages behind one line of compacted memory, by the 12 hex digits in brackets that it begins with. With `query`, only their passages that have some of these words; with `query` alone, search all memory and messages for ids.",
    promptSnippet: "Read the exact original messages behind a memory id from compacted memory",
    promptGuidelines: [
      "Before you act on a detail from compacted memory, or when asked why you believe it, call recall with the id of that line, and with a query where you look for one thing.",
    ],
    parameters: RECALL_PARAMETERS,
    async execute(_callId, params, _signal, _onUpdate, ctx) {
      const session = await memory(ctx);
      if (!session) throw new Error("Memory Lanes could not be loaded, so nothing can be recalled.");
      return session.recall(params);
    },
  });

  registerHandCommands(pi, {
    attempt: async (ctx, act) => attempt(ctx, act),
    loaded: async () => settledNow(current.opening),
  });
  pi.registerCommand("om:status", {
    description: "Memory: counts, clocks, lanes, problems and cost",
    handler: (_args, ctx) => attempt(ctx, (session) => session.showStatus(ctx)),
  });
  pi.registerCommand("om:view", {
    description: "Memory: what the agent sees (or: full; add copy for the clipboard)",
    getArgumentCompletions: (prefix) => completions(VIEW_ARGUMENTS, prefix),
    handler: (args, ctx) => attempt(ctx, (session) => session.showView(args, ctx)),
  });
  pi.registerCommand("om:search", {
    description: "Memory: find lines of memory and messages by their words",
    handler: (args, ctx) => attempt(ctx, (session) => session.showSearch(args, ctx)),
  });
  pi.registerCommand("om:lanes", {
    description: "Memory: the worker lanes, live: clocks, reasons, last results and spend",
    handler: (_args, ctx) =>
      attempt(ctx, (session) => session.showLanes(ctx, () => import("@earendil-works/pi-tui"))),
  });
  pi.registerCommand("om:inspect", {
    description:
      "Memory: look at the lanes in a browser on this machine (add open to open it, --port N to choose the port)",
    getArgumentCompletions: (prefix) => completions(INSPECT_ARGUMENTS, prefix),
    handler: (args, ctx) => attempt(ctx, (session) => session.inspect(args, ctx)),
  });
  pi.registerCommand("om:run", {
    description: "Memory: run a worker now (observer or reflector)",
    getArgumentCompletions: (prefix) => completions(RUN_ARGUMENTS, prefix),
    handler: (args, ctx) => attempt(ctx, (session) => session.run(args, ctx)),
  });
}

/**
 * Lets other extensions wait for the workers: whoever emits `memory-lanes:when-idle` with an object finds a promise in its
 * `idle` right after. Sessions that share an event bus each add theirs.
 */
function answerWhenIdle(pi: ExtensionAPI, whenIdle: () => Promise<void>): void {
  pi.events?.on("memory-lanes:when-idle", (request) => {
    if (typeof request !== "object" || request === null) return;
    const before: unknown = Reflect.get(request, "idle");
    const idle = Promise.allSettled([before, whenIdle()]).then(() => undefined);
    Reflect.set(request, "idle", idle);
  });
}

/** One session's memory on its way from not loaded to closed. */
interface Holder {
  reason: string;
  opening: Promise<MemorySession | undefined> | undefined;
  warmUp: NodeJS.Timeout | undefined;
  closed: boolean;
}

function newHolder(reason = "startup"): Holder {
  return { reason, opening: undefined, warmUp: undefined, closed: false };
}

/**
 * Whether the session is still there. `AgentSession.dispose()`, by which programs end one, calls no hook; from then on Pi's
 * contexts throw whatever they are asked.
 */
function isLive(holder: Holder, ctx: ExtensionContext): boolean {
  if (holder.closed) return false;
  try {
    void ctx.cwd;
    return true;
  } catch {
    return false;
  }
}

/** Long enough that Pi has answered its first request, short enough that nobody waits for the footer. */
const WARM_UP_MS = 400;

const RECALL_PARAMETERS = {
  type: "object",
  properties: {
    id: { type: "string", description: "The 12-digit hex id of the memory line" },
    query: { type: "string", description: "Words to look for in what stands behind it" },
    page: { type: "integer", minimum: 1, description: "Which page of a long result (default 1)" },
    maxTokens: {
      type: "integer",
      minimum: 100,
      description: "About how many tokens a page may have (default 8000, with a query 800; at most 20000)",
    },
  },
} as const;

const VIEW_ARGUMENTS = [
  { value: "full", label: "full", description: "The whole ledger at the branch tip" },
  { value: "copy", label: "copy", description: "Copy what the agent sees to the clipboard" },
  { value: "full copy", label: "full copy", description: "Copy the whole ledger to the clipboard" },
];

const INSPECT_ARGUMENTS = [
  { value: "open", label: "open", description: "Open the page in the browser too" },
  { value: "--port ", label: "--port N", description: "Serve it on this port, for who forwards it" },
];

const RUN_ARGUMENTS = [
  { value: "observer", label: "observer", description: "Observe what no observation covers yet" },
  {
    value: "reflector",
    label: "reflector",
    description: "Reflect on the observations, then drop what reflections keep",
  },
];

function completions<T extends { value: string }>(items: T[], prefix: string): T[] | null {
  const matching = items.filter(({ value }) => value.startsWith(prefix.trimStart()));
  return matching.length > 0 ? matching : null;
}

/**
 * Takes the source when it is there (a checkout), the build otherwise (the npm package ships no source). Node itself
 * loads it: Pi's loader would put every file through Babel, which blocks Pi for two seconds whenever its cache is cold.
 * The price is that `/reload` keeps the engine that is running; a changed checkout takes effect at the next start.
 */
function loadOpenMemory(): OpenMemorySession {
  const source = new URL("./memory-session.ts", import.meta.url);
  const engine = existsSync(source) ? source : new URL("../../../dist/runtime.js", import.meta.url);
  const { openMemorySession }: { openMemorySession: OpenMemorySession } = createRequire(import.meta.url)(
    fileURLToPath(engine),
  );
  return openMemorySession;
}

/** Whether a Pi of this version, or one that offers this context, lacks what memory needs. */
export function isTooOld(version: string, ctx: ExtensionContext): boolean {
  return typeof ctx.modelRegistry?.streamSimple !== "function" || isBeforeOldestPi(version);
}

/** Whether the transcript is to show no ledger lines; Pi draws it before the engine has read the settings. */
async function wantsQuietLines(ctx: ExtensionContext): Promise<boolean> {
  const { getAgentDir, CONFIG_DIR_NAME } = await import("@earendil-works/pi-coding-agent");
  const project = ctx.isProjectTrusted() ? join(ctx.cwd, CONFIG_DIR_NAME) : undefined;
  return wantsQuiet(settingsFiles(getAgentDir(), project));
}

/** The value of a promise that is settled already; undefined for one that is still under way. */
async function settledNow<T>(promise: Promise<T> | undefined): Promise<T | undefined> {
  return Promise.race([promise, Promise.resolve(undefined).then(() => undefined)]);
}

function tell(ctx: ExtensionContext, message: string): void {
  try {
    if (ctx.hasUI) ctx.ui.notify(harmlessText(message), "warning");
  } catch {
    // The session was replaced meanwhile: there is nobody left to tell.
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
