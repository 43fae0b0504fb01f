import { z } from "zod";
import type { Worker } from "../engine/lane-names.ts";
import { fieldsOf } from "../entries/entry.ts";

/**
 * The ledger's entry shapes, byte for byte those of the existing V3 extension, so that a user can move here
 * and back. Unknown extra fields are ignored, never rejected. What that extension would reject is not a record here either:
 * a single such one in a compaction's details would hide all of them from it.
 */
export const OBSERVATIONS_RECORDED = "om.observations.recorded";
export const REFLECTIONS_RECORDED = "om.reflections.recorded";
export const OBSERVATIONS_DROPPED = "om.observations.dropped";
export const REFLECTIONS_DROPPED = "om.reflections.dropped";
/** Older readers pass over it. */
export const COST = "om.cost";
export const FOLDED = "om.folded";
/** What the user does by hand. Readers that do not know these pass over them. */
export const OBSERVATIONS_PINNED = "om.observations.pinned";
export const OBSERVATIONS_UNPINNED = "om.observations.unpinned";
export const MEMORY_FORGOTTEN = "om.memory.forgotten";
export const MEMORY_RESTORED = "om.memory.restored";

export const RELEVANCES = ["low", "medium", "high", "critical"] as const;
export const RelevanceSchema = z.enum(RELEVANCES);
export type Relevance = z.infer<typeof RelevanceSchema>;

/** First 12 hex digits of SHA-256 of the content. */
export const MemoryIdSchema = z.string().regex(/^[0-9a-f]{12}$/);
const MEMORY_ID_LENGTH = 12;

/** What has more in it than white space, control characters and disguise: nothing of those would be left on a clean line. */
const VISIBLE = /[^\s\p{Cc}\p{Bidi_Control}\u{E0000}-\u{E007F}]/u;
const LINE_BREAK = /[\n\r\v\f\u0085\u2028\u2029]/;
const LINE_FEED = /[\n\r]/;

/** Whether a text has no line break of any kind. */
export function isOneLine(text: string): boolean {
  return !LINE_BREAK.test(text);
}

const evidence = () => z.array(z.string().min(1)).min(1);
/** Estimated tokens of `content` alone, without the id, time and relevance of its line; taken as it was recorded. */
const tokenCount = () => z.number().nonnegative();

export const ObservationSchema = z.object({
  id: MemoryIdSchema,
  /** V3 writes several lines now and then; they are read as one (`recordReader`). */
  content: z.string().regex(VISIBLE),
  /** `YYYY-MM-DD HH:MM`, local time, of the latest cited source entry; of the earliest where V3 wrote it. */
  timestamp: z.string().min(1).refine(isOneLine),
  relevance: RelevanceSchema,
  sourceEntryIds: evidence(),
  tokenCount: tokenCount(),
  /** Noted by the user, not found by an observer */
  origin: z.literal("user").optional().catch(undefined),
});
export type Observation = z.infer<typeof ObservationSchema>;

export const ReflectionSchema = z.object({
  id: MemoryIdSchema,
  content: z
    .string()
    .regex(VISIBLE)
    .refine((content) => !LINE_FEED.test(content)),
  supportingObservationIds: evidence(),
  tokenCount: tokenCount(),
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
    isVisible(content) &&
    isTimestamp(timestamp) &&
    (RELEVANCES as readonly unknown[]).includes(relevance) &&
    isEvidence(sourceEntryIds) &&
    isTokenCount(tokenCount) &&
    !Array.isArray(value)
  );
}

export function isReflection(value: unknown): value is Reflection {
  const { content, id, supportingObservationIds, tokenCount } = fieldsOf(value);
  return (
    isMemoryId(id) &&
    isVisible(content) &&
    !LINE_FEED.test(content) &&
    isEvidence(supportingObservationIds) &&
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

function isVisible(value: unknown): value is string {
  return typeof value === "string" && VISIBLE.test(value);
}

function isTimestamp(value: unknown): value is string {
  return typeof value === "string" && value !== "" && isOneLine(value);
}

function isEvidence(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((id) => typeof id === "string" && id !== "");
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
  /**
   * `superseded`: they no longer hold, or are finished: newer ones, by dropped id, say what does. `promoted`: the user has moved
   * them into the project's instructions.
   */
  reason?: "superseded" | typeof PROMOTED;
  supersededBy?: Readonly<Record<string, string>>;
}
/** V3 readers pass over it; a fork of V3 reads and writes it. */
export type ReflectionsDropped = { reflectionIds: string[]; coversUpToId: string } & (
  | {
      kind: "replaced";
      /** The reflection that stands in the place of all of them */
      replacedBy: string;
    }
  | {
      kind: typeof PROMOTED;
      /** Observations were promoted with them, by the entry before. */
      withPrevious?: true;
    }
);
/** Why a drop that the user made by hand was made */
export const PROMOTED = "promoted";

/** An entry that takes back another names it. */
interface HandMade {
  undoes?: string;
}
export interface ObservationsPinned extends HandMade {
  observationIds: string[];
}
export interface MemoryForgotten extends HandMade {
  ids: string[];
  /** In the user's words */
  reason?: string;
}
export interface MemoryRestored extends HandMade {
  ids: string[];
}

/** What a run took that a model answered, whatever became of its records. */
export interface CostRecorded {
  worker: Worker;
  /** `provider/id` */
  model: string;
  /** Model tokens */
  usage: { input: number; output: number; cacheRead: number; cacheWrite: number };
  /** USD; unset where the model has no price */
  cost?: number;
  runId: string;
}

/** Memory as somebody sees it: the agent after a compaction, or `/om:view`. */
export interface Projection {
  observations: Observation[];
  reflections: Reflection[];
}
