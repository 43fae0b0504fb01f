import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** Where one scratch Pi keeps everything it reads and writes. */
export interface PiDirs {
  /** `PI_CODING_AGENT_DIR` */
  agent: string;
  sessions: string;
  /** Working folder of the agent. */
  work: string;
}

export interface PiLaunch {
  /** Scratch folder; everything Pi writes stays below it. */
  dir: string;
  /** Base URL of a scripted model. Unset: the model in `model` is one that the agent dir already knows. */
  modelUrl?: string;
  /** `provider/id`. Unset: the scripted model. Empty: the one that Pi chooses, if it knows any. */
  model?: string;
  contextWindow?: number;
  maxTokens?: number;
  /** US dollars per million tokens of the scripted model. */
  cost?: { input: number; output: number };
  /** For how many seconds Pi takes the scripted model's prompt cache to live. Unset: Pi does not know. */
  promptCacheSeconds?: number;
  /** Pi's settings, the `observational-memory` key among them. */
  settings?: Record<string, unknown>;
  /** Where `settings` go: the scratch agent dir, or the working folder's trusted project settings. */
  settingsScope?: "global" | "project";
  /** Use this agent dir as it is instead of a scratch one. */
  agentDir?: string;
  extensions?: readonly string[];
  /** Session file to open. */
  session?: string;
  /** Folder of an installed `@earendil-works/pi-coding-agent`. Unset: the one that this project depends on. */
  piDir?: string;
  /** Node to run Pi with. Unset: the one that runs this process. */
  node?: string;
  args?: readonly string[];
  env?: Readonly<Record<string, string>>;
}

/** Everything needed to spawn Pi. */
export interface PiCommand {
  file: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  dirs: PiDirs;
}

export const SCRIPTED_PROVIDER = "scripted";
export const SCRIPTED_MODEL = `${SCRIPTED_PROVIDER}/scripted`;

/** Prepares the scratch folders of a Pi and gives the command that starts it with `modeArgs`. */
export function preparePi(launch: PiLaunch, modeArgs: readonly string[]): PiCommand {
  const dirs: PiDirs = {
    agent: launch.agentDir ?? join(launch.dir, "agent"),
    sessions: join(launch.dir, "sessions"),
    work: join(launch.dir, "work"),
  };
  const home = join(launch.dir, "home");
  for (const dir of [dirs.agent, dirs.sessions, dirs.work, home]) mkdirSync(dir, { recursive: true });
  if (launch.modelUrl !== undefined) writeJson(join(dirs.agent, "models.json"), scriptedProvider(launch));
  const inProject = launch.settingsScope === "project";
  if (launch.settings) {
    const folder = inProject ? join(dirs.work, ".pi") : dirs.agent;
    mkdirSync(folder, { recursive: true });
    writeJson(join(folder, "settings.json"), launch.settings);
  }
  const args = [
    piBin(launch.piDir),
    ...modeArgs,
    ...(launch.model === "" ? [] : ["--model", launch.model ?? SCRIPTED_MODEL]),
    ...["--session-dir", dirs.sessions],
    ...(launch.session === undefined ? [] : ["--session", launch.session]),
    ...(launch.extensions ?? []).flatMap((path) => ["-e", path]),
    ...(inProject ? ["--approve"] : []),
    ...(launch.args ?? []),
  ];
  // A Pi with a scratch agent dir must find nothing of the user's and must not reach the network.
  const isolated = { ...withoutPiVariables(process.env), HOME: home, USERPROFILE: home, PI_OFFLINE: "1" };
  const env: NodeJS.ProcessEnv = {
    ...(launch.agentDir === undefined ? isolated : process.env),
    PI_CODING_AGENT_DIR: dirs.agent,
    ...launch.env,
  };
  return { file: launch.node ?? process.execPath, args, env, dirs };
}

/** What a Pi that ran once and exited left behind. */
export interface PiOutput {
  stdout: string;
  stderr: string;
  code: number | null;
  dirs: PiDirs;
}

/** Runs Pi to its end, as in print and JSON mode (`["-p", "text"]`, `["--mode", "json", "text"]`). */
export async function runPi(
  launch: PiLaunch,
  modeArgs: readonly string[],
  { timeoutMs = 30_000 }: { timeoutMs?: number } = {},
): Promise<PiOutput> {
  const { file, args, env, dirs } = preparePi(launch, modeArgs);
  const child = spawn(file, args, { cwd: dirs.work, env, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => {
      child.kill("SIGKILL");
      reject(
        new Error(
          `pi ${modeArgs.join(" ")} did not end within ${timeoutMs} ms.\nstdout: ${stdout}\nstderr: ${stderr}`,
        ),
      );
    }, timeoutMs);
    child.once("error", (error) => {
      clearTimeout(deadline);
      reject(error);
    });
    child.once("close", (code) => {
      clearTimeout(deadline);
      resolve({ stdout, stderr, code, dirs });
    });
  });
}

/** The real path of the `pi` binary in an installed package folder. */
export function piBin(piDir: string = ownPiDir()): string {
  const manifest = JSON.parse(readFileSync(join(piDir, "package.json"), "utf8")) as { bin?: { pi?: string } };
  if (manifest.bin?.pi === undefined)
    throw new Error(`${piDir} is no Pi package: its package.json names no bin "pi"`);
  return join(piDir, manifest.bin.pi);
}

function ownPiDir(): string {
  const name = "@earendil-works/pi-coding-agent";
  const places = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const found = places
    .map((place) => join(place, name))
    .find((place) => existsSync(join(place, "package.json")));
  if (found === undefined) throw new Error(`${name} is not installed; run "npm ci" first`);
  return found;
}

/** This process may itself run inside a Pi; its markers and session variables are not the child's. */
function withoutPiVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(PI_|AI_AGENT$|VITEST|NODE_OPTIONS$)/.test(name)),
  );
}

function scriptedProvider(launch: PiLaunch): Record<string, unknown> {
  const { input, output } = launch.cost ?? { input: 0, output: 0 };
  return {
    providers: {
      [SCRIPTED_PROVIDER]: {
        baseUrl: launch.modelUrl,
        api: "openai-completions",
        apiKey: "scripted-needs-no-key",
        models: [
          {
            id: "scripted",
            name: "Scripted model",
            contextWindow: launch.contextWindow ?? 200_000,
            maxTokens: launch.maxTokens ?? 16_384,
            cost: { input, output, cacheRead: 0, cacheWrite: 0 },
            ...(launch.promptCacheSeconds !== undefined && {
              promptCache: { short: launch.promptCacheSeconds },
            }),
          },
        ],
      },
    },
  };
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}
