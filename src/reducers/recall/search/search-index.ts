import MiniSearch from "minisearch";
import { type Branch, idAt, isSourceAt, NOWHERE, positionOf } from "../../branch.ts";
import { type EntryLike, type EntryLookup, fieldsOf } from "../../entries/entry.ts";
import { renderSource } from "../../entries/sources.ts";
import { memoryStatus } from "../../ledger/ledger.ts";
import { asOneLine } from "../../ledger/memory-id.ts";
import { isObservation, isReflection } from "../../ledger/records.ts";
import { renderObservation, renderReflection } from "../../ledger/summary.ts";
import type { SessionState } from "../../session.ts";
import { bestLineOf } from "../passages.ts";
import { comparable, mayBegin, queryWords, termsOf } from "../query-words.ts";

/**
 * How what was found stands: `holds`; `dropped` from memory; `superseded` by another record; `dangling`, for it covers a range
 * that is not on this branch; `omitted`, since Pi has taken the message out of the conversation.
 */
export type Standing = "holds" | "dropped" | "superseded" | "promoted" | "dangling" | "omitted";

/** A line of memory or a message that a search found. */
export interface SearchHit {
  kind: "observation" | "reflection" | "source";
  /** What `recall` opens: a memory id, or the id of a session entry */
  id: string;
  standing: Standing;
  /** Id of the record that stands in its place */
  replacedBy?: string;
  /** The line of memory as the agent sees it; of a message, who spoke and when, and the line that matches best */
  text: string;
}

export interface SearchResult {
  /** Best first: what holds before what does not, exact words in their order before others */
  hits: SearchHit[];
  /** How many there are, with those that `hits` has no room for */
  found: number;
  /** How many lines of memory and messages were looked through */
  searched: number;
  /** Nothing has the words as they were given: the hits have similar ones. */
  isSimilar: boolean;
}

export interface SearchOptions {
  /** How many hits are given at most */
  limit?: number | undefined;
  /** What searches of other branches have found: it is not found again, and what this one finds is added. */
  seen?: Set<string> | undefined;
}

export const SEARCH_LIMIT = 10;

/** UTF-16 units that are indexed in one go: a few milliseconds of work. A longer message is indexed piece by piece. */
const PIECE = 10_000;
/** As much of a piece stands in the next one, too, so that no word is cut in both */
const OVERLAP = 100;
/** UTF-16 units of a message that are read again for the words just so, and for the line to show: its beginning */
const LONGEST_COMPARED = 50_000;
/** Best hits of which the text is read again, to put those first that have the words just so */
const MOST_COMPARED = 30;
/** How much more a line of memory counts than a message with the same words */
const MEMORY_BOOST = 1.5;
/** Share of a word's letters that may differ where nothing has the word itself */
const FUZZINESS = 0.2;
/** A word that more than this share of everything has is passed over beside rarer ones: it finds all, and tells nothing apart. */
const COMMON_SHARE = 0.05;

/** A word that so many documents have is looked for as it stands; of rarer ones also what begins with them. */
const FREQUENT = 50;

/** Where all words are common, messages are looked for among so many of the latest pieces: more would tell nobody anything. */
const LATEST = 5000;

/** Where a document is written: in an entry, and for a record also which one. */
interface Place {
  readonly kind: SearchHit["kind"];
  readonly id: string;
  readonly entryId: string;
  readonly index: number;
}

export type SearchIndex = ReturnType<typeof createSearchIndex>;

/**
 * An index of a session's text, derived and kept nowhere. It holds whatever has been on a branch of the session; what a search
 * finds is decided by the branch that is searched.
 */
