import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { WORKERS } from "../../../reducers/engine/lane-names.ts";
import { workerModels } from "../../../reducers/engine/worker-models.ts";
import { fieldsOf, textOf } from "../../../reducers/entries/entry.ts";
import type { ModelSetting, Settings } from "../../../reducers/settings.ts";
import { readJson, type Surroundings } from "../input/surroundings.ts";
import { type Finding, findingsOf, listOf } from "./finding.ts";
import type { PiFound } from "./pi-check.ts";

const finding = findingsOf("model");
const LIST_TIMEOUT_MS = 20_000;

/** Whether the workers' models, fallbacks too, are such as Pi knows and has credentials for. */
export async function checkModel(
  around: Surroundings,
  settings: Settings,
  pi: PiFound | undefined,
): Promise<Finding[]> {
  const { defaultProvider, defaultModel } = readJson(around.agentDir, "settings.json");
  const [provider, id] = [textOf(defaultProvider), textOf(defaultModel)];
  const session = provider === "" || id === "" ? undefined : { provider, id };
  const wanted = wantedModels(settings, session);
  const isAsked = wanted.some(({ model }) => model) && pi && existsSync(around.agentDir);
  const available = isAsked ? await listModels(around, pi) : undefined;
  return wanted.map(({ whose, model, isSet }) => {
    if (!model) return finding("note", "workers use the session's model; Pi's settings name no default one");
    return findingOf(`${whose} ${model.provider}/${model.id}`, model, isSet, available, around);
  });
}

interface WantedModel {
  /** "workers use", "the fallback is" */
  whose: string;
  /** Unset: nobody can tell */
  model: Pick<ModelSetting, "provider" | "id"> | undefined;
  isSet: boolean;
}

/** Each model that a worker may ask, once, in the order of the settings. */
function wantedModels(settings: Settings, session: WantedModel["model"]): WantedModel[] {
  const sessionName = session ? `${session.provider}/${session.id}` : "";
  const found = new Map<string, WantedModel>();
  const alone = WORKERS.filter((worker) => settings.workers?.[worker]);
  for (const worker of WORKERS) {
    for (const { name, setting, origin } of workerModels(worker, settings, sessionName)) {
      if (found.has(name)) continue;
      const whose = {
        own: `the ${worker} uses`,
        model: alone.length === 0 ? "workers use" : "the other workers use",
        session: "workers use the session's model, by default",
        fallback: "a fallback is",
        sessionFallback: "the last fallback is the session's model, by default",
      }[origin];
      found.set(name, { whose, model: setting ?? session, isSet: setting !== undefined });
    }
  }
  return [...found.values()];
}

function findingOf(
  whose: string,
  { provider, id }: Pick<ModelSetting, "provider" | "id">,
  isSet: boolean,
  available: readonly { provider: string; id: string }[] | undefined,
  around: Surroundings,
): Finding {
  if (available?.some((model) => model.provider === provider && model.id === id)) {
    return finding("ok", `${whose}, and Pi has credentials for it`);
  }
  if (available) {
    const advice = `check the name with pi --list-models, or sign in: /login in Pi, or the provider's API key variable`;
    return finding(isSet ? "error" : "warning", `${whose}, which Pi cannot use now`, advice);
  }
  if (hasCredentials(around, provider))
    return finding("ok", `${whose}, and there are credentials for ${provider}`);
  const untold = `${whose}; whether there are credentials for it, only Pi can tell`;
  return finding("note", untold, "pi --list-models shows it");
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
