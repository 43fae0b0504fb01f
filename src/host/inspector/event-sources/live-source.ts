import type { Observable } from "rxjs";
import { createInspectorFeed } from "../../../effects/inspector-feed.ts";
import type { Engine, Step } from "../../../machines/engine.ts";
import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import { createEventSource, type EventSource, type SavedRecording, watchEngine } from "./event-source.ts";

export interface LiveSession {
  name: string;
  engine: Engine;
  steps$: Observable<Step>;
  /** What has happened already */
  past: readonly Step[];
  lookup: EntryLookup;
  saved: SavedRecording;
}

/** A running Pi: what has happened since its session was opened, and from now on what happens. */
export function openLiveSource({ name, engine, steps$, past, lookup, saved }: LiveSession): EventSource {
  const command = `memory-lanes inspect ${saved.as}`;
  const source = createEventSource("live", name, { command, lookup, saved });
  for (const step of past) source.take(step);
  const following = steps$.subscribe({ next: source.take, error: () => {} });
  return Object.assign(source, {
    complete: false,
    // A receiver that does not keep up loses messages rather than make Pi pay for them.
    streamMessages: ({ send, isFull }) =>
      watchEngine(engine, createInspectorFeed(), (message) => isFull() || send(message)),
    close: () => following.unsubscribe(),
  } satisfies Partial<EventSource>);
}
