import { asCleanLine } from "../../../reducers/ledger/memory-id.ts";
import { countOf, grouped, listed } from "../../../reducers/words.ts";
import type { ExportedMemory } from "./exported-memory.ts";

/** Characters of one source that a footnote shows; `recall` gives the rest. */
const LONGEST_SOURCE = 4000;

type Reflection = ExportedMemory["reflections"][number];
type Observation = ExportedMemory["observations"][number];
type Source = NonNullable<ExportedMemory["sources"]>[number];

/**
 * Memory as a document in Markdown that a person reads: what holds, then what happened, by day; each line with its id and what
 * it rests on. Sources, where the export has them, are footnotes. What a session's text holds never counts as markup.
 */
export function memoryDocument(memory: ExportedMemory): string {
  const { reflections, observations, sources } = memory;
  const footnotes = new Map(sources?.map(({ entryId }, at) => [entryId, at + 1]));
  const parts = [head(memory)];
  if (reflections.length > 0) {
    parts.push("## What holds", reflections.map((one) => reflectionItem(one, observations)).join("\n"));
  }
  if (observations.length > 0) {
    parts.push("## What happened", ...days(observations, footnotes));
  }
  if (sources && sources.length > 0) {
    parts.push("## Sources", ...sources.map((source, at) => footnote(at + 1, source)));
  }
  return parts.join("\n\n");
}

function head({ session, reflections, observations }: ExportedMemory): string {
  const where = session.cwd === "" ? "" : ` in ${code(session.cwd)}`;
  const counts = [countOf(reflections.length, "reflection"), countOf(observations.length, "observation")];
  const what =
    reflections.length + observations.length === 0
      ? "Nothing is recorded on this branch yet."
      : `${listed(counts)}. \`memory-lanes recall\` with the id of a line shows exactly what it rests on.`;
  return `# What is remembered\n\nSession ${code(session.id)}${where}, up to entry ${code(session.leaf ?? "none")}: ${what}`;
}

function reflectionItem(reflection: Reflection, observations: readonly Observation[]): string {
  const { id, content, supportingObservationIds } = reflection;
  const shown = new Set(observations.map((observation) => observation.id));
  const supports = supportingObservationIds.map((one) =>
    shown.has(one) ? code(one) : `${code(one)} (not shown)`,
  );
  return `- ${said(reflection, content)} ${code(id)}${fate(reflection)}  \n  rests on ${listed(supports)}`;
}

/** Observations under a heading for each day, in their own order: what was recorded out of it gets its day once more. */
function days(observations: readonly Observation[], footnotes: ReadonlyMap<string, number>): string[] {
  const parts: string[] = [];
  let day: string | undefined;
  let items: string[] = [];
  for (const observation of observations) {
    const [, date = "Undated", time = asCleanLine(observation.timestamp)] =
      /^(\d{4}-\d\d-\d\d) (\d\d:\d\d)$/.exec(observation.timestamp) ?? [];
    if (date !== day) {
      if (items.length > 0) parts.push(items.join("\n"));
      items = [];
      day = date;
      parts.push(`### ${date}`);
    }
    items.push(observationItem(observation, time, footnotes));
  }
  parts.push(items.join("\n"));
  return parts;
}

function observationItem(
  observation: Observation,
  time: string,
  footnotes: ReadonlyMap<string, number>,
): string {
  const { id, content, relevance, sourceEntryIds, pinned } = observation;
  const marks = sourceEntryIds
    .map((entryId) => footnotes.get(entryId))
    .filter((number) => number !== undefined);
  const from =
    marks.length > 0
      ? marks.map((number) => `[^${number}]`).join("")
      : `  \n  rests on ${sourceEntryIds.length === 1 ? "entry" : "entries"} ${listed(sourceEntryIds.map(code))}`;
  return `- ${literal(time)} (${relevance}) ${said(observation, content)} ${code(id)}${pinned ? " (pinned)" : ""}${fate(observation)}${from}`;
}

/** What no longer holds is struck out. */
function said({ status }: { status: string }, content: string): string {
  const text = literal(asCleanLine(content));
  return status === "active" ? text : `~~${text}~~`;
}

function fate({ status, replacedBy }: Reflection | Observation): string {
  if (status === "active") return "";
  const [next] = replacedBy;
  if (status === "promoted") return " (moved into AGENTS.md)";
  return next === undefined ? ` (${status})` : ` (replaced by ${code(next)})`;
}

function footnote(number: number, { entryId, status, text }: Source): string {
  const name = `[^${number}]: Entry ${code(entryId)}`;
  if (text === undefined) {
    return `${name} ${status === "missing" ? "is not on this branch." : "is nothing that was said."}`;
  }
  const omitted = status === "omitted" ? ", which Pi no longer shows to the agent" : "";
  const shown = text.length <= LONGEST_SOURCE ? text : text.slice(0, LONGEST_SOURCE).toWellFormed();
  const rest = text.length - shown.length;
  const more = rest > 0 ? `\n\n    … and ${grouped(rest)} more characters` : "";
  const fence = "`".repeat(Math.max(3, longestRun(shown) + 1));
  const block = [fence, ...shown.split("\n"), fence].map((line) => `    ${line}`.trimEnd()).join("\n");
  return `${name}${omitted}:\n\n${block}${more}`;
}

/** Text as a span of code, whatever is in it. */
function code(text: string): string {
  const clean = asCleanLine(text);
  const fence = "`".repeat(longestRun(clean) + 1);
  const space = clean.startsWith("`") || clean.endsWith("`") ? " " : "";
  return `${fence}${space}${clean}${space}${fence}`;
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
}

/** One line of text in which nothing is markup but code: that is how names and commands are written, and it can do nothing. */
function literal(line: string): string {
  return line.replace(CODE_OR_MARKUP, (found, span?: string) => (span === undefined ? `\\${found}` : found));
}

/** An underscore within a word is no markup, and signs of lists and headings are some at the beginning only. */
const CODE_OR_MARKUP =
  /((?<!`)(`+)(?!`).{1,500}?(?<!`)\2(?!`))|[\\*[\]<>|~&`]|(?<![^\W_])_|_(?![^\W_])|^[#+=-]|(?<=^\d{1,9})[.)]/g;
