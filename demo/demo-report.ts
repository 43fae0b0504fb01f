import { existsSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { heading, paint, say } from "./demo-progress.ts";
import type { DemoResult } from "./demo-run.ts";
import { customEntries, type SessionLine } from "./pi/session-file.ts";

interface Compaction {
  summary: string;
  details?: { type?: string; observations?: { id: string }[] };
}

/** What of the main job did not happen; empty when all of it did. */
export function missingFrom(result: DemoResult, { dropsExpected }: { dropsExpected: boolean }): string[] {
  const count = (type: string) => customEntries(result.entries, type).length;
  const checks: [boolean, string][] = [
    [count("om.observations.recorded") > 1, "the observer did not record at least twice"],
    [count("om.reflections.recorded") > 0, "the reflector recorded nothing"],
    [anyDrops(result) || !dropsExpected, "the dropper dropped nothing"],
    [foldedCompactions(result.entries).length > 0, "no compaction was made from memory (om.folded)"],
    [
      result.recalled.some((text) => holdsSource(text, result.entries)),
      "the agent did not call recall, or got no source for it",
    ],
  ];
  return checks.flatMap(([happened, otherwise]) => (happened ? [] : [otherwise]));
}

/** Whether the dropper dropped something. */
export function anyDrops({ entries }: DemoResult): boolean {
  const drops = customEntries<{ reason?: string }>(entries, "om.observations.dropped");
  return drops.some(({ data }) => data.reason !== "superseded");
}

/** Shows the memory that the agent sees now, what it recalled, how the lanes stand and where the files are. */
export function showOutcome(result: DemoResult): void {
  const memory = foldedCompactions(result.entries).at(-1);
  if (memory) {
    heading("The memory the agent now sees");
    for (const line of memory.summary.split("\n")) say(colouredMemory(line));
  }
  const source = result.recalled.at(-1);
  if (source !== undefined) {
    heading("What recall gave it for its query, word for word");
    say(shortened(source, 30));
    heading("Its answer");
    say(result.lastAnswer);
  }
  heading("/om:status");
  say(result.status);
}

export function showFiles(result: DemoResult): void {
  heading("Where everything is");
  say(`session    ${result.sessionFile}`);
  say(`recording  ${recordingFile(result) ?? "none was written"}`);
  say(`agent dir  ${result.agentDir}`);
}

/** The commands to go on with, as they work in the folder that the user is in, on what this run has left behind. */
export function showCommands(result: DemoResult): void {
  const { sessionFile, entries } = result;
  const bin = relative(
    process.env.INIT_CWD ?? process.cwd(),
    join(import.meta.dirname, "../src/host/cli/bin.js"),
  );
  const recording = recordingFile(result) ?? sessionFile;
  const id = foldedCompactions(entries).at(-1)?.details?.observations?.[0]?.id;
  const commands: [words: string, args: string[]][] = [
    ["look at every decision in the browser", ["inspect", recording, "--session", sessionFile]],
    ["the same as a table", ["replay", recording]],
    ["whether other thresholds would do better", ["tune", recording]],
    ["what the agent remembers", ["view", sessionFile]],
    ...(id === undefined
      ? []
      : [["what stands behind one line of it", ["recall", sessionFile, id]] satisfies [string, string[]]]),
  ];
  heading("Go on with");
  for (const [words, args] of commands) {
    if (recording === sessionFile && args[0] === "inspect") args.splice(2);
    say(paint("dim", `# ${words}`));
    say(["node", bin, ...args].map(inShell).join(" "));
  }
}

function inShell(word: string): string {
  if (/^[\w./:\\-]+$/.test(word)) return word;
  return process.platform === "win32" ? `"${word}"` : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Whether a recall's text has the opening of one of the session's messages in it, word for word. */
function holdsSource(recalled: string, entries: readonly SessionLine[]): boolean {
  return entries.some((entry) => {
    const { content } = (entry.type === "message" ? entry.message : {}) as { content?: unknown };
    const texts =
      typeof content === "string" ? [content] : Array.isArray(content) ? content.map(textOfPart) : [];
    return texts.some((text) => text.length >= OPENING / 2 && recalled.includes(text.slice(0, OPENING)));
  });
}

const OPENING = 80;

function textOfPart(part: { text?: unknown }): string {
  return typeof part.text === "string" ? part.text : "";
}

function foldedCompactions(entries: readonly SessionLine[]): Compaction[] {
  return entries
    .filter((entry): entry is SessionLine & Compaction => entry.type === "compaction")
    .filter((entry) => entry.details?.type === "om.folded");
}

/** The recording is named for the session. */
function recordingFile({ recordingsDir, entries }: DemoResult): string | undefined {
  const sessionId = entries[0]?.id;
  if (sessionId === undefined || !existsSync(recordingsDir)) return undefined;
  const name = readdirSync(recordingsDir).find((file) => file === `${sessionId}.ndjson`);
  return name === undefined ? undefined : join(recordingsDir, name);
}

const MEMORY_LINE =
  /^(\[[0-9a-f]{12}\])( \d{4}-\d\d-\d\d \d\d:\d\d)?( \[(?:low|medium|high|critical)\])?( .*)$/;

function colouredMemory(line: string): string {
  const match = MEMORY_LINE.exec(line);
  if (!match) return line.startsWith("#") ? paint("bold", line) : paint("dim", line);
  const [, id = "", time = "", relevance = "", content = ""] = match;
  return `${paint("cyan", id)}${paint("dim", time)}${paint("yellow", relevance)}${content}`;
}

function shortened(text: string, maxLines: number): string {
  const lines = text.split("\n");
  if (lines.length <= maxLines) return text;
  return [...lines.slice(0, maxLines), paint("dim", `… ${lines.length - maxLines} more lines`)].join("\n");
}
