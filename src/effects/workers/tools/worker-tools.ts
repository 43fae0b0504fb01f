import { z } from "zod";
import { formatLocalMinute } from "../../../reducers/entries/sources.ts";
import { estimateTextTokens } from "../../../reducers/entries/tokens.ts";
import { memoryId, oneLine } from "../../../reducers/ledger/memory-id.ts";
import { type Observation, type Reflection, RelevanceSchema } from "../../../reducers/ledger/records.ts";
import { type Collector, clipped, createCollector, objectOf, parsedStructure } from "./collector.ts";

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
});

const ReflectionArgs = objectOf({
  content,
  supportingObservationIds: idList().describe("Ids of the observations whose meaning this preserves"),
});

/**
 * Collects observations. Each must cite entries of this chunk and nothing else; its id, its time (that of the
 * earliest cited entry) and its token count are made here, not by the model.
 */
export function collectObservations(
  /** Entry id → its time in milliseconds, for every entry of the chunk */
  sources: ReadonlyMap<string, number>,
  isKnown: (observationId: string) => boolean,
  clean?: Clean,
): Collector<Observation> {
  return createCollector<Observation, z.infer<typeof ObservationArgs>>({
    name: "record_observations",
    list: "observations",
    description: "Record observations about the source entries. Call it as often as needed; stop when done.",
    item: ObservationArgs,
    done: "recorded",
    idOf: ({ id }) => id,
    judge(args, accepted) {
      const line = checkedContent(args.content, clean);
      if ("refusal" in line) return line;
      const cited = [...new Set(args.sourceEntryIds.map((id) => sourceId(id, sources)))];
      const refusal = refusedIds(cited, (id) => sources.has(id), "sourceEntryIds");
      if (refusal) return refusal;
      const id = memoryId(line.content);
      if (isKnown(id) || accepted.has(id)) return { duplicate: id };
      return {
        record: {
          id,
          content: line.content,
          timestamp: formatLocalMinute(earliestOf(cited.map((source) => sources.get(source) ?? 0))),
          relevance: args.relevance,
          sourceEntryIds: cited,
          tokenCount: estimateTextTokens(line.content),
        },
      };
    },
  });
}

/** Collects reflections. Each must rest on observations that the model was shown. */
export function collectReflections(
  isShown: (observationId: string) => boolean,
  isKnown: (reflectionId: string) => boolean,
  clean?: Clean,
): Collector<Reflection> {
  return createCollector<Reflection, z.infer<typeof ReflectionArgs>>({
    name: "record_reflections",
    list: "reflections",
    description: "Record durable reflections. Call it only for what deserves it; stop when done.",
    item: ReflectionArgs,
    done: "recorded",
    idOf: ({ id }) => id,
    judge(args, accepted) {
      const line = checkedContent(args.content, clean);
      if ("refusal" in line) return line;
      const cited = [...new Set(args.supportingObservationIds.map(memoryIdOf))];
      const refusal = refusedIds(cited, isShown, "supportingObservationIds");
      if (refusal) return refusal;
      const id = memoryId(line.content);
      if (isKnown(id) || accepted.has(id)) return { duplicate: id };
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
}

/** Collects ids to drop, at most `maximum` of the active observations that the model was shown. */
export function collectDrops(
  isShown: (observationId: string) => boolean,
  maximum: number,
): Collector<string> {
  return createCollector<string, string>({
    name: "drop_observations",
    list: "observationIds",
    description: `Drop observations from active memory, at most ${maximum} in all. Dropping none is fine.`,
    item: z.string(),
    done: "dropped",
    idOf: (id) => id,
    split: splitIds,
    judge(given, accepted) {
      const id = memoryIdOf(given);
      if (accepted.has(id)) return { duplicate: id };
      if (!isShown(id)) return { refusal: "not an active observation shown here", detail: clipped(id, 40) };
      if (accepted.size >= maximum) return { refusal: `limit reached, ${maximum} are dropped already` };
      return { record: id };
    },
  });
}

/** The earliest of these times that is one: 0 stands for a time that cannot be read. */
function earliestOf(times: readonly number[]): number {
  const known = times.filter((time) => time > 0);
  return known.length === 0 ? 0 : Math.min(...known);
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

/** A memory id, which may still wear its brackets. */
function memoryIdOf(given: string): string {
  return given
    .trim()
    .replace(/^\[|\]$/g, "")
    .toLowerCase();
}
