import { z } from "zod";
import { fieldsOf } from "../entries/entry.ts";

/**
 * The ledger's entry shapes, byte for byte those of the existing V3 extension, so that a user can move here
 * and back. Unknown extra fields are ignored, never rejected.
 */
export const OBSERVATIONS_RECORDED = "om.observations.recorded";
export const REFLECTIONS_RECORDED = "om.reflections.recorded";
export const OBSERVATIONS_DROPPED = "om.observations.dropped";
export const FOLDED = "om.folded";

export const RELEVANCES = ["low", "medium", "high", "critical"] as const;
export const RelevanceSchema = z.enum(RELEVANCES);
export type Relevance = z.infer<typeof RelevanceSchema>;

/** First 12 hex digits of SHA-256 of the content. */
export const MemoryIdSchema = z.string().regex(/^[0-9a-f]{12}$/);
const MEMORY_ID_LENGTH = 12;

export const ObservationSchema = z.object({
  id: MemoryIdSchema,
  content: z.string(),
  /** `YYYY-MM-DD HH:MM`, local time, of the earliest cited source entry. */
  timestamp: z.string(),
  relevance: RelevanceSchema,
  sourceEntryIds: z.array(z.string()),
  /** Estimated tokens of `content`. */
  tokenCount: z.number().nonnegative(),
});
export type Observation = z.infer<typeof ObservationSchema>;

export const ReflectionSchema = z.object({
  id: MemoryIdSchema,
  content: z.string(),
  supportingObservationIds: z.array(z.string()),
  /** Estimated tokens of `content`. */
  tokenCount: z.number().nonnegative(),
});
export type Reflection = z.infer<typeof ReflectionSchema>;

/**
 * Whether a value has the shape of `ObservationSchema` / `ReflectionSchema` / `MemoryIdSchema`. Opening a session checks tens
 * of thousands of records, and these do it in a tenth of the schemas' time; a property test holds them to the schemas.
 */
export function isObservation(value: unknown): value is Observation {
  const { content, id, relevance, sourceEntryIds, timestamp, tokenCount } = fieldsOf(value);
  return (
    isMemoryId(id) &&
    typeof content === "string" &&
    typeof timestamp === "string" &&
    (RELEVANCES as readonly unknown[]).includes(relevance) &&
    isStringList(sourceEntryIds) &&
    isTokenCount(tokenCount) &&
    !Array.isArray(value)
  );
}

export function isReflection(value: unknown): value is Reflection {
  const { content, id, supportingObservationIds, tokenCount } = fieldsOf(value);
  return (
    isMemoryId(id) &&
    typeof content === "string" &&
    isStringList(supportingObservationIds) &&
    isTokenCount(tokenCount) &&
    !Array.isArray(value)
  );
}

export function isMemoryId(value: unknown): value is string {
  if (typeof value !== "string" || value.length !== MEMORY_ID_LENGTH) return false;
  for (let at = 0; at < MEMORY_ID_LENGTH; at++) if (!isHexDigit(value.charCodeAt(at))) return false;
  return true;
}

/** `0` to `9` or `a` to `f` */
function isHexDigit(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 97 && code <= 102);
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isTokenCount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && Number.isFinite(value);
}

/** What a compaction of ours stores in Pi's `details`: the memory that it made visible. */
export interface MemoryDetails {
  type: typeof FOLDED;
  version: 1;
  fullFold: boolean;
  observations: Observation[];
  reflections: Reflection[];
}

export interface ObservationsRecorded {
  observations: Observation[];
  coversUpToId: string;
}
export interface ReflectionsRecorded {
  reflections: Reflection[];
  coversUpToId: string;
}
export interface ObservationsDropped {
  observationIds: string[];
  coversUpToId: string;
}

/** Memory as somebody sees it: the agent after a compaction, or `/om:view`. */
export interface Projection {
  observations: Observation[];
  reflections: Reflection[];
}
