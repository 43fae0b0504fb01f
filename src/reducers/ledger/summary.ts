import type { EvidenceSizes } from "./evidence-size.ts";
import { asCleanLine } from "./memory-id.ts";
import type { Observation, Projection, Reflection, Relevance } from "./records.ts";

/** What a compaction could neither keep nor show, because no observer has read it yet. */
export interface Unobserved {
  entries: number;
  /** Source tokens */
  tokens: number;
}

const PREAMBLE = [
  "This is your memory of the earlier part of this session; the entries it was made from are no longer in view.",
  "Each line starts with an id in brackets. Call the `recall` tool with that id to read the exact original",
  "messages before you rely on a detail, repeat work, or contradict what stands here. Later lines supersede",
  "earlier ones.",
].join("\n");

/** One observation as agents and users see it: `[id] YYYY-MM-DD HH:MM [relevance] content`. */
export function renderObservation(observation: Observation): string {
  return observationText("[", observation);
}

/** One reflection as agents and users see it: `[id] content`. */
export function renderReflection(reflection: Reflection): string {
  return reflectionText("[", reflection);
}

const TAGS: Readonly<Record<Relevance, string>> = {
  low: " [low] ",
  medium: " [medium] ",
  high: " [high] ",
  critical: " [critical] ",
};

/**
 * Sums of as few parts as can be: an engine does not copy a sum until it is read, and a hook that sums up tens of thousands
 * of these need not wait for that.
 */
function observationText(opening: string, { id, timestamp, relevance, content }: Observation): string {
  return `${opening}${id}] ${asCleanLine(timestamp)}${TAGS[relevance]}${asCleanLine(content)}`;
}

function reflectionText(opening: string, { id, content }: Reflection): string {
  return `${opening}${id}] ${asCleanLine(content)}`;
}

/** What a summary says beside its lines. */
export interface SummaryNotes {
  unobserved?: Unobserved | undefined;
  /** Lines of memory that it has no room for */
  leftOut?: number | undefined;
  /** What the user asked of this compaction, in the user's words */
  instructions?: string | undefined;
  /** How much stands behind some of its lines */
  evidence?: EvidenceSizes | undefined;
  /** What tools touched, as `touchedBlock` says it */
  touched?: string | undefined;
}

/**
 * The summary that replaces the cut part of the conversation; `""` for an empty projection, so that the caller can leave the
 * compaction to Pi. The same records and notes always give the same text.
 */
export function renderSummary(
  { observations, reflections }: Projection,
  { unobserved, leftOut = 0, instructions = "", evidence, touched = "" }: SummaryNotes = {},
): string {
  if (reflections.length === 0 && observations.length === 0) return "";
  let summary = PREAMBLE;
  const behind = (id: string) => evidence?.get(id) ?? "";
  if (evidence && evidence.size > 0) summary += EVIDENCE_WORDS;
  if (instructions.trim() !== "") summary += `\n\n${ASKED}${clipped(asCleanLine(instructions))}`;
  if (reflections.length > 0) {
    summary += "\n\n## Reflections (what holds)\n";
    for (const reflection of reflections) {
      summary += reflectionText("\n[", reflection) + behind(reflection.id);
    }
  }
  if (observations.length > 0) {
    summary += "\n\n## Observations (what happened, oldest first)\n";
    for (const observation of observations) {
      summary += observationText("\n[", observation) + behind(observation.id);
    }
  }
  if (touched !== "") summary += `\n\n${touched}`;
  const missing = [
    ...(leftOut > 0 ? [leftOutWords(leftOut)] : []),
    ...(unobserved && unobserved.entries > 0 ? [unobservedWords(unobserved)] : []),
  ];
  return missing.length > 0 ? `${summary}\n\n## Not in this memory\n\n${missing.join("\n")}` : summary;
}

const EVIDENCE_WORDS =
  " A line that ends like `· file, 6.8k` rests on about so many tokens: `recall` with a query gives the\npassages of them that have its words.";

const ASKED = "The user asked of this compaction: ";
const LONGEST_INSTRUCTIONS = 2000;

function clipped(text: string): string {
  return text.length <= LONGEST_INSTRUCTIONS
    ? text
    : `${text.slice(0, LONGEST_INSTRUCTIONS).toWellFormed()}…`;
}

/** What the user asked of the compaction that this is the summary of. */
export function instructionsIn(summary: string): string | undefined {
  const start = summary.indexOf(`\n${ASKED}`);
  return start < 0 ? undefined : summary.slice(start + 1 + ASKED.length).split("\n", 1)[0];
}

const NO_ROOM = "of memory had no room here, the least relevant and the oldest;";

function leftOutWords(lines: number): string {
  return `${lines} ${lines === 1 ? "line" : "lines"} ${NO_ROOM} recall with a query and no id finds them.`;
}

/** How many lines of memory the summary had no room for. */
export function leftOutIn(summary: string): number {
  const end = summary.indexOf(` ${NO_ROOM}`, summary.lastIndexOf("\n## "));
  const line = end < 0 ? "" : summary.slice(summary.lastIndexOf("\n", end) + 1, end);
  return Number(/^(\d+) lines?$/.exec(line)?.[1] ?? 0);
}

function unobservedWords({ entries, tokens }: Unobserved): string {
  return (
    `${entries} ${entries === 1 ? "entry" : "entries"} (about ${tokens} tokens) of the earlier conversation ` +
    "had not been observed when it was compacted. Nothing above tells what they hold, and they are not shown " +
    "below; later memory will cover them."
  );
}
