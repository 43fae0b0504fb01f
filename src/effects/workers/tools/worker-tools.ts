import { z } from "zod";
import { formatLocalMinute } from "../../../reducers/entries/sources.ts";
import { estimateTextTokens } from "../../../reducers/entries/tokens.ts";
import type { MemoryStatus } from "../../../reducers/ledger/ledger.ts";
import { givenMemoryId, memoryId, oneLine } from "../../../reducers/ledger/memory-id.ts";
import { type Observation, type Reflection, RelevanceSchema } from "../../../reducers/ledger/records.ts";
import { clipped } from "../../../reducers/words.ts";
import { type Collector, createCollector, objectOf, parsedStructure } from "./collector.ts";

/** A memory line longer than this is no line: the model has copied instead of noted. In UTF-16 units. */
const LONGEST_CONTENT = 2000;

const content = z.string().describe("One line of plain prose");

/** A list of ids that models may also hand over as JSON text, or as text with commas. */
function idList() {
  return z.preprocess((value) => {
    const parsed = parsedStructure(value);
    return typeof parsed === "string" ? splitIds(parsed) : parsed;
  }, z.array(z.string()));
}

/** Models write null, or nothing at all, where they mean none. */
function optionalIds(description: string) {
  return z
    .preprocess((value) => value ?? [], idList())
    .optional()
    .describe(description);
}

function splitIds(text: string): string[] {
  return text.split(",").filter((id) => id.trim() !== "");
}

const ObservationArgs = objectOf({
  content,
  relevance: z.preprocess(
    (value) => (typeof value === "string" ? value.trim().toLowerCase() : value),
    RelevanceSchema,
  ),
  sourceEntryIds: idList().describe("Ids of the source entries that show this"),
  supersedes: optionalIds("Ids of prior observations that this finishes or makes untrue"),
});

const ReflectionArgs = objectOf({
  content,
  supportingObservationIds: idList().describe("Ids of the observations that this rests on"),
  replaces: optionalIds("Ids of existing reflections whose place this takes"),
});

/** Collects records of which each may put an end to others, which the model was shown. */
export interface ReplacingCollector<T> extends Collector<T> {
  /** Id of what no longer holds → id of the accepted record that says what does; the first one, if there are several. */
  replaced: ReadonlyMap<string, string>;
}

/**
 * Collects observations. Each must cite entries of this chunk and nothing else; its id, its time (that of the
 * latest cited entry: what was said last makes it true) and its token count are made here, not by the model.
 */
export function collectObservations(
  /** Entry id → its time in milliseconds, for every entry of the chunk */
  sources: ReadonlyMap<string, number>,
  memory: KnownMemory,
  clean?: Clean,
): ReplacingCollector<Observation> {
  const replaced = new Map<string, string>();
  const collector = createCollector<Observation, z.infer<typeof ObservationArgs>>({
    name: "record_observations",
    list: "observations",
    description: "Record observations about the source entries.",
    item: ObservationArgs,
    accepted: "recorded",
    idOf: ({ id }) => id,
    judge(args, accepted) {
      const line = checkedContent(args.content, clean);
      if ("refusal" in line) return line;
      const cited = [...new Set(args.sourceEntryIds.map((id) => sourceId(id, sources)))];
      const refusal = refusedIds(cited, (id) => sources.has(id), "sourceEntryIds");
      if (refusal) return refusal;
      const id = memoryId(line.content);
      const supersedes = [...new Set(args.supersedes?.map(givenMemoryId))];
      const known = judgeReplacing(id, supersedes, "supersedes", accepted, memory);
      if (known) return known;
      noteReplaced(replaced, supersedes, id);
      return {
        record: {
          id,
          content: line.content,
          timestamp: formatLocalMinute(latestOf(cited.map((source) => sources.get(source) ?? 0))),
          relevance: args.relevance,
          sourceEntryIds: cited,
          tokenCount: estimateTextTokens(line.content),
        },
      };
    },
  });
  return { ...collector, replaced };
}

/** Collects reflections. Each must rest on observations that the model was shown. */
export function collectReflections(
  isShown: (observationId: string) => boolean,
  memory: KnownMemory,
  clean?: Clean,
): ReplacingCollector<Reflection> {
  const replaced = new Map<string, string>();
  const collector = createCollector<Reflection, z.infer<typeof ReflectionArgs>>({
    name: "record_reflections",
    list: "reflections",
    description: "Record durable reflections, only what deserves it.",
    item: ReflectionArgs,
    accepted: "recorded",
    idOf: ({ id }) => id,
    judge(args, accepted) {
      const line = checkedContent(args.content, clean);
      if ("refusal" in line) return line;
      const cited = [...new Set(args.supportingObservationIds.map(givenMemoryId))];
      const refusal = refusedIds(cited, isShown, "supportingObservationIds");
      if (refusal) return refusal;
      const id = memoryId(line.content);
      const replaces = [...new Set(args.replaces?.map(givenMemoryId))];
      const known = judgeReplacing(id, replaces, "replaces", accepted, memory);
      if (known) return known;
      noteReplaced(replaced, replaces, id);
      return {
        record: {
          id,
          content: line.content,
          supportingObservationIds: cited,
          tokenCount: estimateTextTokens(line.content),
        },
      };
    },
  });
  return { ...collector, replaced };
}

