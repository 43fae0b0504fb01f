const FIRST_DELAY_MS = 30_000;
const LONGEST_DELAY_MS = 600_000;

/** Milliseconds a worker lane backs off after `failures` failures in a row: 30 s, doubling to 10 min. */
export function backoffDelay(failures: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.max(0, failures - 1));
}

/**
 * Milliseconds a model is left alone after `failures` runs in a row in which it failed: 1 min, doubling to 20 min. It is longer
 * than the lane's, so that after a run that its model let hang until the deadline the lane's next one asks another.
 */
export function modelRest(failures: number): number {
  return 2 * backoffDelay(failures);
}

const REPEATED_SHARE = 1 / 16;

/**
 * New source tokens for which the compaction lane waits after `failures` failures in a row: any after the
 * first, then a sixteenth of the threshold, doubling up to the whole, so that a compaction which Pi keeps
 * refusing does not come back after every turn.
 */
export function backoffTokens(failures: number, threshold: number): number {
  if (failures <= 1) return 1;
  return Math.max(1, Math.min(threshold, Math.ceil(threshold * REPEATED_SHARE * 2 ** (failures - 2))));
}
