import { z } from "zod";
import { type Observation, RELEVANCES, type Reflection, type Relevance } from "../reducers/ledger-entries.ts";
import { memoryId, oneLine } from "../reducers/memory-id.ts";
import { formatLocalMinute } from "../reducers/sources.ts";
import { estimateTextTokens } from "../reducers/tokens.ts";
import type { WorkerTool } from "./worker-loop.ts";

/** A tool that gathers what a worker records, record by record, and tells the model why it refuses one. */
export interface Collector<T> {
  tool: WorkerTool;
  accepted: T[];
  /** Refused records that the model did not mend, by reason, in the order of refusal */
  refusals: string[];
}

/** A memory line longer than this is no line: the model has copied instead of noted. */
const LONGEST_CONTENT = 2000;

const content = z.string().describe("One line of plain prose");

/** Models hand over a single value where a list is expected, or the list as JSON text; both are meant well. */
function listOf<T extends z.ZodType>(item: T) {
  return z.preprocess((value) => {
    const parsed = typeof value === "string" ? parseOr(value) : value;
    return Array.isArray(parsed) || parsed === undefined || parsed === null ? parsed : [parsed];
  }, z.array(item));
}

const ObservationArgs = z.object({
  content,
  relevance: z.preprocess(
    (value) => (typeof value === "string" ? value.trim().toLowerCase() : value),
    z.enum(RELEVANCES),
  ),
  sourceEntryIds: listOf(z.string()).describe("Ids of the source entries that show this"),
});

const ReflectionArgs = z.object({
  content,
  supportingObservationIds: listOf(z.string()).describe(
    "Ids of the observations whose meaning this preserves",
  ),
});

/**
 * Collects observations. Each must cite entries of this chunk; its id, its time (that of the earliest cited entry)
 * and its token count are made here, not by the model.
 */
export function collectObservations(
  /** Entry id → its time in milliseconds, for every entry of the chunk */
  sources: ReadonlyMap<string, number>,
  isKnown: (observationId: string) => boolean,
): Collector<Observation> {
  return collector({
    name: "record_observations",
    description: "Record observations about the source entries. Call it as often as needed; stop when done.",
    list: "observations",
    item: ObservationArgs,
    judge(args: z.infer<typeof ObservationArgs>, accepted: readonly Observation[]) {
      const text = checkedContent(args.content);
      if ("refusal" in text) return text;
      const cited = [...new Set(args.sourceEntryIds.map((id) => id.trim()))];
      if (cited.length === 0) return { refusal: "sourceEntryIds is empty; cite the entries that show it" };
      const unknown = cited.filter((id) => !sources.has(id));
      if (unknown.length > 0)
        return { refusal: `unknown source entry ids: ${unknown.join(", ").slice(0, 200)}` };
      const id = memoryId(text.content);
      if (isKnown(id) || accepted.some((other) => other.id === id)) return { duplicate: id };
      return {
        record: {
          id,
          content: text.content,
          timestamp: formatLocalMinute(Math.min(...cited.map((source) => sources.get(source) ?? 0))),
          relevance: args.relevance as Relevance,
          sourceEntryIds: cited,
          tokenCount: estimateTextTokens(text.content),
        },
      };
    },
  });
}

/** Collects reflections. Each must rest on observations that the model was shown. */
export function collectReflections(
  isShown: (observationId: string) => boolean,
  isKnown: (reflectionId: string) => boolean,
): Collector<Reflection> {
  return collector({
    name: "record_reflections",
    description: "Record durable reflections. Call it only for what deserves it; stop when done.",
    list: "reflections",
    item: ReflectionArgs,
    judge(args: z.infer<typeof ReflectionArgs>, accepted: readonly Reflection[]) {
      const text = checkedContent(args.content);
      if ("refusal" in text) return text;
      const cited = [...new Set(args.supportingObservationIds.map(bareId))];
      if (cited.length === 0)
        return { refusal: "supportingObservationIds is empty; cite the observations it rests on" };
      const unknown = cited.filter((id) => !isShown(id));
      if (unknown.length > 0)
        return { refusal: `unknown observation ids: ${unknown.join(", ").slice(0, 200)}` };
      const id = memoryId(text.content);
      if (isKnown(id) || accepted.some((other) => other.id === id)) return { duplicate: id };
      return {
        record: {
          id,
          content: text.content,
          supportingObservationIds: cited,
          tokenCount: estimateTextTokens(text.content),
        },
      };
    },
  });
}

