import { map, type Observable } from "rxjs";
import { estimateTextTokens } from "../../reducers/entries/tokens.ts";
import type { Observation, Reflection } from "../../reducers/ledger/records.ts";
import { runWorker } from "./model/conversation.ts";
import { roomFor } from "./model/prompt-room.ts";
import type { ModelAccess, WorkerLimits } from "./model/request.ts";
import { OBSERVER_SYSTEM_PROMPT, observerPrompt } from "./prompts/observer-prompt.ts";
import { STATEMENT_TOKENS } from "./prompts/prior-memory.ts";
import { type Clean, collectObservations } from "./tools/worker-tools.ts";
import { resultOf, type WorkerResult } from "./worker-result.ts";

export interface ObserverInput {
  chunk: string;
  /** Entry id → its time in milliseconds, for every entry of the chunk */
  sources: ReadonlyMap<string, number>;
  isKnown: (observationId: string) => boolean;
  priorObservations: readonly Observation[];
  priorReflections: readonly Reflection[];
  /** How much of the room for prior memory it may fill, from 0 to 1 */
  priorShare: number;
  now: number;
  clean?: Clean;
}

/** Prior memory may fill at most this share of what the chunk leaves free in the prompt. */
const PRIOR_SHARE = 0.5;
const LARGEST_PRIOR = 20_000;
/** A chunk may fill at most this share of the prompt, so that there is room for prior memory. */
const CHUNK_SHARE = 0.75;
/** What the prompt has beside chunk and prior memory: headings, and the statements that lines were left out. */
const FRAME_TOKENS =
  estimateTextTokens(
    observerPrompt({ chunk: "", priorObservations: [], priorReflections: [], priorBudget: 0, now: 0 }),
  ) +
  2 * STATEMENT_TOKENS;

/**
 * Tokens that a chunk may have at most, however many the settings allow, so that the request fits the window.
 * Throws a `WindowTooSmallError` where it has no room for a worker.
 */
export function largestChunk(access: ModelAccess, limits: WorkerLimits): number {
  const { tool } = collectObservations(new Map(), () => false);
  const { userPrompt } = roomFor(access, { systemPrompt: OBSERVER_SYSTEM_PROMPT, tool }, limits);
  return Math.max(1, Math.floor((userPrompt - FRAME_TOKENS) * CHUNK_SHARE));
}

/** Reads one chunk of the session and records observations about it. */
export function runObserver(
  input: ObserverInput,
  access: ModelAccess,
  limits: WorkerLimits,
): Observable<WorkerResult<Observation>> {
  const collector = collectObservations(input.sources, input.isKnown, input.clean);
  const request = { systemPrompt: OBSERVER_SYSTEM_PROMPT, tool: collector.tool };
  const room = roomFor(access, request, limits);
  const free = room.userPrompt - FRAME_TOKENS - estimateTextTokens(input.chunk);
  const priorRoom = Math.max(0, Math.min(LARGEST_PRIOR, free * PRIOR_SHARE));
  const priorBudget = Math.floor(priorRoom * input.priorShare);
  const userPrompt = observerPrompt({ ...input, priorBudget });
  return runWorker({ ...request, userPrompt }, access, room.limits).pipe(
    map((spent) => resultOf(collector, spent)),
  );
}
