import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { type Fields, fieldsOf, textOf } from "../../../reducers/entries/entry.ts";
import { type LoadedSettings, loadSettings } from "../../settings/settings.ts";

/** Where Pi would look for its files, if it were started here. */
export interface Surroundings {
  /** Pi's agent directory */
  agentDir: string;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  home: string;
}

/** The surroundings of this process. */
export function surroundings(): Surroundings {
  const home = homedir();
  const agentDir = process.env.PI_CODING_AGENT_DIR ?? join(home, ".pi", "agent");
  return { home, agentDir: agentDir.replace(/^~(?=$|[\\/])/, home), cwd: process.cwd(), env: process.env };
}

/** Where Pi keeps its sessions. */
export function sessionsDir({ agentDir, cwd, env }: Surroundings): string {
  const set = env.PI_CODING_AGENT_SESSION_DIR ?? textOf(readJson(agentDir, "settings.json").sessionDir);
  return set === "" ? join(agentDir, "sessions") : resolve(cwd, set);
}

/** Whether Pi may read the project's own settings, as far as its list of decisions tells. */
export function isProjectTrusted({ agentDir, cwd }: Pick<Surroundings, "agentDir" | "cwd">): boolean {
  const decisions = readJson(agentDir, "trust.json");
  for (let dir = resolve(cwd); ; dir = join(dir, "..")) {
    const decision = decisions[dir];
    if (typeof decision === "boolean") return decision;
    if (join(dir, "..") === dir) break;
  }
  return readJson(agentDir, "settings.json").defaultProjectTrust === "always";
}

/** The memory settings that would be in force in a session of this folder. */
export function ownSettings(around: Surroundings, cwd = around.cwd): LoadedSettings {
  const { agentDir, env } = around;
  const projectTrusted = isProjectTrusted({ agentDir, cwd });
  return loadSettings({ agentDir, cwd, configDirName: ".pi", projectTrusted, env });
}

/** What a JSON file's object holds; nothing when there is no such file, or it holds something else. */
export function readJson(...path: string[]): Fields {
  try {
    return fieldsOf(JSON.parse(readFileSync(join(...path), "utf8").replace(/^\uFEFF/, "")));
  } catch {
    return {};
  }
}
