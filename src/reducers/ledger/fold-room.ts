import { knownWindow, poolTarget, type Settings, WINDOW_WHEN_UNKNOWN } from "../settings.ts";
import type { ObservationRecord, ReflectionRecord } from "./ledger.ts";
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

/** The lines that there is room for, in their order. */
export interface Fitted<O, R> {
  observations: O[];
  reflections: R[];
  /** Lines that had no room */
  leftOut: number;
}

/**
 * Leaves out of a projection what its summary has no room for: what is less relevant first, of that what reflections cover
 * before what they do not, and the oldest first. Reflections go after observations of high relevance, critical observations
 * later, and what the user has pinned last.
 */
export function fitted(
  { observations, reflections }: Projection,
  maxTokens: number,
  pinned: ReadonlySet<string> = NONE,
): Fitted<Observation, Reflection> {
  // A record's own count may be of another making.
  const tokensOf = ({ content, tokenCount }: Observation | Reflection) =>
    Math.max(tokenCount, content.length / CHARACTERS_PER_TOKEN);
  const supportsOf = ({ supportingObservationIds }: Reflection) => supportingObservationIds;
  return withinRoom({ observations, reflections, tokensOf, supportsOf }, maxTokens, pinned);
}

/** The same by what the ledger knows of its records, so that the text of those that leave need not be read. */
export function fittedRecords(
  observations: ObservationRecord[],
  reflections: ReflectionRecord[],
  maxTokens: number,
  pinned: ReadonlySet<string> = NONE,
): Fitted<ObservationRecord, ReflectionRecord> {
  const tokensOf = ({ tokens }: ObservationRecord | ReflectionRecord) => tokens;
  return withinRoom(
    { observations, reflections, tokensOf, supportsOf: ({ supports }) => supports },
    maxTokens,
    pinned,
  );
}

const NONE: ReadonlySet<string> = new Set();

interface Lines<O, R> {
  observations: O[];
  reflections: R[];
  tokensOf: (record: O | R) => number;
  supportsOf: (reflection: R) => readonly string[];
}

const RANKS: Readonly<Record<Relevance, number>> = { low: 0, medium: 2, high: 4, critical: 7 };
const REFLECTION_RANK = 6;
const PINNED_RANK = 9;

/** What a summary has beside its lines: its preamble, its headings and what it says of what is not in it. */
const HEAD_TOKENS = 240;
/** An id, a time and a relevance beside the content */
const LINE_TOKENS = 24;
/** As Pi estimates text */
export const CHARACTERS_PER_TOKEN = 4;

/** Whole ranks leave, from the lowest, and of the last of them the oldest: in one walk, for there may be tens of thousands. */
function withinRoom<O extends { id: string; relevance: Relevance }, R>(
  { observations, reflections, tokensOf, supportsOf }: Lines<O, R>,
  maxTokens: number,
  pinned: ReadonlySet<string>,
): Fitted<O, R> {
  const covered = new Set(reflections.flatMap(supportsOf));
  const isPinned = pinned.size > 0 ? (id: string) => pinned.has(id) : () => false;
  const ranks = observations.map(({ id, relevance }) =>
    isPinned(id) ? PINNED_RANK : RANKS[relevance] + (covered.has(id) ? 0 : 1),
  );
  const rankAt = (at: number) => ranks[at] ?? PINNED_RANK;
  const sums = new Array<number>(PINNED_RANK + 1).fill(0);
  let excess = HEAD_TOKENS - maxTokens;
  const add = (rank: number, record: O | R) => {
    const tokens = LINE_TOKENS + tokensOf(record);
    sums[rank] = (sums[rank] ?? 0) + tokens;
    excess += tokens;
  };
  observations.forEach((record, at) => {
    add(rankAt(at), record);
  });
  for (const record of reflections) add(REFLECTION_RANK, record);
  if (excess <= 0) return { observations, reflections, leftOut: 0 };
  let last = 0;
  for (; last < PINNED_RANK && excess >= (sums[last] ?? 0); last++) excess -= sums[last] ?? 0;
  const stays = (rank: number, record: O | R) => {
    if (rank !== last || excess <= 0) return rank >= last;
    excess -= LINE_TOKENS + tokensOf(record);
    return false;
  };
  const kept = {
    observations: observations.filter((record, at) => stays(rankAt(at), record)),
    reflections: reflections.filter((record) => stays(REFLECTION_RANK, record)),
  };
  const all = observations.length + reflections.length;
  return { ...kept, leftOut: all - kept.observations.length - kept.reflections.length };
}
