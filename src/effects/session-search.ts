import { setImmediate } from "node:timers/promises";
import type { EntryLookup } from "../reducers/entries/entry.ts";
import {
  createSearchIndex,
  type SearchOptions,
  type SearchResult,
} from "../reducers/recall/search/search-index.ts";
import type { SessionState } from "../reducers/session.ts";

/** UTF-16 units that are indexed before whatever else waits has its turn: a few milliseconds of work */
const SLICE = 20_000;

export type SessionSearch = ReturnType<typeof createSessionSearch>;

/** Searches a session. The first search indexes it, a later one what is new; in slices, so that an agent goes on meanwhile. */
export function createSessionSearch(lookup: EntryLookup) {
  const index = createSearchIndex();
  let turn: Promise<unknown> = Promise.resolve();

  async function take(session: SessionState): Promise<void> {
    let size = 0;
    for (const added of index.catchUp(session, lookup)) {
      // Small entries cost, too.
      size += added + 100;
      if (size < SLICE) continue;
      size = 0;
      await setImmediate();
    }
  }

  return {
    /** What of this branch matches. Searches take turns, so that each entry is indexed once. */
    async search(session: SessionState, query: string, options: SearchOptions = {}): Promise<SearchResult> {
      const ready = turn.then(() => take(session));
      turn = ready.catch(() => {});
      await ready;
      return index.search(session, lookup, query, options);
    },
  };
}
