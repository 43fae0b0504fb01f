import { z } from "zod";
import { type Settings, SettingsSchema } from "../../reducers/settings.ts";

export type SettingsKey = keyof Settings;

/** Every key, in the order of the schema, which is the order of the documentation. */
export const SETTINGS_KEYS = Object.keys(SettingsSchema.shape) as SettingsKey[];

export function isSettingsKey(key: string): key is SettingsKey {
  return Object.hasOwn(SettingsSchema.shape, key);
}

type JsonSchema = z.core.JSONSchema.JSONSchema;

/** The part of the JSON schema that says what one key takes. */
export function keySchema(key: SettingsKey): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(SettingsSchema.shape[key], { io: "input" });
  return forEditors(schema);
}

/** What a key takes, in words: "a whole number above 0 and of at most 9007199254740991". */
export function allowedWords(key: SettingsKey): string {
  return wordsFor(z.toJSONSchema(SettingsSchema.shape[key], { io: "input" }));
}

/**
 * The JSON schema for editors. As a whole it describes Pi's settings file, Pi's own keys included; its
 * `#/$defs/settings` describes the object under `observational-memory` alone.
 */
export function editorSchema(namespace: string): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $comment: "Generated from src/reducers/settings.ts by `npm run docs`; do not edit.",
    title: "Pi settings with Memory Lanes",
    type: "object",
    allOf: [{ $ref: "https://pi.dev/schemas/settings.schema.json" }],
    properties: { [namespace]: { $ref: "#/$defs/settings" } },
    $defs: {
      settings: {
        title: "Memory Lanes settings",
        description: "Settings of the observational memory.",
        type: "object",
        properties: Object.fromEntries(SETTINGS_KEYS.map((key) => [key, keySchema(key)])),
        additionalProperties: false,
      },
    },
  };
}

function wordsFor(schema: JsonSchema): string {
  if (schema.enum) return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(", ")}`;
  if (schema.type === "boolean") return "true or false";
  if (schema.type === "string") return "text that is not empty";
  if (schema.type === "integer" || schema.type === "number") {
    const noun = schema.type === "integer" ? "a whole number" : "a number";
    const limits = [
      ...(schema.exclusiveMinimum === undefined ? [] : [`above ${schema.exclusiveMinimum}`]),
      ...(schema.minimum === undefined ? [] : [`of at least ${schema.minimum}`]),
      ...(schema.maximum === undefined ? [] : [`of at most ${schema.maximum}`]),
    ];
    return [noun, limits.join(" and ")].filter((part) => part !== "").join(" ");
  }
  if (schema.type === "array") return `a list [${shapeOf(schema.items)}, …]`;
  if (schema.type === "object" && schema.properties) {
    const { required = [] } = schema;
    const optional = Object.entries(schema.properties).filter(([name]) => !required.includes(name));
    const words = optional.map(([name, member]) => `"${name}" (${memberWords(member)})`);
    if (required.length === 0) return `an object with any of ${words.join(", ")}`;
    const object = `an object ${shapeOf(schema)}`;
    return words.length === 0 ? object : `${object}, if you like with ${words.join(", ")}`;
  }
  // A new kind of setting without words here would read badly in a warning; the tests ask for each key's words.
  throw new Error(`No words for a setting of type ${String(schema.type)}`);
}

function memberWords(member: Member): string {
  if (typeof member === "boolean" || member.type === "object") return `an object ${shapeOf(member)}`;
  return wordsFor(member);
}

type Member = NonNullable<JsonSchema["properties"]>[string];

/** What must be in a value, written as it is in the file: `{ "model": { "provider": "…", "id": "…" } }` */
function shapeOf(schema: Member | JsonSchema["items"]): string {
  if (typeof schema !== "object" || Array.isArray(schema) || schema.type !== "object") return '"…"';
  const { required = [], properties = {} } = schema;
  return `{ ${required.map((name) => `"${name}": ${shapeOf(properties[name])}`).join(", ")} }`;
}

/** zod bounds integers by what JavaScript can hold, which tells an editor nothing. Objects get closed for editors. */
function forEditors(schema: JsonSchema): JsonSchema {
  const { maximum, ...rest } = schema;
  const bounded = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? rest : schema;
  if (bounded.type === "array" && typeof bounded.items === "object" && !Array.isArray(bounded.items))
    return { ...bounded, items: forEditors(bounded.items) };
  if (bounded.type !== "object" || !bounded.properties) return bounded;
  const members = Object.entries(bounded.properties).map(([name, member]) => [
    name,
    typeof member === "boolean" ? member : forEditors(member),
  ]);
  return { ...bounded, properties: Object.fromEntries(members), additionalProperties: false };
}
