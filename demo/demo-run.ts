import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { DEMO_TURNS, RECALL_TURN } from "./conversation/demo-conversation.ts";
import { DEMO_SCRIPT } from "./conversation/demo-script.ts";
import { announceTurn, progressLine, resultText, say } from "./demo-progress.ts";
import { startScriptedModel } from "./model/scripted-model.ts";
import { lanesAtRest } from "./pi/lanes-at-rest.ts";
import type { PiLaunch } from "./pi/pi-launch.ts";
import { type PiProcess, startPi } from "./pi/pi-process.ts";
import type { SessionLine } from "./pi/session-file.ts";

const PACKAGE = resolve(import.meta.dirname, "..");

/** Small enough that a conversation of some twenty thousand tokens shows everything. */
export const DEMO_MEMORY = {
  observeAfterTokens: 1200,
  reflectAfterTokens: 3000,
  compactAfterTokens: 4500,
  observationsPoolMaxTokens: 450,
  observationsPoolTargetTokens: 250,
  debugLog: true,
} as const;

const SETTINGS = {
  compaction: { keepRecentTokens: 1500 },
  "observational-memory": DEMO_MEMORY,
};

export interface DemoOptions {
  /** Scratch folder; stays, so that its files can be looked at. */
  dir: string;
  /** `provider/id` of one of the user's own models. Unset: the scripted model. */
  model?: string;
}

/** What a finished demo leaves to look at. */
export interface DemoResult {
  entries: SessionLine[];
  /** What `recall` gave the agent, oldest first. */
  recalled: string[];
  /** What the agent said last. */
  lastAnswer: string;
  status: string;
  /** What extensions and Pi complained of. */
  complaints: string[];
  sessionFile: string;
  agentDir: string;
  recordingsDir: string;
}

/** Runs the main job in a real Pi, showing progress on stdout; Pi and the scripted model have ended when it returns. */
export async function runDemo(options: DemoOptions, signal: AbortSignal): Promise<DemoResult> {
  const scripted = options.model === undefined ? await startScriptedModel(DEMO_SCRIPT) : undefined;
  let pi: PiProcess | undefined;
  const stop = () => void pi?.kill();
  signal.addEventListener("abort", stop);
  try {
    pi = await startPi(scripted ? scriptedLaunch(options.dir, scripted.url) : ownModelLaunch(options));
    signal.throwIfAborted();
    return await converse(pi);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", stop);
    if (pi && pi.exit === undefined) await pi.stop();
    await scripted?.close();
  }
}

/** The agent's own tools need this very Node, also where the system's is older. */
const env = { PATH: `${join(process.execPath, "..")}:${process.env.PATH ?? ""}` };

function scriptedLaunch(dir: string, modelUrl: string): PiLaunch & { timeoutMs: number } {
  return { dir, modelUrl, settings: SETTINGS, extensions: [PACKAGE], env, timeoutMs: 30_000 };
}

/**
 * The user's own agent dir, as it is: sign-ins stay where they are and are renewed in place. The demo's settings
 * come in as project settings of the scratch working folder, trusted for this process only, and only this
 * extension is loaded, so that an installed copy does not get in its way.
 */
function ownModelLaunch({ dir, model }: DemoOptions): PiLaunch & { timeoutMs: number } {
  const agentDir = process.env.PI_CODING_AGENT_DIR ?? join(homedir(), ".pi", "agent");
  if (!existsSync(agentDir)) {
    throw new Error(
      `There is no Pi agent dir at ${agentDir}; sign in with pi first, or set PI_CODING_AGENT_DIR`,
    );
  }
  return {
    dir,
    agentDir,
    ...(model !== undefined && { model }),
    settings: SETTINGS,
    settingsScope: "project",
    extensions: [PACKAGE],
    args: ["--no-extensions"],
    env,
    timeoutMs: 600_000,
  };
}

async function converse(pi: PiProcess): Promise<DemoResult> {
  const recalled: string[] = [];
  pi.on((record) => {
    const line = progressLine(record);
    if (line !== undefined) say(line);
    if (record.type === "tool_execution_end" && record.toolName === "recall" && record.isError !== true) {
      recalled.push(resultText(record));
    }
  });
  const turns = [...DEMO_TURNS, RECALL_TURN];
  let status = "";
  for (const [index, { title, asks }] of turns.entries()) {
    announceTurn(index + 1, turns.length, title);
    await pi.prompt(asks);
    failIfModelFailed(pi);
    // A user reads the answer before asking on; the workers finish meanwhile.
    status = await lanesAtRest(pi);
  }
  const { text } = (await pi.send("get_last_assistant_text")) as { text: string | null };
  return {
    entries: await pi.entries(),
    recalled,
    lastAnswer: text ?? "",
    status,
    complaints: complaintsOf(pi),
    sessionFile: await pi.sessionFile(),
    agentDir: pi.dirs.agent,
    recordingsDir: join(pi.dirs.agent, "observational-memory", "debug"),
  };
}

/** Pi has tried again by itself before it comes to this. */
function failIfModelFailed(pi: PiProcess): void {
  const last = pi.events.findLast((record) => record.type === "message_end")?.message as
    | { role?: string; stopReason?: string; errorMessage?: string }
    | undefined;
  if (last?.stopReason === "error")
    throw new Error(`The model failed: ${last.errorMessage ?? "no reason given"}`);
}

function complaintsOf(pi: PiProcess): string[] {
  const warnings = pi.uiRequests.flatMap((request) =>
    request.method === "notify" && (request.notifyType === "warning" || request.notifyType === "error")
      ? [request.message ?? ""]
      : [],
  );
  const failed = pi.events.flatMap((record) => {
    if (record.type === "extension_error") return [String(record.error)];
    const message = record.type === "message_end" ? (record.message as { errorMessage?: string }) : {};
    return message.errorMessage === undefined ? [] : [message.errorMessage];
  });
  return [...warnings, ...failed, ...(pi.stderr.trim() === "" ? [] : [pi.stderr.trim()])];
}
