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
  if (schema.type === "object") {
    const members = Object.entries(schema.properties ?? {}).map(([name, member]) => {
      const isNumber = typeof member === "object" && (member.type === "number" || member.type === "integer");
      return `"${name}": ${isNumber ? "…" : '"…"'}`;
    });
    return `\`{ ${members.join(", ")} }\``;
  }
  const [unit] = UNITS.filter(([ending]) => key.endsWith(ending)).map(([, name]) => name);
  if (unit === undefined) throw new Error(`The unit of ${key} cannot be told from its name`);
  return schema.minimum === 0 ? `${unit}, 0 allowed` : unit;
}

const UNITS = [
  ["Tokens", "tokens"],
  ["Ms", "milliseconds"],
  ["Turns", "requests"],
  ["Ratio", "share, above 0, at most 1"],
] as const;
