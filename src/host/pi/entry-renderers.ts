import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { CustomEntry, EntryRenderOptions, ExtensionAPI, Theme } from "@earendil-works/pi-coding-agent";
import { type Component, Text } from "@earendil-works/pi-tui";
import { harmlessText } from "../../reducers/harmless-text.ts";
import { countOf } from "../../reducers/words.ts";

/** Switches the lines off: a user who wants no notices wants none in the transcript either. */
interface EntryLines {
  quiet: boolean;
}

/**
 * Shows ledger entries in the transcript as one quiet line each, which expands with the tools' output. Pi asks for
 * these before the engine is loaded, so they read entries by themselves; what is no ledger entry shows nothing.
 */
export function registerEntryRenderers(pi: ExtensionAPI): EntryLines {
  const lines: EntryLines = { quiet: false };
  for (const [type, words] of Object.entries(WORDS)) {
    pi.registerEntryRenderer?.(type, (entry, options, theme) =>
      lines.quiet ? undefined : lineFor(words(entry), options, theme),
    );
  }
  return lines;
}

/** Whether notices are switched off in these settings files (global, then a trusted project's). */
export function wantsQuiet(files: readonly string[]): boolean {
  let quiet = false;
  for (const file of files) {
    try {
      const settings = fieldsOf(JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, "")));
      const shown = fieldsOf(settings["observational-memory"]).showWorkerNotifications;
      if (typeof shown === "boolean") quiet = !shown;
    } catch {
      // Missing or broken: the settings' own loader says so.
    }
  }
  return quiet;
}

/** The settings files that count here, lowest layer first. */
export function settingsFiles(agentDir: string, projectDir: string | undefined): string[] {
  const global = join(agentDir, "settings.json");
  return projectDir === undefined ? [global] : [global, join(projectDir, "settings.json")];
}

interface EntryWords {
  title: string;
  details: string[];
}

const WORDS: Readonly<Record<string, (entry: CustomEntry<unknown>) => EntryWords | undefined>> = {
  "om.observations.recorded": ({ data }) => {
    const { observations } = fieldsOf(data);
    const isNote = listOf(observations).some((record) => fieldsOf(record).origin === "user");
    return isNote ? recorded("note", observations) : recorded("observation", observations);
  },
  "om.reflections.recorded": ({ data }) => recorded("reflection", fieldsOf(data).reflections),
  "om.observations.dropped": ({ data }) => {
    const { observationIds, supersededBy, reason } = fieldsOf(data);
    if (reason === "promoted") return handled(observationIds, "moved into AGENTS.md");
    return dropped("observation", observationIds, "superseded", supersededBy);
  },
  "om.reflections.dropped": ({ data }) => {
    const { reflectionIds, replacedBy, kind } = fieldsOf(data);
    if (kind === "promoted") return handled(reflectionIds, "moved into AGENTS.md");
    return dropped("reflection", reflectionIds, "replaced", replacedBy);
  },
  "om.observations.pinned": ({ data }) => handled(fieldsOf(data).observationIds, "pinned"),
  "om.observations.unpinned": ({ data }) => handled(fieldsOf(data).observationIds, "no longer pinned"),
  "om.memory.forgotten": ({ data }) => handled(fieldsOf(data).ids, "forgotten"),
  "om.memory.restored": ({ data }) => handled(fieldsOf(data).ids, "brought back"),
};

/** What the user has done by hand to these lines. */
function handled(listed: unknown, done: string): EntryWords | undefined {
  const ids = listOf(listed).filter((id) => typeof id === "string");
  if (ids.length === 0) return undefined;
  return { title: `${countOf(ids.length, "line")} ${done}`, details: ids.map((id) => `[${id}]`) };
}

/** `by`: what stands in the place of all of them, or by id what stands in that of each; then `verb` says what became of them. */
function dropped(what: string, listed: unknown, verb: string, by: unknown): EntryWords | undefined {
  const ids = [...new Set(listOf(listed).filter((id) => typeof id === "string"))];
  if (ids.length === 0) return undefined;
  const replacements = ids.map((id) => (typeof by === "string" ? by : fieldsOf(by)[id]));
  const isReplaced = replacements.some((replacement) => typeof replacement === "string");
  const details = ids.map((id, at) => {
    const replacement = replacements[at];
    return typeof replacement === "string" ? `[${id}] by [${replacement}]` : `[${id}]`;
  });
  return { title: `${countOf(ids.length, what)} ${isReplaced ? verb : "dropped"}`, details };
}

function recorded(what: string, records: unknown): EntryWords | undefined {
  const details = listOf(records).flatMap((record) => {
    const { id, timestamp, relevance, content } = fieldsOf(record);
    if (typeof id !== "string" || typeof content !== "string") return [];
    const stamp = [timestamp, relevance && `[${relevance}]`]
      .filter((part) => typeof part === "string")
      .join(" ");
    return [`[${id}] ${stamp}${stamp === "" ? "" : " "}${content}`];
  });
  return details.length === 0 ? undefined : { title: `${countOf(details.length, what)} recorded`, details };
}

function lineFor(
  words: EntryWords | undefined,
  options: EntryRenderOptions,
  theme: Theme,
): Component | undefined {
  if (!words) return undefined;
  // The colours of Pi's hint are the terminal's to obey, the records' texts are not.
  const hint = options.expanded ? "" : ` (${keyHint(options)})`;
  const details = options.expanded ? words.details.map((line) => `  ${asOneLine(line)}`) : [];
  const lines = [`◦ Memory: ${words.title}${hint}`, ...details];
  return new Text(lines.map((line) => theme.fg("dim", line)).join("\n"), 1, 0);
}

function asOneLine(line: string): string {
  return harmlessText(line).replace(/\s*\n\s*/g, " ");
}

/** Pi 0.87 gives renderers no key hints. */
function keyHint({ keyHint }: Partial<EntryRenderOptions>): string {
  return keyHint ? keyHint("app.tools.expand", "to expand") : "ctrl+o to expand";
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
