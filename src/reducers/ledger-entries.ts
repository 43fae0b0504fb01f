import { z } from "zod";

/**
 * The ledger's entry shapes, byte for byte those of the existing V3 extension, so that a user can move here
 * and back (spec: "Ledger entries"). Unknown extra fields are ignored, never rejected.
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
