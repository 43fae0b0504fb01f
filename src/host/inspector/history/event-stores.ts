import { parseRecordingLine } from "../../../machines/recording/recording-line.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import type { EventStore } from "./event-history.ts";

/** An event store that is filled while people look. */
export interface GrowingStore extends EventStore {
  add(event: EngineEvent): void;
}

/** Keeps the very events: for those that somebody else holds anyway. */
export function storeOfEvents(): GrowingStore {
  const events: EngineEvent[] = [];
  return {
    add: (event) => void events.push(event),
    read: (from, to) => events.slice(from, to),
    matching: (from, to, text) => matchingTexts(from, to, text, (index) => JSON.stringify(events[index])),
  };
}

/** Keeps their JSON, which takes a fraction of the room. */
export function storeOfTexts(): GrowingStore {
  const texts: string[] = [];
  return {
    add: (event) => void texts.push(JSON.stringify(event)),
    read: (from, to) => texts.slice(from, to).map((text) => parseRecordingLine(text) as EngineEvent),
    matching: (from, to, text) => matchingTexts(from, to, text, (index) => texts[index] ?? ""),
  };
}

function matchingTexts(
  from: number,
  to: number,
  text: string,
  textAt: (index: number) => string,
): Set<number> {
  const found = new Set<number>();
  for (let index = from; index < to; index++)
    if (textAt(index).toLowerCase().includes(text)) found.add(index);
  return found;
}
