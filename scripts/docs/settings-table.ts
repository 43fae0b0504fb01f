import { keySchema, SETTINGS_KEYS, type SettingsKey } from "../../src/host/settings/settings-schema.ts";
import { DEFAULT_SETTINGS } from "../../src/reducers/settings.ts";
import { markdownTable } from "./markdown-table.ts";

/** The table of all settings in `docs/configuration.md`. */
export function settingsTable(): string {
  const rows = SETTINGS_KEYS.map((key) => [`\`${key}\``, defaultOf(key), unitOf(key), meaningOf(key)]);
  return markdownTable(["key", "default", "unit or values", "what it changes"], rows);
}

function defaultOf(key: SettingsKey): string {
  const value = DEFAULT_SETTINGS[key];
  return value === undefined ? "unset" : `\`${JSON.stringify(value)}\``;
}

function meaningOf(key: SettingsKey): string {
  return keySchema(key).description ?? "";
}

/** The unit stands in a number's name; what is no number has its values. */
function unitOf(key: SettingsKey): string {
  const schema = keySchema(key);
  if (schema.enum) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(", ");
  if (schema.type === "boolean") return "`true`, `false`";
  if (schema.type === "object" || schema.type === "array") return `\`${shapeOf(schema)}\``;
  const [unit] = UNITS.filter(([ending]) => key.endsWith(ending)).map(([, name]) => name);
  if (unit === undefined) throw new Error(`The unit of ${key} cannot be told from its name`);
  return schema.minimum === 0 ? `${unit}, 0 allowed` : unit;
}

type Schema = ReturnType<typeof keySchema>;

/** A value as it is written in the file, with all that it may hold */
function shapeOf(schema: Schema | boolean | readonly unknown[] | undefined): string {
  if (typeof schema !== "object" || !("type" in schema)) return '"…"';
  if (schema.type === "array") return `[${shapeOf(schema.items)}, …]`;
  if (schema.type !== "object") return '"…"';
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, member]) => `"${name}": ${shapeOf(member)}`,
  );
  return `{ ${members.join(", ")} }`;
}

const UNITS = [
  ["Tokens", "tokens"],
  ["Ms", "milliseconds"],
  ["Turns", "requests"],
  ["Ratio", "share, above 0, at most 1"],
] as const;