export function createSearchIndex() {
  const places: Place[] = [];
  const indexed = new Set<string>();
  const documents = new Map<string, number>();
  let searched = 0;
  let last: Branch | undefined;
  const index = new MiniSearch<{ id: number; text: string }>({
    fields: ["text"],
    tokenize(text) {
      const terms = termsOf(text);
      for (const term of terms) documents.set(term, (documents.get(term) ?? 0) + 1);
      return terms;
    },
    processTerm: (term) => term,
  });

  function* add(place: Place, text: string): Generator<number> {
    searched++;
    for (let start = 0; start === 0 || start + OVERLAP < text.length; start += PIECE - OVERLAP) {
      index.add({ id: places.push(place) - 1, text: text.slice(start, start + PIECE) });
      yield Math.min(PIECE, text.length - start);
    }
  }

  /**
   * Takes in what of this branch is not indexed yet, piece by piece, and gives after each how many UTF-16 units that were, so that
   * whoever drives it can let others have a turn.
   */
  function* catchUp({ branch }: SessionState, lookup: EntryLookup): Generator<number> {
    const from = last?.log === branch.log ? Math.min(last.length, branch.length) : 0;
    for (let at = from; at < branch.length; at++) {
      const entryId = idAt(branch, at) ?? "";
      const entry = indexed.has(entryId) ? undefined : lookup(entryId);
      if (!entry) continue;
      indexed.add(entryId);
      for (const [place, text] of documentsOf(entry, lookup)) yield* add(place, text);
    }
    last = branch;
  }

  /** Finds what is on this branch; what is not indexed is not found. */
  function search(
    session: SessionState,
    lookup: EntryLookup,
    query: string,
    { limit = SEARCH_LIMIT, seen = new Set() }: SearchOptions = {},
  ): SearchResult {
    const words = queryWords(query);
    const exact = find(telling(words), 0);
    let standing = standings(session, exact);
    const isSimilar = standing.length === 0;
    if (isSimilar) standing = standings(session, find(words, FUZZINESS));
    const phrase = comparable(query.trim());
    const keyOf = ({ place }: { place: Place }) => `${place.kind} ${place.id}`;
    const fresh = standing.filter((one) => !seen.has(keyOf(one)));
    for (const one of fresh) seen.add(keyOf(one));
    const ranked = fresh.map((one, at) => {
      const text = at < MOST_COMPARED ? textOf(one.place, lookup) : undefined;
      return { ...one, hasPhrase: text !== undefined && comparable(text).includes(phrase) };
    });
    ranked.sort(
      (a, b) =>
        Number(!a.holds) - Number(!b.holds) || Number(b.hasPhrase) - Number(a.hasPhrase) || b.score - a.score,
    );
    const hits = ranked
      .slice(0, limit)
      .flatMap(({ place, ...one }) => hitOf(place, one, lookup, query) ?? []);
    return { hits, found: ranked.length, searched, isSimilar: isSimilar && hits.length > 0 };
  }

  /** The words that tell documents apart; where all are common, the rarest of them. */
  function telling(words: readonly string[]): readonly string[] {
    const most = Math.max(100, places.length * COMMON_SHARE);
    const rare = words.filter((word) => (documents.get(word) ?? 0) <= most);
    if (rare.some((word) => documents.has(word))) return rare;
    const [rarest] = words
      .filter((word) => documents.has(word))
      .sort((a, b) => (documents.get(a) ?? 0) - (documents.get(b) ?? 0));
    return words.length > rare.length && rarest !== undefined ? [rarest] : words;
  }

  function find(words: readonly string[], fuzzy: number) {
    const isCommon = words.every((word) => (documents.get(word) ?? 0) > LATEST);
    const earliest = isCommon ? places.length - LATEST : 0;
    return index.search(words.join(" "), {
      tokenize: () => [...words],
      prefix: (word) => mayBegin(word) && (documents.get(word) ?? 0) < FREQUENT,
      fuzzy: (word) => (fuzzy > 0 && word.length > 3 ? fuzzy : false),
      boostDocument: (id) => (places[id]?.kind === "source" ? Number(id >= earliest) : MEMORY_BOOST),
    });
  }

  /** Of the documents found, those that may be found here, each record once. */
  function standings(session: SessionState, found: readonly { id: number; score: number }[]) {
    const once = new Set<string>();
    return found.flatMap(({ id, score }) => {
      const place = places[id];
      const fate = place && mayBeFound(session, place);
      if (!fate || once.has(`${place.kind} ${place.id}`)) return [];
      once.add(`${place.kind} ${place.id}`);
      return [{ place, score, ...fate, holds: fate.standing === "holds" }];
    });
  }

  return {
    catchUp,
    search,
    /** How many entries have been taken in */
    get entries() {
      return indexed.size;
    },
  };
}

