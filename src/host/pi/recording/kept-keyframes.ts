import type { Engine } from "../../../machines/engine.ts";
import type { Keyframe } from "../../../machines/keyframe.ts";

/** By session id, for as long as this process lives: Node keeps this module when Pi reloads its extensions. */
const kept = new Map<string, Keyframe>();

/**
 * Keeps where the lanes of a closed session are, so that `/reload` or coming back to the session does not make them
 * forget what an empty result or a failure has told them.
 */
export function keepKeyframe(engine: Engine): void {
  // Whatever the agent was at has ended with the session.
  kept.set(engine.state.sessionId, { ...engine.keyframe(), agentIdle: true });
}

/** Where the lanes were when this process last closed the session; undefined when it has not. Gives it once. */
export function takeKeyframe(sessionId: string): Keyframe | undefined {
  const keyframe = kept.get(sessionId);
  kept.delete(sessionId);
  return keyframe;
}
