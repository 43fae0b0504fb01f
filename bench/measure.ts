/** The median time of `run`, in milliseconds, over enough repetitions to trust it. */
export function medianMs(run: () => void, { minRuns = 5, minMs = 300, maxRuns = 20_000 } = {}): number {
  const times: number[] = [];
  const begin = performance.now();
  while (times.length < minRuns || (performance.now() - begin < minMs && times.length < maxRuns)) {
    const start = performance.now();
    run();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? 0;
}

/** Bytes of heap that `make` leaves behind. Needs `--expose-gc`. */
export function heapOf<T>(make: () => T): { bytes: number; made: T } {
  const collect = (globalThis as { gc?: () => void }).gc;
  if (!collect) throw new Error("run with node --expose-gc");
  collect();
  const before = process.memoryUsage().heapUsed;
  const made = make();
  collect();
  return { bytes: process.memoryUsage().heapUsed - before, made };
}
