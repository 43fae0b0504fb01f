import { knownWindow, poolTarget, type Settings } from "../settings.ts";
import type { Observation, Projection, Reflection, Relevance } from "./records.ts";

/** What the session's model has room for, in tokens; what is not known is left out. */
export interface ContextLimits {
  readonly contextWindow?: number | undefined;
  /** What Pi keeps free of it: its setting `compaction.reserveTokens` */
  readonly reserveTokens?: number | undefined;
  /** What every request begins with: system prompt and tools */
  readonly overhead?: number | undefined;
}

/** What a fold may have, in tokens. */
export interface FoldRoom {
  /** The summary and the entries that are kept, together */
  readonly together: number;
  /** The summary, whatever else there is room for */
  readonly summary: number;
}

export type FoldRoomSettings = Pick<
  Settings,
  "summaryMaxTokens" | "observationsPoolMaxTokens" | "observationsPoolTargetTokens"
>;

const WINDOW_WHEN_UNKNOWN = 128_000;
const SUMMARY_SHARE = 0.15;
/** However little room there is, what is most important has some. */
const LEAST_SUMMARY_SHARE = 0.05;
/** A context that is left at the very limit at which Pi compacts would be compacted again with the next turn. */
const ROOM_TO_WORK = 0.1;
/** Pi's own reserve may be larger than a small window; the session could then do nothing but compact. */
const LARGEST_RESERVE = 0.5;

/** How large a fold may be, so that the session has room to work after it. */
export function foldRoom(settings: FoldRoomSettings, limits: ContextLimits): FoldRoom {
  const window = knownWindow(limits.contextWindow);
  const share = Math.floor((window ?? WINDOW_WHEN_UNKNOWN) * SUMMARY_SHARE);
  const summary = settings.summaryMaxTokens ?? Math.max(share, poolTarget(settings));
  if (window === undefined) return { together: Number.POSITIVE_INFINITY, summary };
  const { reserveTokens = 0, overhead = 0 } = limits;
  const limit = window - Math.min(reserveTokens, window * LARGEST_RESERVE);
  return { together: Math.floor(limit * (1 - ROOM_TO_WORK)) - overhead, summary };
}

/** Tokens that the summary may have beside a tail of so many. */
export function summaryRoom({ together, summary }: FoldRoom, tailTokens: number): number {
  return Math.max(Math.ceil(summary * LEAST_SUMMARY_SHARE), Math.min(summary, together - tailTokens));
}

/** A projection with only the lines that there is room for. */
export interface FittedProjection extends Projection {
  /** Lines that had no room */
  leftOut: number;
}

/**
 * Leaves out of a projection what its summary has no room for: what is less relevant first, of that what reflections cover
 * before what they do not, and the oldest first. Reflections go after observations of high relevance, critical observations
 * last. Those that stay keep their order.
 */
export function fitted({ observations, reflections }: Projection, maxTokens: number): FittedProjection {
  const covered = new Set(reflections.flatMap(({ supportingObservationIds }) => supportingObservationIds));
  const lines = [
    ...observations.map((record) =>
      lineOf(record, RANKS[record.relevance] + (covered.has(record.id) ? 0 : 1)),
    ),
    ...reflections.map((record) => lineOf(record, REFLECTION_RANK)),
  ];
  let excess = HEAD_TOKENS - maxTokens;
  for (const { tokens } of lines) excess += tokens;
  if (excess <= 0) return { observations, reflections, leftOut: 0 };
  const left = new Set<Observation | Reflection>();
  // Sorting keeps the order of equals: the oldest first.
  for (const { record, tokens } of lines.sort((a, b) => a.rank - b.rank)) {
    if (excess <= 0) break;
    left.add(record);
    excess -= tokens;
  }
  return {
    observations: observations.filter((record) => !left.has(record)),
    reflections: reflections.filter((record) => !left.has(record)),
    leftOut: left.size,
  };
}

const RANKS: Readonly<Record<Relevance, number>> = { low: 0, medium: 2, high: 4, critical: 7 };
const REFLECTION_RANK = 6;

interface Line {
  record: Observation | Reflection;
  rank: number;
  tokens: number;
}

/** What a summary has beside its lines: its preamble, its headings and what it says of what is not in it. */
const HEAD_TOKENS = 240;
/** An id, a time and a relevance beside the content */
const LINE_TOKENS = 24;
/** As Pi estimates text; a record's own count may be of another making. */
const CHARACTERS_PER_TOKEN = 4;

function lineOf(record: Observation | Reflection, rank: number): Line {
  const { content, tokenCount } = record;
  return { record, rank, tokens: LINE_TOKENS + Math.max(tokenCount, content.length / CHARACTERS_PER_TOKEN) };
}
