import type { Observation, Projection, Reflection } from "./ledger-entries.ts";

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
  const { id, timestamp, relevance, content } = observation;
  // biome-ignore lint/style/useTemplate: a sum is not copied until it is read, see section()
  return "[" + id + "] " + timestamp + " [" + relevance + "] " + content;
}

/** One reflection as agents and users see it: `[id] content`. */
export function renderReflection(reflection: Reflection): string {
  return `[${reflection.id}] ${reflection.content}`;
}

/**
 * The summary that replaces the cut part of the conversation. The same projection always gives the same
 * text; an empty projection gives `""`, so that the caller can leave the compaction to Pi.
 */
export function renderSummary(
  projection: Projection,
  unobserved: Unobserved = { entries: 0, tokens: 0 },
): string {
  const { observations, reflections } = projection;
  if (observations.length === 0 && reflections.length === 0) return "";
  let summary = PREAMBLE;
  if (reflections.length > 0) summary += section("Reflections (what holds)", reflections, renderReflection);
  if (observations.length > 0) {
    summary += section("Observations (what happened, oldest first)", observations, renderObservation);
  }
  if (unobserved.entries > 0) summary += renderUnobserved(unobserved);
  return summary;
}

/** Appends line by line: an engine joins such a string only when it is read, and a hook need not wait for that. */
function section<T>(title: string, records: readonly T[], render: (record: T) => string): string {
  let text = `\n\n## ${title}\n`;
  for (const record of records) text += `\n${render(record)}`;
  return text;
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
