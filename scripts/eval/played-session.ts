import { EventEmitter } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTick } from "node:timers/promises";
import type { Api, Model } from "@earendil-works/pi-ai";
import { CONFIG_DIR_NAME, type ExtensionAPI, type ExtensionContext } from "@earendil-works/pi-coding-agent";
import memoryLanes from "../../src/host/pi/extension.ts";
import { NAMESPACE } from "../../src/host/settings/settings.ts";
import { isSourceAt, positionOf, tokensAfter } from "../../src/reducers/branch.ts";
import { type EntryLike, textOf } from "../../src/reducers/entries/entry.ts";
import { renderSource } from "../../src/reducers/entries/sources.ts";
import { proposedCut } from "../../src/reducers/ledger/proposed-cut.ts";
import type { MemoryDetails } from "../../src/reducers/ledger/records.ts";
import { sessionOfEntries } from "../../src/reducers/memory.ts";
import { redactedLookup } from "../../src/reducers/redact.ts";
import { clocksOfSession } from "../../src/reducers/session.ts";
import type { Settings } from "../../src/reducers/settings.ts";
import type { Registry } from "./metered-models.ts";

/** A tool as Pi offers it to the agent. */
export interface AgentTool {
  name: string;
  description: string;
  promptGuidelines: readonly string[];
  /** JSON schema of the arguments */
  parameters: object;
  /** What the agent reads; throws where the tool has no answer. */
  call(args: unknown): Promise<string>;
}

/** What a compaction was answered with. */
export interface Fold {
  summary: string;
  details: MemoryDetails;
  /** The messages that were kept after it, as `recall` would show them */
  kept: string;
  /** Source tokens before the cut that no observer has read */
  unobserved: number;
}

/** A session that is lived through again: its entries come one after the other, and the extension does what it does. */
export interface PlayedSession {
  /** The entries so far, ledger and compactions of this run among them, root first; live. */
  readonly branch: readonly EntryLike[];
  /** What the extension would have warned the user of; live. */
  readonly warnings: readonly string[];
  readonly recall: AgentTool;
  append(entry: EntryLike): void;
  agentStarted(): void;
  /** Resolves when the workers that this set going have ended. */
  turnEnded(): Promise<void>;
  /** Compacts here, cutting where Pi would; undefined when there was nothing to cut or nothing to fold. */
  compact(): Promise<Fold | undefined>;
  close(): Promise<void>;
}

export interface PlayOptions {
  /** The workers' model, and the session's */
  model: Model<Api>;
  registry: Registry;
  /** Settings in place of the user's own */
  settings: Partial<Settings>;
  /** Pi's setting `compaction.keepRecentTokens` */
  keepTokens: number;
}

type Handler = (event: object, ctx: ExtensionContext) => unknown;

/** What Pi keeps of the window for its own, where nothing is set. */
const RESERVE_TOKENS = 16_384;

/**
 * Opens an empty session with the extension as Pi loads it: its hooks, its engine and workers, its tool. What stands in for Pi
 * is the session's tree alone; it takes entries as they are, with their ids and times, which Pi's own would give anew.
 */