/** What a record of one kind is judged by that would be remembered, and would put an end to others. */
export interface KnownMemory {
  /** `dropped`: recorded or not, a record of this id would not be seen, since drops of it hold. */
  statusOf(id: string): MemoryStatus;
  /** Whether the prompt shows it as active memory: a model can put an end only to what it has read. */
  isShown(id: string): boolean;
}

/**
 * What becomes of a record whose text is remembered already, or that would put an end to what it may not. Only what is new
 * can, and only to what was there before the run: so no two records ever put an end to each other.
 */
function judgeReplacing(
  id: string,
  replaces: readonly string[],
  field: "supersedes" | "replaces",
  accepted: ReadonlySet<string>,
  { statusOf, isShown }: KnownMemory,
): { refusal: string; detail: string } | { duplicate: string } | undefined {
  if (replaces.includes(id)) {
    return { refusal: `a record in ${field} has this very text`, detail: "say what has changed" };
  }
  const unknown = replaces.filter((one) => !isShown(one));
  if (unknown.length > 0) {
    const detail = `${clipped(unknown.join(", "), LONGEST_ID_LIST)}; name only ids of active memory of this kind that is shown here`;
    return { refusal: `unknown ids in ${field}`, detail };
  }
  const status = accepted.has(id) ? "active" : statusOf(id);
  if (status === "dropped") {
    return {
      refusal: "this text was remembered once and has been dropped since",
      detail: "if it holds again and matters, say so in other words, with since when; else leave it out",
    };
  }
  if (status === "active" && replaces.length > 0) {
    return {
      refusal: `this text is remembered already, so it can have no ${field}`,
      detail: "say in other words what has changed, or leave it out",
    };
  }
  return status === "active" ? { duplicate: id } : undefined;
}

function noteReplaced(replaced: Map<string, string>, ids: readonly string[], by: string): void {
  for (const id of ids) if (!replaced.has(id)) replaced.set(id, by);
}

/** Collects ids that the model would drop, of the active observations that it was shown; how many may go is decided later. */
export function collectDrops(isShown: (observationId: string) => boolean): Collector<string> {
  return createCollector<string, string>({
    name: "drop_observations",
    list: "observationIds",
    // No number here: what differs between requests must not stand at their beginning, where providers look for what they know.
    description: "Propose observations that leave active memory. Proposing none is fine.",
    item: z.string(),
    accepted: "proposed",
    idOf: (id) => id,
    split: splitIds,
    judge(given, accepted) {
      const id = givenMemoryId(given);
      if (accepted.has(id)) return { duplicate: id };
      if (!isShown(id)) return { refusal: "not an active observation shown here", detail: clipped(id, 40) };
      return { record: id };
    },
  });
}

/** The latest of these times; 0 stands for a time that cannot be read. */
function latestOf(times: readonly number[]): number {
  return Math.max(0, ...times);
}

const LONGEST_ID_LIST = 200;

/** A record stands on what the model has seen, or not at all: one unknown id refuses it. */
function refusedIds(
  cited: readonly string[],
  isAllowed: (id: string) => boolean,
  field: string,
): { refusal: string; detail?: string } | undefined {
  if (cited.length === 0) return { refusal: `${field} is empty`, detail: "cite what shows it" };
  const unknown = cited.filter((id) => !isAllowed(id));
  if (unknown.length === 0) return undefined;
  return { refusal: `unknown ids in ${field}`, detail: clipped(unknown.join(", "), LONGEST_ID_LIST) };
}

/** What becomes of a model's words before they get an id: secrets go, also those that the model has made up or pieced together. */
export type Clean = (line: string) => string;

function checkedContent(
  given: string,
  clean: Clean = (line) => line,
): { content: string } | { refusal: string; detail?: string } {
  const line = clean(oneLine(given));
  if (line === "") return { refusal: "content is empty" };
  if (line.length <= LONGEST_CONTENT) return { content: line };
  return {
    refusal: "content is too long",
    detail: `${line.length} characters; at most ${LONGEST_CONTENT}, and one fact to a record`,
  };
}

/** A source id, which may still wear the line that it was shown in: `[Source entry id: ID]`. */
function sourceId(given: string, sources: ReadonlyMap<string, number>): string {
  const id = given.trim();
  if (sources.has(id)) return id;
  return id
    .replace(/^\[|\]$/g, "")
    .replace(/^source entry id:/i, "")
    .trim();
}
