import type { SessionBeforeCompactEvent } from "@earendil-works/pi-coding-agent";
import { positionOf, tokensAfter } from "../../reducers/branch.ts";
import type { EngineState } from "../../reducers/engine/engine-state.ts";
import type { CompactionPlan, FoldRequest } from "../../reducers/ledger/compaction-plan.ts";
import { CHARACTERS_PER_TOKEN, foldRoom } from "../../reducers/ledger/fold-room.ts";
import { clocksOfSession } from "../../reducers/session.ts";

/** What Pi asks of a fold: where to cut, how much room there is beside system prompt and tools, and the user's own words. */
export function foldRequest(
  { preparation, customInstructions }: Pick<SessionBeforeCompactEvent, "preparation" | "customInstructions">,
  { session, settings, contextWindow }: EngineState,
): FoldRequest {
  const { firstKeptEntryId, tokensBefore, previousSummary = "", settings: pi } = preparation;
  const shown = clocksOfSession(session).compact + previousSummary.length / CHARACTERS_PER_TOKEN;
  const overhead = Math.max(0, (tokensBefore ?? 0) - shown);
  const room = foldRoom(settings, { contextWindow, reserveTokens: pi?.reserveTokens, overhead });
  return { firstKeptEntryId, room, instructions: customInstructions };
}

/** What a fold makes of the context, in tokens: as Pi has counted it, and about what it will be. */
export function foldedTokens(
  { preparation }: Pick<SessionBeforeCompactEvent, "preparation">,
  { session }: EngineState,
  { firstKeptEntryId, summary }: CompactionPlan,
): { before: number; after: number } {
  const { tokensBefore = 0, previousSummary = "" } = preparation;
  const left = clocksOfSession(session).compact + previousSummary.length / CHARACTERS_PER_TOKEN;
  const kept = tokensAfter(session.branch, positionOf(session.branch, firstKeptEntryId) - 1);
  const after = Math.max(0, tokensBefore - left) + kept + summary.length / CHARACTERS_PER_TOKEN;
  return { before: tokensBefore, after };
}
