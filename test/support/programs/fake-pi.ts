import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Context } from "@earendil-works/pi-ai";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type MemorySession, openMemorySession, type PiHost } from "../../../src/host/pi/memory-session.ts";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { type FakeRequest, fakeRequest } from "./fake-request.ts";

/** Just enough of Pi to run the extension's engine in this process: a session tree, a model, and a strict context. */
export interface FakePi {
  readonly memory: MemorySession;
  readonly entries: ReadonlyMap<string, EntryLike>;
  readonly leaf: string | null;
  /** Everything that was asked of the model, oldest first; live. */
  readonly requests: readonly FakeRequest[];
  /** Notices, oldest first; live. */
  readonly notices: readonly string[];
  /** The error handlers of compactions that were asked for; live. */
  readonly compactions: readonly ((error: Error) => void)[];
  /** What was done with a context that Pi had taken back. */
  readonly staleUses: readonly string[];
  /** Whether Pi says that nothing goes on. */
  isIdle: boolean;
  hasModel: boolean;
  /** Whether whatever is shown makes Pi's screen throw. */
  hasBrokenScreen: boolean;
  /** The custom type of entries that Pi fails to write */
  refuses: string | undefined;
  /** Pi's agent directory */
  readonly dir: string;
  readonly sessionId: string;
  /** Appends an entry at the leaf; gives its id. */
  append(entry: Omit<EntryLike, "id" | "parentId" | "timestamp"> & Record<string, unknown>): string;
  user(text: string): string;
  moveTo(leaf: string | null): void;
  /** What `/om:lanes` says. */
  lanes(): Promise<string>;
  /** What `/om:status` says. */
  status(): string;
  /** Closes the session as Pi does, after which its context must not be touched, and opens it again. */
  reopen(reason: string): Promise<void>;
  /** The same, but what is opened is another, empty session. */
  openAnother(reason: string): Promise<void>;
  close(reason: string): Promise<void>;
  /** The current branch, root first */
  branch(): EntryLike[];
  dispose(): Promise<void>;
}

let sessions = 0;

