import { createEngine, type Step } from "../../../machines/engine.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import { createEventHistory } from "../history/event-history.ts";
import { createEventList } from "../history/event-list.ts";
import type { GrowingStore } from "../history/event-stores.ts";
import { watchEngine } from "./engine-watch.ts";
import type { InspectSource, MessageWriter } from "./inspect-source.ts";

/** A source whose events are held in memory, and what feeds it. */
export function sourceInMemory(
  kind: InspectSource["kind"],
  name: string,
  store: GrowingStore,
  lookup: EntryLookup | undefined,
): { source: InspectSource; take(step: Step | ReplayStep): void } {
  const eventHistory = createEventHistory(store);
  const source: InspectSource = {
    kind,
    name,
    eventHistory,
    store,
    list: createEventList(eventHistory, store),
    lookup,
    notes: [],
    complete: true,
    reading: false,
    ready: Promise.resolve(),
    streamMessages: (writer) => streamEvents(source, writer),
    onProgress: () => () => {},
    close() {},
  };
  return {
    source,
    take(step): void {
      store.add(step.event);
      eventHistory.take(step);
    },
  };
}

const PUMP_EVERY_MS = 20;
const EVENTS_READ = 256;

/** Runs the events once more, this time with somebody watching, as fast as the receiver takes what there is to tell. */
function streamEvents({ eventHistory, store }: InspectSource, writer: MessageWriter): () => void {
  const engine = createEngine();
  const stop = watchEngine(engine, writer);
  let read = 0;
  let waiting: EngineEvent[] = [];
  const pump = () => {
    while (!writer.isFull()) {
      if (waiting.length === 0) {
        waiting = store.read(read, Math.min(eventHistory.length, read + EVENTS_READ)).reverse();
        read += waiting.length;
      }
      const event = waiting.pop();
      if (!event) break;
      engine.step(event);
    }
    timer = setTimeout(pump, PUMP_EVERY_MS);
  };
  let timer = setTimeout(pump, 0);
  return () => {
    clearTimeout(timer);
    stop();
    engine.stop();
  };
}
