import { readFileSync } from "node:fs";
import { join } from "node:path";
import { distance } from "fastest-levenshtein";
import { z } from "zod";
import { DEFAULT_SETTINGS, poolTarget, type Settings, SettingsSchema } from "../reducers/settings.ts";

/** The key in Pi's settings files; it is the existing V3 extension's, so that its users need not change it. */
export const NAMESPACE = "observational-memory";
export const PASSIVE_VARIABLE = "PI_OBSERVATIONAL_MEMORY_PASSIVE";

/** A setting that could not be used as it stands, in words that say what to do. */
export interface SettingsProblem {
  /** The file, or the environment variable's name */
  file: string;
  key: string;
  message: string;
}

export interface SettingsPlaces {
  /** Pi's agent directory (`~/.pi/agent`) */
  agentDir: string;
  cwd: string;
  /** Pi's project folder name (`.pi`) */
  configDirName: string;
  projectTrusted: boolean;
  env: Readonly<Record<string, string | undefined>>;
}

export interface LoadedSettings {
  settings: Settings;
  problems: SettingsProblem[];
}

/**
 * Reads the settings: project over global over defaults, key by key, and the environment for `passive`. The project's
 * file is not even opened unless the project is trusted. A bad value is named and the next layer's is used; nothing
 * here throws.
 */
export function loadSettings(places: SettingsPlaces): LoadedSettings {
  const problems: SettingsProblem[] = [];
  const files = [join(places.agentDir, "settings.json")];
  if (places.projectTrusted) files.push(join(places.cwd, places.configDirName, "settings.json"));
  const values: Record<string, unknown> = {};
  for (const file of files) Object.assign(values, validValues(file, readNamespace(file, problems), problems));
  const passive = passiveFrom(places.env, problems);
  if (passive !== undefined) values.passive = passive;
  const settings = SettingsSchema.parse(values);
  problems.push(...contradictions(settings, files.at(-1) ?? ""));
  return { settings, problems };
}

/** One warning for all problems, short enough to read; undefined when there are none. */
export function settingsWarning(problems: readonly SettingsProblem[]): string | undefined {
  const [first, ...more] = problems;
  if (!first) return undefined;
  const rest = more.length === 0 ? "" : ` (and ${more.length} more; see /om:status)`;
  return `Memory settings: ${first.key} in ${first.file}: ${first.message}${rest}`;
}

/** The keys of the schema, with the schema of each. */
const KEYS: Readonly<Record<string, z.ZodType>> = SettingsSchema.shape;

/** Keys of the V2 implementation that mean nothing any more. */
const V2_KEYS = ["observationThreshold", "reflectionThreshold", "compactionThreshold", "compactionModel", "thinkingLevel"];

function validValues(
  file: string,
  namespace: Readonly<Record<string, unknown>>,
  problems: SettingsProblem[],
): Record<string, unknown> {
  const valid: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(namespace)) {
    const schema = Object.hasOwn(KEYS, key) ? KEYS[key] : undefined;
    if (!schema) {
      problems.push({ file, key, message: unknownKeyWords(key) });
      continue;
    }
    const parsed = schema.safeParse(value);
    // Only keys that were given are taken: a default must not hide a lower layer's value.
    if (parsed.success) valid[key] = parsed.data;
    else problems.push({ file, key, message: badValueWords(key, value, parsed.error) });
  }
  return valid;
}

function unknownKeyWords(key: string): string {
  if (V2_KEYS.includes(key)) return "is a setting of version 2 and is ignored; remove it";
  const nearest = Object.keys(KEYS)
    .map((known) => ({ known, away: distance(key.toLowerCase(), known.toLowerCase()) }))
    .sort((a, b) => a.away - b.away)[0];
  const close = nearest && nearest.away <= Math.max(2, Math.floor(key.length / 4));
  return `is not a setting and is ignored${close ? `; did you mean ${nearest.known}?` : ""}`;
}

function badValueWords(key: string, value: unknown, error: z.ZodError): string {
  const shown = JSON.stringify(value) ?? String(value);
  const reason = error.issues.map(({ path, message }) => (path.length > 0 ? `${path.join(".")}: ${message}` : message));
  const fallback = JSON.stringify(DEFAULT_SETTINGS[key as keyof Settings]) ?? "unset";
  return `cannot be ${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown} (${reason.join("; ")}); the value of a lower layer or the default (${fallback}) is used`;
}

function readNamespace(file: string, problems: SettingsProblem[]): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
      problems.push({ file, key: NAMESPACE, message: `cannot be read (${(error as Error).message})` });
    }
    return {};
  }
  try {
    // Pi allows a byte order mark and an empty file.
    const whole: unknown = text.trim() === "" ? {} : JSON.parse(text.replace(/^\uFEFF/, ""));
    const namespace = isObject(whole) ? whole[NAMESPACE] : undefined;
    if (namespace === undefined) return {};
    if (isObject(namespace)) return namespace;
    problems.push({ file, key: NAMESPACE, message: "must be an object of settings; it is ignored" });
  } catch (error) {
    problems.push({ file, key: NAMESPACE, message: `the file is not valid JSON (${(error as Error).message}); it is ignored` });
  }
  return {};
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function passiveFrom(env: SettingsPlaces["env"], problems: SettingsProblem[]): boolean | undefined {
  const value = env[PASSIVE_VARIABLE]?.trim().toLowerCase();
  if (value === undefined || value === "") return undefined;
  if (["1", "true", "yes", "on"].includes(value)) return true;
  if (["0", "false", "no", "off"].includes(value)) return false;
  problems.push({
    file: PASSIVE_VARIABLE,
    key: "passive",
    message: `cannot be "${value}"; use 1 or 0. It is ignored`,
  });
  return undefined;
}

/** Settings that are valid one by one and make no sense together; they are kept, and named. */
function contradictions(settings: Settings, file: string): SettingsProblem[] {
  const problems: SettingsProblem[] = [];
  if (poolTarget(settings) >= settings.observationsPoolMaxTokens) {
    problems.push({
      file,
      key: "observationsPoolTargetTokens",
      message: `should be below observationsPoolMaxTokens (${settings.observationsPoolMaxTokens}), or every compaction is a full fold`,
    });
  }
  return problems;
}