/** Collects ids to drop, at most `maximum` of those that the model was shown. */
export function collectDrops(
  isShown: (observationId: string) => boolean,
  maximum: number,
): Collector<string> {
  return collector({
    name: "drop_observations",
    description: `Drop observations from active memory, at most ${maximum} in all. Dropping none is fine.`,
    list: "observationIds",
    item: z.string(),
    judge(given: string, accepted: readonly string[]) {
      const id = bareId(given);
      if (!isShown(id)) return { refusal: `${id.slice(0, 40)} is not an active observation` };
      if (accepted.includes(id)) return { duplicate: id };
      if (accepted.length >= maximum) return { refusal: `the limit of ${maximum} drops is reached` };
      return { record: id };
    },
  });
}

type Judgement<T> = { record: T } | { refusal: string } | { duplicate: string };

function collector<T, A>(spec: {
  name: string;
  description: string;
  list: string;
  item: z.ZodType<A>;
  judge: (args: A, accepted: readonly T[]) => Judgement<T>;
}): Collector<T> {
  const accepted: T[] = [];
  const refusals: string[] = [];
  const schema = z.object({ [spec.list]: z.array(spec.item) });

  function judgeAll(items: readonly unknown[]): string[] {
    return items.map((item, index) => {
      const place = `${spec.list}[${index}]`;
      const parsed = spec.item.safeParse(item);
      const judged: Judgement<T> = parsed.success
        ? spec.judge(parsed.data, accepted)
        : { refusal: z.prettifyError(parsed.error).replace(/\s+/g, " ").slice(0, 300) };
      if ("record" in judged) {
        accepted.push(judged.record);
        return `${place}: recorded`;
      }
      if ("duplicate" in judged) return `${place}: already recorded as ${judged.duplicate}, nothing to do`;
      refusals.push(judged.refusal);
      return `${place}: refused, ${judged.refusal}`;
    });
  }

  return {
    accepted,
    refusals,
    tool: {
      name: spec.name,
      description: spec.description,
      parameters: jsonSchemaOf(schema),
      accept(args) {
        const items = itemsOf(args, spec.list);
        if (!items) {
          refusals.push(`${spec.list} is missing`);
          return { text: `Nothing recorded: the arguments need a list "${spec.list}".`, isError: true };
        }
        if (items.length === 0) return { text: "Nothing to record.", isError: false };
        const refusedBefore = refusals.length;
        const lines = judgeAll(items);
        const refused = refusals.length > refusedBefore;
        if (refused)
          lines.push("Mend the refused ones and call the tool again with those only, or leave them out.");
        return { text: lines.join("\n"), isError: refused };
      },
    },
  };
}

/** The list in a tool call's arguments, however a model has wrapped it. */
function itemsOf(args: unknown, list: string): readonly unknown[] | undefined {
  const whole = typeof args === "string" ? parseOr(args) : args;
  if (Array.isArray(whole)) return whole;
  if (typeof whole !== "object" || whole === null) return undefined;
  const value = (whole as Record<string, unknown>)[list];
  if (value === undefined || value === null) return undefined;
  const parsed = typeof value === "string" ? parseOr(value) : value;
  return Array.isArray(parsed) ? parsed : [parsed];
}

function parseOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function checkedContent(given: string): { content: string } | { refusal: string } {
  const line = oneLine(given);
  if (line === "") return { refusal: "content is empty" };
  if (line.length > LONGEST_CONTENT) {
    return {
      refusal: `content has ${line.length} characters; at most ${LONGEST_CONTENT}, and one fact to a record`,
    };
  }
  return { content: line };
}

/** An id as the model has it, which may still wear the brackets it was shown in. */
function bareId(id: string): string {
  return id
    .trim()
    .replace(/^\[|\]$/g, "")
    .toLowerCase();
}

/** The schema for the model: without the keywords that local servers' grammars do not know. */
function jsonSchemaOf(schema: z.ZodType): object {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input" });
  return json;
}
