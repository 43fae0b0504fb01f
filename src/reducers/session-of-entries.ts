import { describeEntry } from "./entries/describe-entry.ts";
import type { EntryLike, EntryLookup } from "./entries/entry.ts";
import { type SessionState, sessionOf } from "./session.ts";

/** The session of Pi entries of one branch, root first, with the entries by id. */
export function sessionOfEntries(entries: readonly EntryLike[]): {
  session: SessionState;
  lookup: EntryLookup;
} {
  const lookup = lookupOf(entries);
  return { session: sessionOf(entries.map((entry) => describeEntry(entry, lookup))), lookup };
}

/** Finds entries of a list by id; the first of a repeated id stands, as on a branch. */
function lookupOf(entries: readonly EntryLike[]): EntryLookup {
  const byId = new Map<string, EntryLike>();
  for (const entry of entries) if (!byId.has(entry.id)) byId.set(entry.id, entry);
  return (id) => byId.get(id);
}
