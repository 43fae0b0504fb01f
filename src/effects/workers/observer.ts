import { map, type Observable } from "rxjs";
import { estimateTextTokens } from "../../reducers/entries/tokens.ts";
import type { MemoryStatus } from "../../reducers/ledger/ledger.ts";
import type { Observation, Reflection } from "../../reducers/ledger/records.ts";
import { runWorker } from "./model/conversation.ts";
import { roomFor } from "./model/prompt-room.ts";
import type { ModelAccess, WorkerLimits } from "./model/request.ts";
import { OBSERVER_SYSTEM_PROMPT, observerPrompt } from "./prompts/observer-prompt.ts";
import { STATEMENT_TOKENS } from "./prompts/prior-memory.ts";
import { type Clean, collectObservations } from "./tools/worker-tools.ts";
import { type ReplacingResult, replacingResultOf } from "./worker-result.ts";

export interface ObserverInput {
  chunk: string;
  /** Entry id → its time in milliseconds, for every entry of the chunk */
  sources: ReadonlyMap<string, number>;
  statusOf: (observationId: string) => MemoryStatus;
  priorObservations: readonly Observation[];
  priorReflections: readonly Reflection[];
  /** How much of the room for prior memory it may fill, from 0 to 1 */
  priorShare: number;
  /** Tokens that a chunk may have at most; room for prior memory is what that leaves, so that it stays the same */
  largestChunk: number;
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
    observerPrompt({ chunk: "", priorObservations: [], priorReflections: [], priorBudget: 0 }),
  ) +
  2 * STATEMENT_TOKENS;

/**
 * Tokens that a chunk may have at most, however many the settings allow, so that the request fits the window.
 * Throws a `WindowTooSmallError` where it has no room for a worker.
 */
export function largestChunk(access: ModelAccess, limits: WorkerLimits): number {
  const { tool } = collectObservations(new Map(), { statusOf: () => "unknown", isShown: () => false });
  const { userPrompt } = roomFor(access, { systemPrompt: OBSERVER_SYSTEM_PROMPT, tool }, limits);
  return Math.max(1, Math.floor((userPrompt - FRAME_TOKENS) * CHUNK_SHARE));
}

/** Reads one chunk of the session and records observations about it. */
export function runObserver(
  input: ObserverInput,
  access: ModelAccess,
  limits: WorkerLimits,
): Observable<ReplacingResult<Observation>> {
  const prior = new Set(input.priorObservations.map(({ id }) => id));
  let userPrompt = "";
  const memory = {
    statusOf: input.statusOf,
    isShown: (id: string) => prior.has(id) && userPrompt.includes(`[${id}]`),
  };
  const collector = collectObservations(input.sources, memory, input.clean);
  const request = { systemPrompt: OBSERVER_SYSTEM_PROMPT, tool: collector.tool };
  const room = roomFor(access, request, limits);
  const chunkTokens = Math.max(input.largestChunk, estimateTextTokens(input.chunk));
  const free = room.userPrompt - FRAME_TOKENS - chunkTokens;
  const priorRoom = Math.max(0, Math.min(LARGEST_PRIOR, free * PRIOR_SHARE));
  const priorBudget = Math.floor(priorRoom * input.priorShare);
  userPrompt = observerPrompt({ ...input, priorBudget });
  return runWorker({ ...request, userPrompt }, access, room.limits).pipe(
    map((spent) => replacingResultOf(collector, spent)),
  );
}