export function playedSession({ model, registry, settings, keepTokens }: PlayOptions): PlayedSession {
  const dir = mkdtempSync(join(tmpdir(), "memory-lanes-eval-"));
  const branch: EntryLike[] = [];
  const byId = new Map<string, EntryLike>();
  const warnings: string[] = [];
  const handlers = new Map<string, Handler>();
  const tools = new Map<string, Parameters<ExtensionAPI["registerTool"]>[0]>();
  const bus = new EventEmitter();
  let made = 0;

  function append(entry: EntryLike): void {
    const placed = { ...entry, parentId: branch.at(-1)?.id ?? null };
    branch.push(placed);
    byId.set(placed.id, placed);
  }

  function appendOwn(fields: Record<string, unknown> & { type: string }): EntryLike {
    const entry = { ...fields, id: `played-${++made}`, parentId: null, timestamp: new Date().toISOString() };
    append(entry);
    return entry;
  }

  const pi = {
    on: (type: string, handler: Handler) => handlers.set(type, handler),
    registerTool: (tool: Parameters<ExtensionAPI["registerTool"]>[0]) => tools.set(tool.name, tool),
    registerCommand: () => {},
    appendEntry: (customType: string, data: unknown) => appendOwn({ type: "custom", customType, data }),
    events: bus,
  };
  const ctx = {
    cwd: dir,
    hasUI: true,
    mode: "rpc",
    model,
    modelRegistry: registry,
    ui: {
      notify: (message: string, level: string) => {
        if (level === "warning") warnings.push(message);
      },
      setStatus: () => {},
    },
    sessionManager: {
      getEntry: (id: string) => byId.get(id),
      getEntries: () => branch,
      getBranch: () => [...branch],
      getLeafId: () => branch.at(-1)?.id ?? null,
      getSessionId: () => "played",
      // A kept session: the extension does nothing by itself in others.
      getSessionFile: () => join(dir, "session.jsonl"),
      getHeader: () => null,
    },
    isIdle: () => true,
    isProjectTrusted: () => true,
    compact: () => {},
  } as unknown as ExtensionContext;
  mkdirSync(join(dir, CONFIG_DIR_NAME));
  const own = {
    ...settings,
    model: { provider: model.provider, id: model.id },
    passive: false,
    debugLog: false,
  };
  writeFileSync(join(dir, CONFIG_DIR_NAME, "settings.json"), JSON.stringify({ [NAMESPACE]: own }));

  memoryLanes(pi as unknown as ExtensionAPI);
  const hook = async (type: string, event: object = {}): Promise<unknown> =>
    handlers.get(type)?.({ type, ...event }, ctx);
  const opened = hook("session_start", { reason: "startup" });

  /** A worker that ends may set another going, so the extension is asked until it stays idle. */
  async function workersIdle(): Promise<void> {
    for (let before = -1; before !== branch.length; ) {
      before = branch.length;
      const request: { idle?: Promise<void> } = {};
      bus.emit("memory-lanes:when-idle", request);
      await request.idle;
      await nextTick();
    }
  }

  return {
    branch,
    warnings,
    get recall() {
      const tool = tools.get("recall");
      if (!tool) throw new Error("the extension has registered no tool recall");
      const { name, description, promptGuidelines = [], parameters } = tool;
      return {
        ...{ name, description, promptGuidelines, parameters },
        async call(args: unknown) {
          const { content } = await tool.execute("recall", args as never, undefined, undefined, ctx as never);
          return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
        },
      };
    },
    append,
    agentStarted: () => void hook("agent_start"),
    async turnEnded() {
      await opened;
      await hook("turn_end");
      await workersIdle();
    },
    async compact() {
      const { session, lookup } = sessionOfEntries(branch);
      const firstKeptEntryId = proposedCut(session.branch, session.ledger, keepTokens);
      if (firstKeptEntryId === undefined) return undefined;
      const previous = branch.findLast(({ type }) => type === "compaction") as
        | { summary?: unknown }
        | undefined;
      const previousSummary = textOf(previous?.summary);
      // As if system prompt and tools took nothing: a session file does not tell how much they did.
      const tokensBefore = clocksOfSession(session).compact + Math.ceil(previousSummary.length / 4);
      const answer = (await hook("session_before_compact", {
        preparation: {
          ...{ firstKeptEntryId, tokensBefore, previousSummary },
          settings: { enabled: true, reserveTokens: RESERVE_TOKENS, keepRecentTokens: keepTokens },
        },
        branchEntries: [...branch],
        ...{ reason: "manual", willRetry: false, signal: new AbortController().signal },
      })) as { compaction: Omit<Fold, "unobserved" | "kept"> & { firstKeptEntryId: string } } | undefined;
      if (!answer) return undefined;
      const compactionEntry = appendOwn({ type: "compaction", ...answer.compaction, fromHook: true });
      await hook("session_compact", {
        compactionEntry,
        fromExtension: true,
        reason: "manual",
        willRetry: false,
      });
      const cut = positionOf(session.branch, answer.compaction.firstKeptEntryId);
      const keptTokens = tokensAfter(session.branch, cut - 1);
      const clean = redactedLookup(lookup);
      const kept = branch.slice(cut, session.branch.length).flatMap((entry, at) => {
        if (!isSourceAt(session.branch, cut + at)) return [];
        return renderSource(clean(entry.id) ?? entry, clean) ?? [];
      });
      return {
        ...answer.compaction,
        kept: kept.join("\n\n"),
        unobserved: Math.max(0, clocksOfSession(session).observe - keptTokens),
      };
    },
    async close() {
      await hook("session_shutdown", { reason: "quit" });
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
