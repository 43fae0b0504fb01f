import type { InspectorMessage } from "../../../effects/inspector-feed.ts";
import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import type { EventHistory, EventStore } from "../history/event-history.ts";
import type { EventList } from "../history/event-list.ts";
import type { Overview, Progress } from "../history/viewer-data.ts";

/** Where protocol messages go. */
export interface MessageWriter {
  send(message: InspectorMessage): void;
  /** Whether to wait before sending more. */
  isFull(): boolean;
}

/** What is looked at: a recording, a session file, or a running Pi. */
export interface InspectSource {
  readonly kind: Overview["source"]["kind"];
  readonly name: string;
  readonly eventHistory: EventHistory;
  readonly store: EventStore;
  readonly list: EventList;
  /** Finds the texts of the memory; undefined for a recording, which has none. */
  readonly lookup: EntryLookup | undefined;
  readonly notes: readonly string[];
  /** False while more events may come: Pi runs, or a recording may be written to. */
  readonly complete: boolean;
  /** What there is already is still being read. */
  readonly reading: boolean;
  /** Resolves when all that is in the file by now has been read. */
  ready: Promise<void>;
  /** Sends the protocol's messages: who is there first, then what happens. Gives what ends it. */
  streamMessages(writer: MessageWriter): () => void;
  /** Calls back when there are more events. Gives what ends it. */
  onProgress(listener: (progress: Progress) => void): () => void;
  close(): void | Promise<void>;
}
