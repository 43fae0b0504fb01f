import { asCleanLine } from "./memory-id.ts";
import { type Selection, selectedObservations, selectedReflections } from "./projections.ts";
import { type EntryAt, readRecords, recordReader } from "./record-text.ts";
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

/** The summary that replaces the cut part of the conversation; `""` for an empty projection. */
export function renderSummary(
  { observations, reflections }: Projection,
  unobserved: Unobserved = { entries: 0, tokens: 0 },
): string {
  let lines = "";
  for (const observation of observations) lines += observationText("\n[", observation);
  return summaryOf(lines, reflections, unobserved);
}

/**
 * Reads what is selected and writes its summary, in one go: a compaction does that to tens of thousands of records while
 * the user waits, mostly for memory, and each should be fetched only once.
 */
export function summarise(
  selection: Selection,
  entryAt: EntryAt,
  unobserved: Unobserved,
): { projection: Projection; summary: string } {
  const observations: Observation[] = [];
  const observationAt = recordReader<Observation>("observations", entryAt);
  let lines = "";
  for (const record of selectedObservations(selection)) {
    const observation = observationAt(record);
    if (!observation) continue;
    observations.push(observation);
    lines += observationText("\n[", observation);
  }
  const reflections = readRecords<Reflection>(selectedReflections(selection), "reflections", entryAt);
  return {
    projection: { observations, reflections },
    summary: summaryOf(lines, reflections, unobserved),
  };
}

/** The same records always give the same text; none give `""`, so that the caller can leave the compaction to Pi. */
function summaryOf(observations: string, reflections: readonly Reflection[], unobserved: Unobserved): string {
  if (reflections.length === 0 && observations === "") return "";
  let summary = PREAMBLE;
  if (reflections.length > 0) {
    summary += "\n\n## Reflections (what holds)\n";
    for (const reflection of reflections) summary += reflectionText("\n[", reflection);
  }
  if (observations !== "") summary += `\n\n## Observations (what happened, oldest first)\n${observations}`;
  return unobserved.entries > 0 ? summary + renderUnobserved(unobserved) : summary;
}

function renderUnobserved({ entries, tokens }: Unobserved): string {
  return [
    "\n\n## Not in this memory",
    "",
    `${entries} ${entries === 1 ? "entry" : "entries"} (about ${tokens} tokens) of the earlier conversation ` +
      "had not been observed when it was compacted. Nothing above tells what they hold, and they are not shown " +
      "below; later memory will cover them.",
  ].join("\n");
}
