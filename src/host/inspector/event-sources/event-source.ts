import { audit, map, type Observable, Subject, startWith, timer } from "rxjs";
import {
  createInspectorFeed,
  type InspectorFeed,
  type InspectorMessage,
} from "../../../effects/inspector-feed.ts";
import { createEngine, type Engine, type Step } from "../../../machines/engine.ts";
import type { Keyframe } from "../../../machines/keyframe.ts";
import type { RecordingLine } from "../../../machines/recording/recording.ts";
import type { ReplayStep } from "../../../machines/recording/replay-step.ts";
import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import { createEventHistory, type EventHistory } from "../history/event-history.ts";
import { createEventSearch, type EventSearch } from "../history/event-search.ts";
import type { Overview, Progress } from "../history/viewer-data.ts";

/** Where protocol messages go. */
export interface MessageWriter {
  send(message: InspectorMessage): void;
  /** Whether to wait before sending more. */
  isFull(): boolean;
}

/** What a recording of a source would be. */
export interface SavedRecording {
  /** The name of its file */
  as: string;
  /** The lines that it begins with */
  start: readonly RecordingLine[];
  /** The first event that it holds after those, by index */
  from: number;
}

/** What is looked at: a recording, a session file, or a running Pi. */
export interface EventSource {
  readonly kind: Overview["source"]["kind"];
  readonly name: string;
  /** What opens it again, for a shell; null for what cannot be opened twice */
  readonly command: string | null;
  readonly history: EventHistory;
  readonly search: EventSearch;
  /** Where an engine was started anew, by the index of its first event, and from which keyframe if from any */
  readonly openings: Map<number, Keyframe | undefined>;
  /** Finds the texts of the memory; undefined for a recording whose session is not at hand. */
  readonly lookup: EntryLookup | undefined;
  /** The run under the settings as they were, where this is one under others */
  readonly real: EventHistory | undefined;
  /** How to save it as a recording; undefined for what is in a file already. */
  readonly saved: SavedRecording | undefined;
  /** What to know of it, in words */
  notes: readonly string[];
  /** False while more events may come: Pi runs, or a recording may be written to. */
  complete: boolean;
  /** What there is already is still being read. */
  reading: boolean;
  /** Resolves when all that is there by now has been read. */
  ready: Promise<void>;
  /** Tells whenever something of it has changed. */
  readonly changes$: Subject<void>;
  take(step: Step | ReplayStep): void;
  /** Sends the protocol's messages: who is there first, then what happens. Gives what ends it. */
  streamMessages(writer: MessageWriter): () => void;
  close(): void | Promise<void>;
}

/** A source that is empty, and complete as soon as it has been filled; what grows says so. */
export function createEventSource(
  kind: EventSource["kind"],
  name: string,
  {
    command = null,
    lookup,
    real,
    saved,
  }: Partial<Pick<EventSource, "command" | "lookup" | "real" | "saved">> = {},
): EventSource {
  const history = createEventHistory();
  const source: EventSource = {
    kind,
    name,
    command,
    history,
    search: createEventSearch(history, lookup),
    openings: new Map(),
    lookup,
    real,
    saved,
    notes: [],
    complete: true,
    reading: false,
    ready: Promise.resolve(),
    changes$: new Subject(),
    take(step) {
      history.take(step);
      source.changes$.next();
    },
    streamMessages: (writer) => replayMessages(source, writer),
    close() {},
  };
  return source;
}

export function progressOf({ history, complete, reading, notes }: EventSource): Progress {
  const { steps, taken } = history;
  return { complete, reading, notes: [...notes], count: steps.length, lastAt: steps.at(-1)?.at ?? 0, taken };
}

/** A page redraws at most this often; less often while a long file is read, since that would take longer for it. */
const TELL_EVERY_MS = 100;
const TELL_READING_EVERY_MS = 500;

/** How far a source is, now and from then on, at a pace that a page can follow. */
export function progress$(source: EventSource): Observable<Progress> {
  return source.changes$.pipe(
    audit(() => timer(source.reading ? TELL_READING_EVERY_MS : TELL_EVERY_MS)),
    startWith(undefined),
    map(() => progressOf(source)),
  );
}

/** Tells of the actors of an engine, then of all that they get and do. Gives what ends it. */
export function watchEngine(
  engine: Engine,
  feed: InspectorFeed,
  send: (message: InspectorMessage) => void,
): () => void {
  const stop = engine.watch((message, cause) => {
    const told = feed.observe(message, cause);
    if (told) send(told);
  });
  for (const told of feed.latest()) send(told);
  return stop;
}

const LOOK_EVERY_MS = 20;

/** Runs the events once more, this time with somebody watching, as fast as the receiver takes what there is to tell. */
function replayMessages({ history, openings }: EventSource, writer: MessageWriter): () => void {
  const feed = createInspectorFeed();
  let engine: Engine | undefined;
  let next = 0;
  const open = (keyframe: Keyframe | undefined) => {
    engine?.stop();
    const opened = createEngine(keyframe ? { keyframe } : {});
    watchEngine(opened, feed, writer.send);
    return opened;
  };
  const goOn = () => {
    for (let step = history.steps[next]; step && !writer.isFull(); step = history.steps[++next]) {
      if (!engine || openings.has(next)) engine = open(openings.get(next));
      engine.step(step.event);
    }
    waiting = setTimeout(goOn, LOOK_EVERY_MS);
  };
  let waiting = setTimeout(goOn, 0);
  return () => {
    clearTimeout(waiting);
    engine?.stop();
  };
}
