import { createInspectorFeed } from "../../effects/inspector-feed.ts";
import type { Engine, Step } from "../../machines/engine.ts";
import { createEngine } from "../../machines/engine.ts";
import type { EngineEvent } from "../../machines/events.ts";
import { createSessionReplay } from "../../machines/simulated-session.ts";
import type { EntryLookup } from "../../reducers/entry.ts";
import { readSessionFile } from "../../reducers/session-file.ts";
import { createChronicle, type EventStore } from "./chronicle.ts";
import { growthOf } from "./data-answers.ts";
import { createEventList } from "./event-list.ts";
import { createGrowth } from "./growth.ts";
import type { InspectSource, MessageWriter } from "./inspect-source.ts";

/** A plain Pi session file: its events are derived from its entries, and its memory can be read. */
export function openSessionSource(name: string, text: string): InspectSource {
  const { header, entries, problems } = readSessionFile(text);
  const replay = createSessionReplay(entries, { sessionId: header.id });
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const { source, take } = sourceInMemory("session", name, (id) => byId.get(id));
  const events: EngineEvent[] = [];
  for (const step of replay.steps()) {
    take(step, step.number);
    events.push(step.event);
  }
  return {
    ...source,
    notes: [
      "The events are derived from the session's entries, with the default settings.",
      ...(replay.hasLedger
        ? []
        : ["The session holds no ledger: what the workers would have recorded is modelled."]),
      ...problems.slice(0, 3).map(({ line }) => `Line ${line} is left out: it is not JSON.`),
    ],
    streamMessages: (writer) => streamEvents(events, writer),
  };
}

/** A running Pi: what has happened since its session was opened, and from now on what happens. */
export function openLiveSource(
  name: string,
  engine: Engine,
  history: readonly Step[],
  lookup: EntryLookup,
): InspectSource {
  const { source, take } = sourceInMemory("live", name, lookup);
  for (const step of history) take(step);
  const live = { ...source, complete: false };
  const growth = createGrowth(() => growthOf(live));
  const steps = engine.steps$.subscribe({
    next(step) {
      take(step);
      growth.tell();
    },
    error: () => {},
  });
  return {
    ...live,
    streamMessages: (writer) => watchEngine(engine, writer),
    onGrowth: growth.listen,
    close() {
      growth.close();
      steps.unsubscribe();
    },
  };
}

function sourceInMemory(kind: InspectSource["kind"], name: string, lookup: EntryLookup) {
  const events: EngineEvent[] = [];
  const store: EventStore = {
    read: (from, to) => events.slice(from, to),
    texts: (from, to) => events.slice(from, to).map((event) => JSON.stringify(event)),
  };
  const chronicle = createChronicle(store);
  const source: InspectSource = {
    kind,
    name,
    chronicle,
    store,
    list: createEventList(chronicle, store),
    lookup,
    notes: [],
    complete: true,
    ready: Promise.resolve(),
    streamMessages: () => () => {},
    onGrowth: () => () => {},
    close() {},
  };
  return {
    source,
    take(step: Step, number?: number): void {
      events.push(step.event);
      chronicle.take(step, number);
    },
  };
}

/** Tells a receiver of the actors of a running engine, then of all that they get and do. */
function watchEngine(engine: Engine, writer: MessageWriter): () => void {
  const feed = createInspectorFeed();
  const stop = engine.watch((message, cause) => {
    const told = feed.observe(message, cause);
    // A receiver that does not keep up loses messages rather than make Pi pay for them.
    if (told && !writer.isFull()) writer.send(told);
  });
  for (const told of feed.latest()) writer.send(told);
  return stop;
}

function streamEvents(events: readonly EngineEvent[], writer: MessageWriter): () => void {
  const engine = createEngine();
  const stop = watchEngine(engine, writer);
  let next = 0;
  const pump = () => {
    while (next < events.length && !writer.isFull()) {
      const event = events[next++];
      if (event) engine.dispatch(event);
    }
    if (next < events.length) timer = setTimeout(pump, PUMP_EVERY_MS);
  };
  let timer = setTimeout(pump, 0);
  return () => {
    clearTimeout(timer);
    stop();
    engine.stop();
  };
}

const PUMP_EVERY_MS = 20;
