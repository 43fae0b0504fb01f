import { setImmediate as nextTick } from "node:timers/promises";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { lastAtMostOf } from "./columns.ts";
import type { EventHistory, EventStore } from "./event-history.ts";
import { decisionWords, EVENT_TYPES, eventWords } from "./event-words.ts";
import type { EventPage, EventPosition, EventRow } from "./viewer-data.ts";

export interface EventFilter {
  /** Types to show; all when empty */
  types: readonly string[];
  /** Only events that moved one of these lanes, when there are any */
  lanes: readonly LaneName[];
  /** Words that the event or what it did must contain, whatever their case */
  text: string;
}

export interface EventList {
  /** Rows of the matches from a position on, as far as a short search finds them; each call searches further. */
  page(filter: EventFilter, from: number, count: number): Promise<EventPage>;
  /** Position of the last match at or before an event, or of the first match; null when nothing matches. */
  positionOf(filter: EventFilter, index: number): Promise<EventPosition>;
  /** The next (or previous) event that moved a lane; null when there is none. */
  jump(lane: LaneName | null, index: number, direction: 1 | -1): number | null;
  row(index: number): EventRow;
}

const MOST_ROWS = 500;
const FILTERS_KEPT = 8;
const SCAN_BLOCK = 4096;
/** How long one answer is searched for: whoever asked may want something else by then. */
const SEARCH_MS = 150;

/** By type: what these say in words, they say in their JSON. */
const FREQUENT = EVENT_TYPES.map((type) =>
  ["branch.extended", "agent.started", "turn.ended", "agent.settled"].includes(type),
);

/** Finds and pages events. Matches are looked up once for a filter and looked up further when the source grows. */
export function createEventList(eventHistory: EventHistory, store: EventStore): EventList {
  const known = new Map<string, Matches>();

  function rowOf(index: number, event: EngineEvent): EventRow {
    const decided = eventHistory.decisions.get(index);
    return {
      index,
      number: eventHistory.numbers.at(index),
      at: eventHistory.at.at(index),
      type: event.type,
      modelled: eventHistory.modelled.has(index),
      words: eventWords(event),
      decision: decided ? decisionWords(decided) : "",
      lanes: decided ? decided.transitions.map(({ lane }) => lane) : [],
    };
  }

  function row(index: number): EventRow {
    const [event] = store.read(index, index + 1);
    if (!event) throw new Error(`there is no event at ${index}`);
    return rowOf(index, event);
  }

  /** Whether an event, or what it did, says this in words. Most words are in its JSON too, which is looked at before. */
  function saysInWords(index: number, text: string): boolean {
    const decided = eventHistory.decided.at(index) === 1 ? eventHistory.decisions.get(index) : undefined;
    if (decided && decisionWords(decided).toLowerCase().includes(text)) return true;
    if (FREQUENT[eventHistory.types.at(index)]) return false;
    const [event] = store.read(index, index + 1);
    return event !== undefined && eventWords(event).toLowerCase().includes(text);
  }

  function matchesOf(filter: EventFilter): Matches {
    const key = JSON.stringify(filter);
    const matches = known.get(key) ?? { indexes: [], scanned: 0 };
    // The one asked for last is the last to be forgotten.
    known.delete(key);
    known.set(key, matches);
    for (const old of known.keys()) if (known.size > FILTERS_KEPT) known.delete(old);
    return matches;
  }

  /** Searches on for a while. */
  async function search(filter: EventFilter): Promise<Matches> {
    const matches = matchesOf(filter);
    const started = performance.now();
    while (matches.scanned < eventHistory.length && performance.now() - started < SEARCH_MS) {
      scanBlock(filter, matches);
      // A long search must not hold up the session that is being looked at.
      await nextTick();
    }
    return matches;
  }

  function scanBlock(filter: EventFilter, matches: Matches): void {
    const types = new Set(filter.types.map((type) => EVENT_TYPES.indexOf(type as EngineEvent["type"])));
    const text = filter.text.trim().toLowerCase();
    const passes = (index: number) =>
      (types.size === 0 || types.has(eventHistory.types.at(index))) &&
      (filter.lanes.length === 0 || movesOneOf(eventHistory, index, filter.lanes));
    const from = matches.scanned;
    const to = Math.min(eventHistory.length, from + SCAN_BLOCK);
    const inJson = text === "" ? undefined : store.matching(from, to, text);
    for (let index = from; index < to; index++) {
      if (passes(index) && (!inJson || inJson.has(index) || saysInWords(index, text)))
        matches.indexes.push(index);
    }
    matches.scanned = to;
  }

  const isAll = ({ types, lanes, text }: EventFilter) =>
    types.length === 0 && lanes.length === 0 && text.trim() === "";

  return {
    row,
    async page(filter, from, count) {
      const rows = Math.min(count, MOST_ROWS);
      if (isAll(filter)) {
        const start = Math.max(0, from);
        const end = Math.min(eventHistory.length, start + rows);
        const events = end > start ? store.read(start, end) : [];
        return {
          matches: eventHistory.length,
          searched: eventHistory.length,
          from: start,
          rows: events.map((event, offset) => rowOf(start + offset, event)),
        };
      }
      const { indexes, scanned } = await search(filter);
      return {
        matches: indexes.length,
        searched: scanned,
        from,
        rows: indexes.slice(from, from + rows).map(row),
      };
    },
    async positionOf(filter, index) {
      if (isAll(filter)) return { position: eventHistory.length === 0 ? null : index, pending: false };
      const { indexes, scanned } = await search(filter);
      const position = Math.max(0, lastAtMostOf(indexes, index));
      return { position: indexes.length === 0 ? null : position, pending: scanned <= index };
    },
    jump(lane, index, direction) {
      const found = (lane ? [lane] : LANES)
        .map((each) => neighbour(eventHistory.states[each].indexes, index, direction))
        .filter((each) => each !== null);
      if (found.length === 0) return null;
      return direction > 0 ? Math.min(...found) : Math.max(...found);
    },
  };
}

interface Matches {
  indexes: number[];
  /** How many events have been looked at */
  scanned: number;
}

function movesOneOf({ decisions }: EventHistory, index: number, lanes: readonly LaneName[]): boolean {
  const decided = decisions.get(index);
  return decided?.transitions.some(({ lane }) => lanes.includes(lane)) ?? false;
}

function neighbour(indexes: readonly number[], index: number, direction: 1 | -1): number | null {
  const position = lastAtMostOf(indexes, direction > 0 ? index : index - 1);
  const found = direction > 0 ? indexes[position + 1] : indexes[position];
  return found ?? null;
}
