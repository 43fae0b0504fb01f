import type { World } from "./world.ts";

/**
 * Asks Pi to compact. Pi answers through its compaction hooks; a refusal that comes before any hook ("Nothing to
 * compact", "Already compacted") comes through `onError` alone on some versions and through both on others. The
 * lane takes the first word and is deaf to the second.
 */
export function requestCompaction(world: World): void {
  try {
    world.compact({ onError: (error) => reportFailure(world, error) });
  } catch (error) {
    reportFailure(world, error);
  }
}

function reportFailure(world: World, error: unknown): void {
  if (!world.isOpen()) return;
  const message = error instanceof Error ? error.message : String(error);
  world.report({ type: "compaction.failed", failure: { kind: "refused", message } });
}
