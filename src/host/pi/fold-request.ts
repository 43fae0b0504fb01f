import type { SessionBeforeCompactEvent } from "@earendil-works/pi-coding-agent";
import type { EngineState } from "../../reducers/engine/engine-state.ts";
import type { FoldRequest } from "../../reducers/ledger/compaction-plan.ts";
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
