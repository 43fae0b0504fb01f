import { InvalidArgumentError } from "commander";
import { type Settings, SettingsSchema } from "../../reducers/settings.ts";
import { allowedWords, isSettingsKey } from "../settings/settings-schema.ts";
import { unknownKeyWords } from "../settings/settings-words.ts";

/** What a command's help ends with: calls of it, each with what it is for. */
export function examples(...calls: readonly (readonly [call: string, use: string])[]): string {
  const lines = calls.map(([call, use]) => `  memory-lanes ${call}\n      ${use}`);
  return ["\nExamples:", ...lines].join("\n");
}

/** For commands that take nothing but sessions */
export const SESSION_ARGUMENT = [
  "[session]",
  "a Pi session: its file, the beginning of its id, or - for standard input (default: the latest session of this folder)",
] as const;

export const FILE_ARGUMENT = ["[file]", `a recording, or ${SESSION_ARGUMENT[1]}`] as const;

/** For commands that take nothing but sessions */
export const SESSION_LEAF_OPTION = [
  "--leaf <id>",
  "the branch that ends with this entry (default: the file's last entry)",
] as const;

export const LEAF_OPTION = ["--leaf <id>", `Pi session: ${SESSION_LEAF_OPTION[1]}`] as const;

export const SET_OPTION = [
  "--set <key=value>",
  "run it under another setting (repeatable)",
  withSetting,
] as const;

/**
 * Adds one `--set key=value` to those before it. Values are JSON, or text where they are not. What it throws says what
 * the key takes, or which key may have been meant.
 */
export function withSetting(assignment: string, before: Partial<Settings> = {}): Partial<Settings> {
  const split = assignment.indexOf("=");
  if (split < 1) throw new InvalidArgumentError("Write it as key=value.");
  const key = assignment.slice(0, split).trim();
  const text = assignment.slice(split + 1).trim();
  if (!isSettingsKey(key)) {
    throw new InvalidArgumentError(`${key} ${unknownKeyWords(key).replace(" and is ignored", "")}`);
  }
  const parsed = SettingsSchema.shape[key].safeParse(jsonOrText(text));
  if (parsed.success && parsed.data !== undefined) return { ...before, [key]: parsed.data };
  throw new InvalidArgumentError(`${key} must be ${allowedWords(key)}.`);
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `a=1, b=2` */
export function setWords(patch: Partial<Settings>): string {
  return Object.entries(patch)
    .map(([key, value]) => `${key}=${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
}

/** Parses a whole number above 0 that counts something, such as pages. */
export function ordinalOf(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("It must be a number from 1 on.");
  return Number(text);
}
