import { AGENT_BUSY, type Failure } from "../reducers/engine/events.ts";
import type { World } from "./live-session.ts";

/**
 * Asks Pi to compact. Pi answers through its compaction hooks; a refusal that comes before any hook ("Nothing to
 * compact", "Already compacted") comes through `onError` alone on some versions and through both on others. The
 * lane takes the first word and is deaf to the second.
 *
 * Pi would first abort whatever it is at, so it is asked only when it is at nothing: hooks reach the engine a little
 * later than Pi calls them, and by then the user may have gone on.
 */
export function requestCompaction(world: World): void {
  try {
    if (world.isIdle()) world.compact({ onError: (error) => reportFailure(world, error) });
    else report(world, { kind: AGENT_BUSY, message: "the agent is at work again" });
  } catch (error) {
    reportFailure(world, error);
  }
}

function reportFailure(world: World, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  report(world, { kind: "refused", message });
}

function report(world: World, failure: Failure): void {
  if (world.isOpen()) world.report({ type: "compaction.failed", failure });
}
