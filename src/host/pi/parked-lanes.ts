import type { Engine } from "../../machines/engine.ts";
import type { Keyframe } from "../../machines/keyframe.ts";

/** By session id, for as long as this process lives: Node keeps this module when Pi reloads its extensions. */
const parked = new Map<string, Keyframe>();

/**
 * Keeps how the lanes of a closed session stand, so that `/reload` or coming back to the session does not make them
 * forget what an empty result or a failure has told them.
 */
export function parkLanes(engine: Engine): void {
  // Whatever the agent was at has ended with the session.
  parked.set(engine.state.sessionId, { ...engine.keyframe(), agentIdle: true });
}

/** How the lanes stood when this process last closed the session; undefined when it has not. Gives it once. */
export function unparkLanes(sessionId: string): Keyframe | undefined {
  const keyframe = parked.get(sessionId);
  parked.delete(sessionId);
  return keyframe;
}
