import type { EngineEvent } from "../../machines/events.ts";
import { parseRecordingLine } from "../../machines/recording-line.ts";
import type { EventStore } from "./chronicle.ts";
import { createColumn, lastAtMost } from "./columns.ts";
import type { RecordingFile } from "./recording-file.ts";
import type { PlacedLine } from "./recording-lines.ts";

/** Leaves the events on disk and knows where they are. */
export interface RecordingStore extends EventStore {
  add(part: number, line: PlacedLine): void;
}

export function createRecordingStore(file: RecordingFile): RecordingStore {
  const offsets = createColumn("float64");
  const lengths = createColumn("uint32");
  /** The index of each file's first event */
  const firsts: number[] = [];

  function textsOfPart(part: number, from: number, to: number): string[] {
    const start = offsets.at(from);
    const block = file.read(part, start, offsets.at(to - 1) + lengths.at(to - 1) - start);
    const texts: string[] = [];
    for (let index = from; index < to; index++) {
      const at = offsets.at(index) - start;
      texts.push(block.toString("utf8", at, at + lengths.at(index)));
    }
    return texts;
  }

  function texts(from: number, to: number): string[] {
    const found: string[][] = [];
    for (let at = from; at < to; ) {
      const part = lastAtMost(firsts.length, (n) => firsts[n] ?? 0, at);
      const end = Math.min(to, firsts[part + 1] ?? to);
      found.push(textsOfPart(part, at, end));
      at = end;
    }
    return found.length === 1 ? (found[0] ?? []) : found.flat();
  }

  return {
    add(part, { offset, bytes }) {
      // A file without an event has none to begin with.
      while (firsts.length <= part) firsts.push(offsets.length);
      offsets.push(offset);
      lengths.push(bytes);
    },
    texts,
    read: (from, to) => texts(from, to).map((text) => parseRecordingLine(text) as EngineEvent),
  };
}
