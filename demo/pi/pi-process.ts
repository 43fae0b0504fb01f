import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { type PiDirs, type PiLaunch, preparePi } from "./pi-launch.ts";
import { type PiRecord, PiRecords, type UiRequest } from "./pi-records.ts";
import { readSessionFile, type SessionLine } from "./session-file.ts";

export interface PiStart extends PiLaunch {
  /** Longest wait for any one thing. */
  timeoutMs?: number;
}

/** What Pi did with a prompt. */
export type Disposition = "started" | "queued" | "handled";

/** The part of Pi's `get_state` that is used here. */
export interface PiState {
  sessionFile?: string;
  sessionId: string;
  isStreaming: boolean;
  isCompacting: boolean;
  messageCount: number;
  model?: { provider: string; id: string; contextWindow: number };
}

/** How a Pi ended. */
export interface PiExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A real Pi in RPC mode. */
export interface PiProcess {
  readonly pid: number;
  readonly dirs: PiDirs;
  /** Everything Pi wrote to stdout except command responses and streaming deltas, oldest first; live. */
  readonly events: readonly PiRecord[];
  /** What extensions asked of the UI: notifications, statuses, widgets; live. */
  readonly uiRequests: readonly UiRequest[];
  readonly stderr: string;
  /** Set once the process has ended. */
  readonly exit: PiExit | undefined;
  readonly exitCode: number | null;

  /** Sends one RPC command and gives its data; a refusal rejects with Pi's words. */
  send(type: string, fields?: Record<string, unknown>): Promise<unknown>;
  /** Prompts, and waits for the run to settle unless Pi handled or queued the prompt. */
  prompt(text: string, fields?: Record<string, unknown>): Promise<Disposition>;
  /** Runs a slash command and gives the notifications that it made. */
  command(slash: string): Promise<string[]>;
  /** Answers a dialog that an extension has opened, such as `{ confirmed: true }`. */
  answer(request: UiRequest, fields: Record<string, unknown>): void;
  state(): Promise<PiState>;
  sessionFile(): Promise<string>;
  /** The session file's lines, header first. */
  entries(): Promise<SessionLine[]>;
  newSession(): Promise<void>;
  switchSession(sessionPath: string): Promise<void>;
  fork(entryId: string): Promise<void>;
  clone(): Promise<void>;
  compact(): Promise<unknown>;
  abort(): Promise<void>;

  /** Calls the listener with every record from now on, streaming deltas included; gives the way to stop. */
  on(listener: (record: PiRecord) => void): () => void;
  /** The first record at or after `from` (an index into `events`, default: now) that satisfies the predicate. */
  waitForEvent(predicate: (record: PiRecord) => boolean, what: string, from?: number): Promise<PiRecord>;
  /** Waits until no run and no compaction is going on. */
  idle(): Promise<void>;
  /** Closes stdin and waits; after `graceMs` SIGTERM, after as much again SIGKILL. */
  stop(graceMs?: number): Promise<PiExit>;
  /** SIGKILL, at once. */
  kill(): Promise<PiExit>;
}

/** Starts a real Pi in RPC mode and waits until it answers. */
export async function startPi(start: PiStart): Promise<PiProcess> {
  const { file, args, env, dirs } = preparePi(start, ["--mode", "rpc"]);
  const child = spawn(file, args, { cwd: dirs.work, env, stdio: ["pipe", "pipe", "pipe"] });
  const pi = connect(child, dirs, start.timeoutMs ?? 30_000);
  try {
    await pi.state();
  } catch (error) {
    await pi.kill();
    throw new Error(`Pi did not start: ${error instanceof Error ? error.message : String(error)}`);
  }
  return pi;
}

