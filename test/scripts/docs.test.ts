import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { generatedFiles, ROOT } from "../../scripts/docs/generated-files.ts";
import { NAMESPACE } from "../../src/host/settings/settings.ts";
import { editorSchema, SETTINGS_KEYS } from "../../src/host/settings/settings-schema.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../src/reducers/settings.ts";

describe("what is generated under docs/", () => {
  it.each(generatedFiles())("is up to date in $path (or run `npm run docs`)", ({ path, text }) => {
    expect(readFileSync(join(ROOT, path), "utf8")).toBe(text);
  });
});

describe("the table of settings", () => {
  const page = readFileSync(join(ROOT, "docs/configuration.md"), "utf8");

  it.each(SETTINGS_KEYS)("has %s with its default", (key) => {
    const fallback = key in DEFAULT_SETTINGS ? JSON.stringify(DEFAULT_SETTINGS[key]) : undefined;
    const cell = fallback === undefined ? "unset" : `\`${fallback}\``;
    expect(page).toContain(`| \`${key}\` | ${cell} | `);
  });

  it("is followed by examples that are valid", () => {
    const examples = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = ""]) => JSON.parse(text));
    const settings = examples.map((example) => example[NAMESPACE]).filter((example) => example !== undefined);
    expect(settings.length).toBeGreaterThan(2);
    for (const example of settings) expect(asEditor(example)).toBe(true);
  });
});

describe("the schema for editors", () => {
  it("accepts the defaults and refuses what the code refuses", () => {
    expect(asEditor(DEFAULT_SETTINGS)).toBe(true);
    expect(asEditor({ observeAfterTokens: 0 })).toBe(false);
    expect(asEditor({ observeAfterTokens: "1" })).toBe(false);
    expect(asEditor({ observeAfterToken: 1 })).toBe(false);
    expect(asEditor({ model: { provider: "p", id: "i", thinking: "low" } })).toBe(true);
    expect(asEditor({ model: { provider: "p", id: "i", thinking: "lots" } })).toBe(false);
    expect(asEditor({ model: { provider: "p", id: "i", effort: "low" } })).toBe(false);
  });

  it("requires nothing", () => {
    const empty: Partial<Settings> = {};
    expect(asEditor(empty)).toBe(true);
  });

  it("describes every key", () => {
    const { properties = {} } = namespaceSchema();
    expect(Object.keys(properties)).toEqual(SETTINGS_KEYS);
    for (const property of Object.values(properties)) expect(property).toHaveProperty("description");
  });
});

/** What a validator that knows nothing of our code says. */
function asEditor(value: unknown): boolean {
  return z.fromJSONSchema(namespaceSchema()).safeParse(value).success;
}

function namespaceSchema(): z.core.JSONSchema.JSONSchema {
  const { $defs } = editorSchema(NAMESPACE);
  const settings = $defs?.settings;
  if (typeof settings !== "object") throw new Error("The schema has no #/$defs/settings");
  return settings;
}
