import { type Settings, SettingsSchema } from "../../reducers/settings.ts";
import { allowedWords, isSettingsKey } from "../settings/settings-schema.ts";
import { unknownKeyWords } from "../settings/settings-words.ts";
import { UsageError } from "./io.ts";

/**
 * The settings of repeated `--set key=value`. Values are JSON, or text where they are not. Throws `UsageError` that
 * says what the key takes, or which key may have been meant.
 */
export function parseSet(assignments: readonly string[]): Partial<Settings> {
  const patch: Partial<Settings> = {};
  for (const assignment of assignments) {
    const split = assignment.indexOf("=");
    if (split < 1) throw new UsageError(`--set ${assignment}: write it as key=value`);
    const key = assignment.slice(0, split).trim();
    const text = assignment.slice(split + 1).trim();
    if (!isSettingsKey(key))
      throw new UsageError(`--set ${key}: it ${unknownKeyWords(key).replace(" and is ignored", "")}`);
    const parsed = SettingsSchema.shape[key].safeParse(jsonOrText(text));
    if (!parsed.success || parsed.data === undefined) {
      throw new UsageError(`--set ${assignment}: ${key} must be ${allowedWords(key)}`);
    }
    Object.assign(patch, { [key]: parsed.data });
  }
  return patch;
}

/** `a=1, b=2` */
export function setWords(patch: Partial<Settings>): string {
  return Object.entries(patch)
    .map(([key, value]) => `${key}=${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
