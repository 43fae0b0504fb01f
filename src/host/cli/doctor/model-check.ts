import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { fieldsOf, textOf } from "../../../reducers/entries/entry.ts";
import type { Settings } from "../../../reducers/settings.ts";
import { readJson, type Surroundings } from "../input/surroundings.ts";
import { type Finding, findingsOf, listOf } from "./finding.ts";
import type { PiFound } from "./pi-check.ts";

const finding = findingsOf("model");
const LIST_TIMEOUT_MS = 20_000;

/** Whether the workers' model is one that Pi knows and has credentials for. */
export async function checkModel(
  around: Surroundings,
  settings: Settings,
  pi: PiFound | undefined,
): Promise<Finding[]> {
  const { defaultProvider, defaultModel } = readJson(around.agentDir, "settings.json");
  const [provider, id] = settings.model
    ? [settings.model.provider, settings.model.id]
    : [textOf(defaultProvider), textOf(defaultModel)];
  if (provider === "" || id === "") {
    return [finding("note", "workers use the session's model; Pi's settings name no default one")];
  }
  const whose = `workers use ${settings.model ? "" : "the session's model, by default "}${provider}/${id}`;
  const available = pi && existsSync(around.agentDir) ? await listModels(around, pi) : undefined;
  if (available?.some((model) => model.provider === provider && model.id === id)) {
    return [finding("ok", `${whose}, and Pi has credentials for it`)];
  }
  if (available) {
    const advice = `check the name with pi --list-models, or sign in: /login in Pi, or the provider's API key variable`;
    return [finding(settings.model ? "error" : "warning", `${whose}, which Pi cannot use now`, advice)];
  }
  if (hasCredentials(around, provider)) {
    return [finding("ok", `${whose}, and there are credentials for ${provider}`)];
  }
  const untold = `${whose}; whether there are credentials for it, only Pi can tell`;
  return [finding("note", untold, "pi --list-models shows it")];
}

/** The models that this Pi could use now; undefined when it cannot be asked. */
async function listModels(
  { agentDir, cwd, env }: Surroundings,
  pi: PiFound,
): Promise<{ provider: string; id: string }[] | undefined> {
  try {
    const { stdout } = await promisify(execFile)(pi.bin, ["--list-models"], {
      cwd,
      env: { ...env, PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: "1" },
      timeout: LIST_TIMEOUT_MS,
      shell: process.platform === "win32",
    });
    return stdout.split("\n").flatMap((line) => {
      const [provider, id] = line.trim().split(/\s{2,}/);
      return provider !== undefined && id !== undefined ? [{ provider, id }] : [];
    });
  } catch {
    return undefined;
  }
}

/** Whether Pi's files hold a sign-in or a key for the provider. Only that there is one is looked at. */
function hasCredentials({ agentDir }: Surroundings, provider: string): boolean {
  if (Object.hasOwn(readJson(agentDir, "auth.json"), provider)) return true;
  const { apiKey, models } = fieldsOf(fieldsOf(readJson(agentDir, "models.json").providers)[provider]);
  return apiKey !== undefined && listOf(models).length > 0;
}
