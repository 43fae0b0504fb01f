import type { Observation, Projection, Reflection, Relevance } from "./ledger-entries.ts";

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
  return `${opening}${id}] ${timestamp}${TAGS[relevance]}${content}`;
}

function reflectionText(opening: string, { id, content }: Reflection): string {
  return `${opening}${id}] ${content}`;
}

/** A summary in the making. It takes each record when that has just been read, and need not come for it again. */
export interface SummaryWriter {
  reflection(reflection: Reflection): void;
  observation(observation: Observation): void;
  /** The same records always give the same text; none give `""`, so that the caller can leave the compaction to Pi. */
  text(unobserved: Unobserved): string;
}

export function writeSummary(): SummaryWriter {
  let reflections = "";
  let observations = "";
  return {
    reflection(reflection) {
      reflections += reflectionText("\n[", reflection);
    },
    observation(observation) {
      observations += observationText("\n[", observation);
    },
    text(unobserved) {
      if (reflections === "" && observations === "") return "";
      let summary = PREAMBLE;
      if (reflections !== "") summary += `\n\n## Reflections (what holds)\n${reflections}`;
      if (observations !== "")
        summary += `\n\n## Observations (what happened, oldest first)\n${observations}`;
      return unobserved.entries > 0 ? summary + renderUnobserved(unobserved) : summary;
    },
  };
}

/** The summary that replaces the cut part of the conversation; `""` for an empty projection. */
export function renderSummary(
  { observations, reflections }: Projection,
  unobserved: Unobserved = { entries: 0, tokens: 0 },
): string {
  const summary = writeSummary();
  reflections.forEach(summary.reflection);
  observations.forEach(summary.observation);
  return summary.text(unobserved);
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
