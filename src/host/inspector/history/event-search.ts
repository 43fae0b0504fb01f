import { setImmediate as nextTick } from "node:timers/promises";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { fieldsOf, textOf } from "../../../reducers/entries/entry.ts";
import { EVENT_LABELS } from "../../../reducers/words.ts";
import { type EventHistory, lastAtMost, type PastStep } from "./event-history.ts";
import { decisionWords, eventWords, plainDecision } from "./event-words.ts";
import type { Texts } from "./memory-lines.ts";
import { factsOf } from "./memory-record.ts";
import type { EventFilter, EventPage, EventPosition, EventRow } from "./viewer-data.ts";

/** Finds and pages events; what a filter has found is kept, and searched further when the source grows. */
export interface EventSearch {
  /** Rows of the matches from a position on, as far as a short search finds them; each call searches further. */
  page(filter: EventFilter, from: number, count: number): Promise<EventPage>;
  /** Position of the last match at or before an event, or of the first match; null when nothing matches. */
  positionOf(filter: EventFilter, index: number): Promise<EventPosition>;
}

interface Matches {
  indexes: number[];
  /** How many events have been looked at */
  searched: number;
}

const MOST_ROWS = 500;
const FILTERS_KEPT = 8;
const BLOCK = 4096;
/** How long one answer is searched for: whoever asked may want something else by then. */
const SEARCH_MS = 150;

export function createEventSearch({ steps }: EventHistory, texts?: Texts): EventSearch {
  const known = new Map<string, Matches>();

  function matchesOf(filter: EventFilter): Matches {
    const key = JSON.stringify(filter);
    const matches = known.get(key) ?? { indexes: [], searched: 0 };
    // The one asked for last is the last to be forgotten.
    known.delete(key);
    known.set(key, matches);
    for (const old of known.keys()) if (known.size > FILTERS_KEPT) known.delete(old);
    return matches;
  }

  /** Searches on for a while. */
  async function search(filter: EventFilter): Promise<Matches> {
    const matches = matchesOf(filter);
    const passes = passing(filter, texts);
    const started = performance.now();
    while (matches.searched < steps.length && performance.now() - started < SEARCH_MS) {
      const block = steps.slice(matches.searched, matches.searched + BLOCK);
      for (const [at, step] of block.entries()) if (passes(step)) matches.indexes.push(matches.searched + at);
      matches.searched += block.length;
      // A long search must not hold up the session that is being looked at.
      await nextTick();
    }
    return matches;
  }

  return {
    async page(filter, from, count) {
      const start = Math.max(0, from);
      const end = start + Math.min(count, MOST_ROWS);
      if (isAll(filter)) {
        const rows = steps.slice(start, end).map((_step, at) => rowAt(steps, start + at));
        return { matches: steps.length, searched: steps.length, from, rows };
      }
      const { indexes, searched } = await search(filter);
      const rows = indexes.slice(start, end).map((index) => rowAt(steps, index));
      return { matches: indexes.length, searched, from, rows };
    },
    async positionOf(filter, index) {
      if (isAll(filter)) return { position: steps.length === 0 ? null : index, pending: false };
      const { indexes, searched } = await search(filter);
      const position = Math.max(
        0,
        lastAtMost(indexes, (match) => match, index),
      );
      return { position: indexes.length === 0 ? null : position, pending: searched <= index };
    },
  };
}

/** What lets everything through need not be searched for. */
function isAll({ types, lanes, text }: EventFilter): boolean {
  return types.length === 0 && lanes.length === 0 && text.trim() === "";
}

function passing({ types, lanes, text }: EventFilter, texts: Texts): (step: PastStep) => boolean {
  const wanted = text.trim().toLowerCase();
  return ({ event, transitions, commands }) =>
    (types.length === 0 || types.includes(event.type)) &&
    (lanes.length === 0 || transitions.some(({ lane }) => lanes.includes(lane))) &&
    (wanted === "" ||
      [
        JSON.stringify(event),
        eventWords(event),
        EVENT_LABELS[event.type],
        decisionWords({ transitions, commands }),
        plainDecision({ transitions, commands }),
        ...memoryTexts(event, texts),
      ].some((said) => said.toLowerCase().includes(wanted)));
}

/** The texts of the memory that an event brings */
function memoryTexts(event: EngineEvent, texts: Texts): string[] {
  if (!texts) return [];
  return factsOf(event).flatMap(({ id, ledger }) => {
    if (ledger?.type !== "observations" && ledger?.type !== "reflections") return [];
    const written = fieldsOf(fieldsOf(texts(id)).data)[ledger.type];
    return Array.isArray(written) ? written.map((record) => textOf(fieldsOf(record).content)) : [];
  });
}

export function rowAt(steps: readonly PastStep[], index: number): EventRow {
  const step = steps[index];
  if (!step) throw new Error(`there is no event at ${index}`);
  const { event, number, at, modelled, transitions } = step;
  return {
    index,
    number,
    at,
    type: event.type,
    modelled,
    words: eventWords(event),
    decision: plainDecision(step),
    lanes: transitions.map(({ lane }) => lane),
  };
}

/** The next (or previous) event that moved a lane, or any lane; null when there is none. */
export function nextMove(
  { moves }: EventHistory,
  lane: LaneName | null,
  index: number,
  direction: 1 | -1,
): number | null {
  const found = (lane ? [lane] : LANES).flatMap((each) => {
    const before = lastAtMost(moves[each], (move) => move.index, direction > 0 ? index : index - 1);
    return moves[each][direction > 0 ? before + 1 : before]?.index ?? [];
  });
  if (found.length === 0) return null;
  return direction > 0 ? Math.min(...found) : Math.max(...found);
}
