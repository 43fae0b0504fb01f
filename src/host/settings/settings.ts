import { readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../reducers/message-of.ts";
import { poolTarget, type Settings, SettingsSchema } from "../../reducers/settings.ts";
import { isSettingsKey, SETTINGS_KEYS, type SettingsKey } from "./settings-schema.ts";
import { badValueWords, syntaxWords, unknownKeyWords, unknownMemberWords } from "./settings-words.ts";

/** The key in Pi's settings files; it is the existing V3 extension's, so that its users need not change it. */
export const NAMESPACE = "observational-memory";
export const PASSIVE_VARIABLE = "PI_OBSERVATIONAL_MEMORY_PASSIVE";

/** A setting that could not be used as it stands. The message goes on where the key stops: "KEY is …". */
export interface SettingsProblem {
  /** The file, or the environment variable's name */
  file: string;
  /** The key, or the namespace when the whole file is concerned */
  key: string;
  message: string;
}

interface SettingsPlaces {
  /** Pi's agent directory (`~/.pi/agent`) */
  agentDir: string;
  cwd: string;
  /** Pi's project folder name (`.pi`) */
  configDirName: string;
  projectTrusted: boolean;
  env: Readonly<Record<string, string | undefined>>;
}

/** Where a value in force comes from: a file, the environment variable's name, or `default`. */
type SettingsSources = Record<SettingsKey, string>;

export interface LoadedSettings {
  settings: Settings;
  problems: SettingsProblem[];
  sources: SettingsSources;
}

/**
 * Reads the settings: project over global over defaults, key by key, and the environment for `passive`. The project's
 * file is not even opened unless the project is trusted. A bad value is named and the next layer's is used; nothing
 * here throws.
 */
export function loadSettings(places: SettingsPlaces): LoadedSettings {
  const loaded: LoadedSettings = {
    settings: SettingsSchema.parse({}),
    problems: [],
    sources: Object.fromEntries(SETTINGS_KEYS.map((key) => [key, "default"])) as SettingsSources,
  };
  for (const file of settingsFiles(places)) {
    for (const [key, value] of Object.entries(readNamespace(file, loaded.problems)))
      take(loaded, file, key, value);
  }
  takePassive(loaded, places.env);
  nameContradictions(loaded);
  return loaded;
}

/** One warning for all problems, short enough to read; undefined when there are none. */
export function settingsWarning(problems: readonly SettingsProblem[]): string | undefined {
  const [first, ...more] = problems;
  if (!first) return undefined;
  const rest = more.length === 0 ? "" : ` (and ${more.length} more; see /om:status)`;
  return `Memory settings: ${first.key} in ${first.file} ${first.message}${rest}`;
}

/** Pi's settings files, lowest layer first. They are the same file when the agent directory is the project's own folder. */
export function settingsFiles({ agentDir, cwd, configDirName, projectTrusted }: SettingsPlaces): string[] {
  const global = join(agentDir, "settings.json");
  const project = join(cwd, configDirName, "settings.json");
  return projectTrusted && project !== global ? [global, project] : [global];
}

/** Puts a file's value over those of the layers below, if it is one that its key takes. */
function take(loaded: LoadedSettings, file: string, key: string, value: unknown): void {
  const { settings, problems, sources } = loaded;
  if (!isSettingsKey(key)) {
    // Editors find the schema by this key; it may stand anywhere.
    if (key !== "$schema") problems.push({ file, key, message: unknownKeyWords(key) });
    return;
  }
  const parsed = SettingsSchema.shape[key].safeParse(value);
  // Undefined is what zod makes of a key that is not there; a file cannot say it.
  if (!parsed.success || parsed.data === undefined) {
    problems.push({ file, key, message: badValueWords(key, value, settings[key], sources[key]) });
    return;
  }
  for (const member of lostMembers(value, parsed.data)) {
    problems.push({ file, key, message: unknownMemberWords(key, member) });
  }
  Object.assign(settings, { [key]: parsed.data });
  sources[key] = file;
}

/** Members of an object or list that its schema does not know, or does not take as they are: `thinking`, `observer.model.x`. */
function lostMembers(value: unknown, kept: unknown): string[] {
  if (Array.isArray(value) && Array.isArray(kept))
    return value.flatMap((one, at) => lostMembers(one, kept[at]));
  if (!isObject(value) || !isObject(kept)) return [];
  return Object.keys(value).flatMap((member) =>
    !Object.hasOwn(kept, member) || kept[member] === undefined
      ? [member]
      : lostMembers(value[member], kept[member]).map((inner) => `${member}.${inner}`),
  );
}

function takePassive({ settings, problems, sources }: LoadedSettings, env: SettingsPlaces["env"]): void {
  const value = env[PASSIVE_VARIABLE]?.trim().toLowerCase();
  // Setting a variable to nothing is how a shell user takes it back for one command.
  if (value === undefined || value === "") return;
  if (["1", "true", "yes", "on"].includes(value)) settings.passive = true;
  else if (["0", "false", "no", "off"].includes(value)) settings.passive = false;
  else {
    const message = badValueWords("passive", value, settings.passive, sources.passive);
    problems.push({ file: PASSIVE_VARIABLE, key: "passive", message: `${message} (write 1 or 0)` });
    return;
  }
  sources.passive = PASSIVE_VARIABLE;
}

/** Values that are good one by one and make little sense together; they are kept, and named. */
function nameContradictions({ settings, problems, sources }: LoadedSettings): void {
  const { observeAfterTokens, reflectAfterTokens, observationsPoolMaxTokens } = settings;
  /** Names the key of the two that somebody set; neither default contradicts another. */
  const name = (keys: readonly [SettingsKey, SettingsKey], message: string) => {
    const key = sources[keys[0]] === "default" ? keys[1] : keys[0];
    problems.push({ file: sources[key], key, message });
  };

  if (
    settings.observationsPoolTargetTokens !== undefined &&
    poolTarget(settings) >= observationsPoolMaxTokens
  ) {
    name(
      ["observationsPoolTargetTokens", "observationsPoolMaxTokens"],
      `is kept, but observationsPoolTargetTokens (${poolTarget(settings)}) should be below observationsPoolMaxTokens (${observationsPoolMaxTokens}): as it is, compactions fold everything anew before the dropper has anything to do`,
    );
  }
  if (reflectAfterTokens < observeAfterTokens) {
    name(
      ["reflectAfterTokens", "observeAfterTokens"],
      `is kept, but reflectAfterTokens (${reflectAfterTokens}) is below observeAfterTokens (${observeAfterTokens}): the reflector needs new observations, so it runs only as often as the observer`,
    );
  }
}

function readNamespace(file: string, problems: SettingsProblem[]): Readonly<Record<string, unknown>> {
  const named = (message: string) => {
    problems.push({ file, key: NAMESPACE, message });
    return {};
  };
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    return isMissing(error)
      ? {}
      : named(`cannot be read: ${messageOf(error)}; no setting of this file is used`);
  }
  // As Pi reads it: strict JSON, a byte order mark or an empty file allowed.
  const json = text.replace(/^\uFEFF/, "");
  if (json === "") return {};
  let whole: unknown;
  try {
    whole = JSON.parse(json);
  } catch (error) {
    return named(`cannot be read: the file ${syntaxWords(json, error)}; no setting of this file is used`);
  }
  if (!isObject(whole))
    return named("cannot be read: the file must hold an object, { … }; no setting of it is used");
  const namespace = Object.hasOwn(whole, NAMESPACE) ? whole[NAMESPACE] : {};
  if (isObject(namespace)) return namespace;
  return named('must be an object, { "key": value, … }; no setting of this file is used');
}

/** Neither a missing file nor a missing folder, or a file where the folder would be, is worth a word. */
function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
