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
  return `[${observation.id}] ${observation.timestamp} [${observation.relevance}] ${observation.content}`;
}

/** One reflection as agents and users see it: `[id] content`. */
export function renderReflection(reflection: Reflection): string {
  return `[${reflection.id}] ${reflection.content}`;
}

/**
 * The summary that replaces the cut part of the conversation. The same projection always gives the same
 * text; an empty projection gives `""`, so that the caller can leave the compaction to Pi.
 */
export function renderSummary(projection: Projection, unobserved: Unobserved = { entries: 0, tokens: 0 }): string {
  const { observations, reflections } = projection;
  if (observations.length === 0 && reflections.length === 0) return "";
  const parts = [PREAMBLE];
  if (reflections.length > 0) {
    parts.push(`## Reflections (what holds)\n\n${reflections.map(renderReflection).join("\n")}`);
  }
  if (observations.length > 0) {
    parts.push(`## Observations (what happened, oldest first)\n\n${observations.map(renderObservation).join("\n")}`);
  }
  if (unobserved.entries > 0) parts.push(renderUnobserved(unobserved));
  return parts.join("\n\n");
}

function renderUnobserved({ entries, tokens }: Unobserved): string {
  return [
    "## Not in this memory",
    "",
    `${entries} ${entries === 1 ? "entry" : "entries"} (about ${tokens} tokens) of the earlier conversation ` +
      "had not been observed when it was compacted. Nothing above tells what they hold, and they are not shown " +
      "below; later memory will cover them.",
  ].join("\n");
}