function connect(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  dirs: PiDirs,
  timeoutMs: number,
): PiProcess {
  const records = new PiRecords(timeoutMs);
  let exit: PiExit | undefined;
  let nextId = 0;

  records.read(child.stdout);
  child.stderr.setEncoding("utf8").on("data", (text: string) => records.noteStderr(text));
  // A write after Pi has gone is reported by the exit, which rejects whoever waits.
  child.stdin.on("error", () => {});
  const ended = new Promise<PiExit>((resolve) => {
    child.once("error", (error) => {
      exit ??= { code: null, signal: null };
      records.end(`Pi could not be run: ${error.message}`);
      resolve(exit);
    });
    // `close`, not `exit`: all output has been read by then.
    child.once("close", (code, signal) => {
      exit ??= { code, signal };
      records.end(`Pi ended (code ${code}, signal ${signal})`);
      resolve(exit);
    });
  });

  async function send(type: string, fields: Record<string, unknown> = {}): Promise<unknown> {
    const id = `command-${++nextId}`;
    const response = records.response(id, `the response to ${type}`);
    child.stdin.write(`${JSON.stringify({ ...fields, id, type })}\n`);
    const { success, data, error } = await response;
    if (success !== true) throw new Error(`Pi refused ${type}: ${String(error)}`);
    return data;
  }

  async function state(): Promise<PiState> {
    return (await send("get_state")) as PiState;
  }

  async function sendPrompt(text: string, fields: Record<string, unknown> = {}): Promise<Disposition> {
    const from = records.events.length;
    const data = (await send("prompt", { ...fields, message: text })) as
      | { disposition?: Disposition }
      | undefined;
    if (data?.disposition !== undefined) return data.disposition;
    // Pi before 1.0 does not say; whether a run goes on, or has gone on since, tells.
    if (fields.streamingBehavior !== undefined) return "queued";
    const { isStreaming } = await state();
    const ran = records.events.slice(from).some((record) => record.type === "agent_start");
    return isStreaming || ran ? "started" : "handled";
  }

  async function moved(type: string, fields?: Record<string, unknown>): Promise<void> {
    const data = (await send(type, fields)) as { cancelled?: boolean } | undefined;
    if (data?.cancelled === true) throw new Error(`An extension cancelled ${type}`);
  }

  async function within(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), ms);
    });
    const inTime = await Promise.race([ended.then(() => true), late]);
    clearTimeout(timer);
    return inTime;
  }

  const pi: PiProcess = {
    pid: child.pid ?? -1,
    dirs,
    events: records.events,
    uiRequests: records.uiRequests,
    get stderr() {
      return records.stderr;
    },
    get exit() {
      return exit;
    },
    get exitCode() {
      return exit?.code ?? null;
    },
    send,
    async prompt(text, fields) {
      const from = records.events.length;
      const disposition = await sendPrompt(text, fields);
      if (disposition === "started") {
        const what = `the run after the prompt ${JSON.stringify(text.slice(0, 60))} to settle`;
        await records.waitFor((record) => record.type === "agent_settled", what, from);
      }
      return disposition;
    },
    async command(slash) {
      const from = records.uiRequests.length;
      const disposition = await sendPrompt(slash);
      if (disposition !== "handled") {
        throw new Error(`No extension handled ${slash}: Pi ${disposition} it as a prompt for the model`);
      }
      return records.uiRequests
        .slice(from)
        .flatMap((request) => (request.method === "notify" ? [request.message ?? ""] : []));
    },
    answer({ id }, fields) {
      child.stdin.write(`${JSON.stringify({ ...fields, type: "extension_ui_response", id })}\n`);
    },
    state,
    async sessionFile() {
      const { sessionFile } = await state();
      if (sessionFile === undefined) throw new Error("This Pi keeps no session file");
      return sessionFile;
    },
    entries: async () => readSessionFile(await pi.sessionFile()),
    newSession: () => moved("new_session"),
    switchSession: (sessionPath) => moved("switch_session", { sessionPath }),
    fork: (entryId) => moved("fork", { entryId }),
    clone: () => moved("clone"),
    compact: () => send("compact"),
    abort: async () => {
      await send("abort");
    },
    on: (listener) => records.on(listener),
    waitForEvent: (predicate, what, from) => records.waitFor(predicate, what, from),
    async idle() {
      for (;;) {
        const from = records.events.length;
        const { isStreaming, isCompacting } = await state();
        if (!isStreaming && !isCompacting) return;
        const what = isCompacting ? "compaction_end" : "agent_settled";
        await records.waitFor((record) => record.type === what, `${what}, to be idle`, from);
      }
    },
    async stop(graceMs = 5000) {
      child.stdin.end();
      if (!(await within(graceMs))) {
        child.kill("SIGTERM");
        if (!(await within(graceMs))) child.kill("SIGKILL");
      }
      return ended;
    },
    kill() {
      child.kill("SIGKILL");
      return ended;
    },
  };
  return pi;
}