/** Whether a search of this branch may find what is written at a place, and how that stands; undefined: it may not. */
function mayBeFound(
  { branch, ledger }: SessionState,
  { kind, id, entryId }: Place,
): Pick<SearchHit, "standing" | "replacedBy"> | undefined {
  const position = positionOf(branch, entryId);
  if (position === NOWHERE) return undefined;
  if (kind === "source") return { standing: isSourceAt(branch, position) ? "holds" : "omitted" };
  if (ledger.hand.forgotten.has(id)) return undefined;
  if (ledger.hand.promoted.has(id)) return { standing: "promoted" };
  const list = kind === "observation" ? "observations" : "reflections";
  const record = ledger[list].get(id);
  if (!record) return { standing: "dangling" };
  if (memoryStatus(ledger, list, id) === "active") return { standing: "holds" };
  const { replacedBy } = record;
  return replacedBy === undefined ? { standing: "dropped" } : { standing: "superseded", replacedBy };
}

function documentsOf(entry: EntryLike, lookup: EntryLookup): [Place, string][] {
  const source = renderSource(entry, lookup);
  if (source !== undefined) return [[{ kind: "source", id: entry.id, entryId: entry.id, index: 0 }, source]];
  const { observations, reflections } = fieldsOf(fieldsOf(entry).data);
  return [
    ...recordsIn(observations, isObservation, (record) => record.content).map(
      ([id, index, text]): [Place, string] => [{ kind: "observation", id, entryId: entry.id, index }, text],
    ),
    ...recordsIn(reflections, isReflection, (record) => record.content).map(
      ([id, index, text]): [Place, string] => [{ kind: "reflection", id, entryId: entry.id, index }, text],
    ),
  ];
}

function recordsIn<T extends { id: string }>(
  list: unknown,
  isRecord: (value: unknown) => value is T,
  textOf: (record: T) => string,
): [id: string, index: number, text: string][] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((record: unknown, index) =>
    isRecord(record) ? [[record.id, index, textOf(record)] as [string, number, string]] : [],
  );
}

/** The text at a place as it is shown whole; undefined when its entry is gone. */
function textOf({ kind, entryId, index }: Place, lookup: EntryLookup): string | undefined {
  const entry = lookup(entryId);
  if (!entry) return undefined;
  if (kind === "source") return renderSource(entry, lookup)?.slice(0, LONGEST_COMPARED);
  const list = fieldsOf(fieldsOf(entry).data)[`${kind}s`];
  const record: unknown = Array.isArray(list) ? list[index] : undefined;
  if (isObservation(record)) return renderObservation(record);
  return isReflection(record) ? renderReflection(record) : undefined;
}

function hitOf(
  place: Place,
  { standing, replacedBy }: Pick<SearchHit, "standing" | "replacedBy">,
  lookup: EntryLookup,
  query: string,
): SearchHit | undefined {
  const whole = textOf(place, lookup);
  if (whole === undefined) return undefined;
  const fate = { standing, ...(replacedBy !== undefined && { replacedBy }) };
  if (place.kind !== "source") return { kind: place.kind, id: place.id, ...fate, text: whole };
  const end = whole.indexOf("\n");
  const text = `${whole.slice(0, end)} ${asOneLine(bestLineOf(whole.slice(end + 1), query))}`;
  return { kind: "source", id: place.id, ...fate, text };
}