export function fakePi(memorySettings: Record<string, unknown>): FakePi {
  const dir = mkdtempSync(join(tmpdir(), "fake-pi-"));
  writeFileSync(join(dir, "settings.json"), JSON.stringify({ "observational-memory": memorySettings }));
  const entries = new Map<string, EntryLike>();
  const requests: FakeRequest[] = [];
  const notices: string[] = [];
  const compactions: ((error: Error) => void)[] = [];
  const staleUses: string[] = [];
  const state = {
    isIdle: true,
    hasModel: true,
    hasBrokenScreen: false,
    refuses: undefined as string | undefined,
    leaf: null as string | null,
    sessionId: `session-${++sessions}`,
  };
  let made = 0;

  function append(entry: Record<string, unknown>): string {
    const id = `entry${++made}`;
    const stamped = { ...entry, id, parentId: state.leaf, timestamp: new Date(Date.now()).toISOString() };
    entries.set(id, stamped as unknown as EntryLike);
    state.leaf = id;
    return id;
  }

  function branch(): EntryLike[] {
    const path: EntryLike[] = [];
    for (let id = state.leaf; id !== null; ) {
      const entry = entries.get(id);
      if (!entry) break;
      path.push(entry);
      id = entry.parentId;
    }
    return path.reverse();
  }

  const manager = {
    getEntry: (id: string) => entries.get(id),
    getLeafId: () => state.leaf,
    getBranch: branch,
    getSessionId: () => state.sessionId,
    getSessionFile: () => `${state.sessionId}.jsonl`,
    getHeader: () => null,
    getEntries: () => [],
  };
  const model = { provider: "fake", id: "fake", contextWindow: 100_000, maxTokens: 4096 };

  function streamSimple(
    { provider, id }: typeof model,
    context: Context,
    { signal }: { signal?: AbortSignal },
  ) {
    const { request, stream } = fakeRequest(context, signal, `${provider}/${id}`);
    requests.push(request);
    return stream;
  }

  function opening(reason: string) {
    let isOpen = true;
    let isStale = false;
    const draw = (message?: string) => {
      if (state.hasBrokenScreen) throw new Error("no screen");
      if (message !== undefined) notices.push(message);
    };
    const ui = { notify: (message: string) => draw(message), setStatus: () => draw() };
    const context = {
      hasUI: true,
      mode: "rpc",
      cwd: dir,
      ui: guarded(ui, "ctx.ui"),
      sessionManager: manager,
      // A provider of this name is one that Pi does not know.
      modelRegistry: {
        find: (provider: string, id: string) =>
          provider === "missing" ? undefined : { ...model, provider, id },
        streamSimple,
      },
      get model() {
        return state.hasModel ? model : undefined;
      },
      isIdle: () => state.isIdle,
      isProjectTrusted: () => false,
      compact: ({ onError }: { onError: (error: Error) => void }) => compactions.push(onError),
    };
    const pi = {
      appendEntry(customType: string, data: unknown) {
        if (customType === state.refuses) throw new Error("ENOSPC: no space left on device");
        append({ type: "custom", customType, data });
      },
    };

    /** As Pi has it: once a session is replaced, every use of its objects throws. */
    function guarded<T extends object>(target: T, name: string): T {
      return new Proxy(target, {
        get(on, key, receiver) {
          if (isStale) {
            staleUses.push(`${name}.${String(key)}`);
            throw new Error("This extension ctx is stale");
          }
          return Reflect.get(on, key, receiver);
        },
      });
    }

    const ctx = guarded(context, "ctx") as unknown as ExtensionContext;
    const memory = openMemorySession(
      guarded(pi, "pi") as unknown as ExtensionAPI,
      ctx,
      reason,
      () => isOpen,
      {
        CONFIG_DIR_NAME: ".pi",
        VERSION: "0",
        getAgentDir: () => dir,
        copyToClipboard: async () => {},
      } as PiHost,
    );
    return {
      memory,
      context: ctx,
      async close(closing: string) {
        if (isStale) return;
        const done = memory.close(closing);
        isOpen = false;
        await done;
        isStale = true;
      },
    };
  }

  let current = opening("startup");
  return {
    get memory() {
      return current.memory;
    },
    get leaf() {
      return state.leaf;
    },
    get isIdle() {
      return state.isIdle;
    },
    set isIdle(value) {
      state.isIdle = value;
    },
    get hasModel() {
      return state.hasModel;
    },
    set hasModel(value) {
      state.hasModel = value;
    },
    get hasBrokenScreen() {
      return state.hasBrokenScreen;
    },
    set hasBrokenScreen(value) {
      state.hasBrokenScreen = value;
    },
    get refuses() {
      return state.refuses;
    },
    set refuses(value) {
      state.refuses = value;
    },
    dir,
    get sessionId() {
      return state.sessionId;
    },
    entries,
    requests,
    notices,
    compactions,
    staleUses,
    append,
    user: (text) => append({ type: "message", message: { role: "user", content: text, timestamp: 0 } }),
    moveTo(leaf) {
      state.leaf = leaf;
      current.memory.branchMoved();
    },
    async lanes() {
      await current.memory.showLanes(current.context, () => Promise.reject(new Error("no terminal")));
      return notices.pop() ?? "";
    },
    status() {
      current.memory.showStatus(current.context);
      return notices.pop() ?? "";
    },
    close: (reason) => current.close(reason),
    async reopen(reason) {
      await current.close(reason);
      current = opening(reason);
    },
    async openAnother(reason) {
      await current.close(reason);
      state.sessionId = `session-${++sessions}`;
      state.leaf = null;
      current = opening(reason);
    },
    branch,
    async dispose() {
      await current.close("quit");
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Lets everything that is ready in this process happen: runs start a tick late, and streams are read in microtasks. */
export async function ticks(count = 4): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
}
