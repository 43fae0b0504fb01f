import type { Progress } from "./viewer-data.ts";

/** A page redraws at most this often; less often while a long file is read, since that would take longer for it. */
const TELL_EVERY_MS = 100;
const TELL_READING_EVERY_MS = 500;

/** Tells everybody who listens that there are more events, in steps that a page can follow. */
export interface GrowthTeller {
  /** There is more: listeners hear of it soon. */
  tell(): void;
  /** Calls back now and on every progress. Gives what ends it. */
  listen(listener: (progress: Progress) => void): () => void;
  close(): void;
}

export function createProgress(current: () => Progress): GrowthTeller {
  const listeners = new Set<(progress: Progress) => void>();
  let telling: NodeJS.Timeout | undefined;

  return {
    tell() {
      if (listeners.size === 0) return;
      telling ??= setTimeout(
        () => {
          telling = undefined;
          const progress = current();
          for (const listener of listeners) listener(progress);
        },
        current().reading ? TELL_READING_EVERY_MS : TELL_EVERY_MS,
      );
    },
    listen(listener) {
      listeners.add(listener);
      listener(current());
      return () => listeners.delete(listener);
    },
    close() {
      clearTimeout(telling);
      listeners.clear();
    },
  };
}
