import { homedir } from "node:os";
import { join } from "node:path";
import { loadSettings } from "../../settings/settings.ts";
import { isProjectTrusted } from "./extension-check.ts";
import type { Surroundings } from "./finding.ts";

/** Pi's agent directory and the working directory, as Pi would see them here. */
export function surroundings(): Surroundings {
  const home = homedir();
  const agentDir = process.env.PI_CODING_AGENT_DIR ?? join(home, ".pi", "agent");
  return { home, agentDir: agentDir.replace(/^~(?=$|[\\/])/, home), cwd: process.cwd(), env: process.env };
}

/** The settings that Pi would use there: global ones, and the project's where it is trusted. */
export function ownSettings(around: Surroundings): ReturnType<typeof loadSettings> {
  const { agentDir, cwd, env } = around;
  const projectTrusted = isProjectTrusted(around);
  return loadSettings({ agentDir, cwd, configDirName: ".pi", projectTrusted, env });
}
