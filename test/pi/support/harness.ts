import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ChatRequest,
  type Role,
  type Script,
  type ScriptedModel,
  startScriptedModel,
} from "../../../demo/model/scripted-model.ts";
import type { PiLaunch } from "../../../demo/pi/pi-launch.ts";
import { type PiProcess, startPi } from "../../../demo/pi/pi-process.ts";

export { lanesAtRest } from "../../../demo/pi/lanes-at-rest.ts";

/** What a user passes to `pi -e`: this package's folder, or what the variable names, such as an unpacked tarball. */
export const EXTENSION = process.env.PI_TEST_EXTENSION ?? resolve(import.meta.dirname, "../../..");
/** The Pi to test with: an installed package's folder, or unset the one that this project depends on. */
const PI_DIR = process.env.PI_TEST_DIR;
export const REMOTE_CONTROL = join(import.meta.dirname, "../extensions/remote-control.ts");

export type MemorySettings = Record<string, unknown>;

/** Thresholds that a handful of turns of about a thousand tokens passes, dropping and compaction included. */
export const SMALL: MemorySettings = {
  observeAfterTokens: 1500,
  reflectAfterTokens: 3000,
  compactAfterTokens: 8000,
  observationsPoolMaxTokens: 400,
  observationsPoolTargetTokens: 120,
};

/** Nothing proactive happens in a test-sized session. */
export const NEVER: MemorySettings = {
  observeAfterTokens: 10_000_000,
  reflectAfterTokens: 10_000_000,
  compactAfterTokens: 10_000_000,
};

/** Only the observer works, after `observeAfterTokens` tokens. */
export function onlyObserver(observeAfterTokens: number): MemorySettings {
  return { ...NEVER, observeAfterTokens };
}

export interface HostOptions extends Omit<PiLaunch, "dir" | "modelUrl" | "settings" | "extensions"> {
  script?: Script;
  /** The `observational-memory` settings. Unset: `SMALL`. */
  memory?: MemorySettings;
  /** Pi's other settings; by default a small retained tail and no retries of the agent's own requests. */
  piSettings?: Record<string, unknown>;
  /** Extensions besides the one under test and the remote control. */
  moreExtensions?: readonly string[];
  /** The same, loaded before the extension under test. */
  earlierExtensions?: readonly string[];
  /** Instead of the extension under test. */
  extension?: string;
  timeoutMs?: number;
}

/** A scratch folder, a scripted model, and Pi processes that use both. */
export interface PiHost {
  readonly dir: string;
  readonly model: ScriptedModel;
  /** The Pi started last. */
  readonly pi: PiProcess;
  /** What a Pi of this host is launched with; for `runPi`. */
  readonly launch: PiLaunch;
  /** Starts another Pi on the same scratch folder, after the last one has ended. */
  restart(changes?: Partial<PiLaunch>): Promise<PiProcess>;
  close(): Promise<void>;
}

/** Opens a host for one running Pi, and starts that; the caller closes it. Set KEEP_PI_DIRS to look at its files afterwards. */
export async function openHost(options: HostOptions = {}): Promise<PiHost> {
  const {
    script,
    memory = SMALL,
    piSettings,
    moreExtensions = [],
    earlierExtensions = [],
    extension,
    timeoutMs,
    ...rest
  } = options;
  const dir = mkdtempSync(join(tmpdir(), "pi-memory-lanes-test-"));
  const model = await startScriptedModel(script);
  const launch: PiLaunch = {
    ...(PI_DIR !== undefined && { piDir: PI_DIR }),
    ...rest,
    dir,
    modelUrl: model.url,
    settings: {
      compaction: { keepRecentTokens: 2000 },
      retry: { enabled: false },
      ...piSettings,
      "observational-memory": memory,
    },
    extensions: [...earlierExtensions, extension ?? EXTENSION, REMOTE_CONTROL, ...moreExtensions],
  };
  const started: PiProcess[] = [];

  async function start(changes: Partial<PiLaunch> = {}): Promise<PiProcess> {
    const pi = await startPi({ ...launch, ...changes, ...(timeoutMs !== undefined && { timeoutMs }) });
    started.push(pi);
    return pi;
  }

  async function close(): Promise<void> {
    await Promise.all(started.filter((pi) => pi.exit === undefined).map((pi) => pi.stop()));
    await model.close();
    if (process.env.KEEP_PI_DIRS === undefined) rmSync(dir, { recursive: true, force: true });
    else console.error(`Kept ${dir}`);
  }

  let pi: PiProcess;
  try {
    pi = await start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    dir,
    model,
    launch,
    get pi() {
      return pi;
    },
    async restart(changes) {
      pi = await start(changes);
      return pi;
    },
    close,
  };
}

/** Runs a test in a host of its own and always cleans up; a failure carries what Pi and the script complained of. */
export async function withPi<T>(options: HostOptions, run: (host: PiHost) => Promise<T>): Promise<T> {
  const host = await openHost(options);
  try {
    return await run(host);
  } catch (error) {
    const complaints = [host.pi.stderr.trim(), ...host.model.scriptErrors.map(String)].filter(
      (complaint) => complaint !== "",
    );
    if (complaints.length > 0 && error instanceof Error) {
      error.message += `\n\nPi's stderr and script errors:\n${complaints.join("\n")}`;
    }
    throw error;
  } finally {
    await host.close();
  }
}

/** Polls until the predicate gives something other than `false` or `undefined`, and gives that. */
export async function waitFor<T>(
  predicate: () => T | Promise<T>,
  what: string,
  { timeoutMs = 15_000, everyMs = 15 }: { timeoutMs?: number; everyMs?: number } = {},
): Promise<Exclude<T, false | undefined>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await predicate();
    if (value !== undefined && value !== false) return value as Exclude<T, false | undefined>;
    if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}`);
    await sleep(everyMs);
  }
}

/** The body of a role's request, counted like `Array.at`. */
export function requestAt(model: ScriptedModel, role: Role, index: number): ChatRequest {
  const request = model.by(role).at(index);
  if (!request) throw new Error(`No ${role} request at ${index}; there were ${model.by(role).length}`);
  return request.body;
}

const SUBJECTS = [
  "The parser",
  "A retry",
  "The cache",
  "Each worker",
  "The report",
  "That index",
  "The queue",
];
const VERBS = ["keeps", "rejects", "rewrites", "measures", "orders", "splits", "confirms", "forwards"];
const OBJECTS = [
  "late rows",
  "the second header",
  "empty fields",
  "stale locks",
  "large batches",
  "old keys",
];
const TAILS = [
  "before the next flush",
  "once the checksum matches",
  "unless the file was truncated",
  "as the tests on Monday showed",
  "which took most of the time",
];

/** About `tokens` tokens of varied prose; the same seed gives the same text. */
export function prose(tokens: number, seed = 1): string {
  let state = seed >>> 0;
  const pick = (words: readonly string[]) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return words[(state >>> 16) % words.length];
  };
  const sentences: string[] = [];
  let length = 0;
  for (let number = 1; length < tokens * 4; number++) {
    const sentence = `${pick(SUBJECTS)} ${pick(VERBS)} ${pick(OBJECTS)} ${pick(TAILS)} (note ${seed}.${number}).`;
    sentences.push(sentence);
    length += sentence.length + 1;
  }
  return sentences.join(" ");
}
