import { parseRecordingLine } from "../../../machines/recording/recording-line.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import type { PlacedLine } from "../../cli/line-splitter.ts";
import type { EventStore } from "./chronicle.ts";
import { createColumn, lastAtMost, lastAtMostOf } from "./columns.ts";
import type { RecordingFile } from "./recording-file.ts";

/** Leaves the events on disk and knows where they are. */
export interface RecordingStore extends EventStore {
  add(part: number, line: PlacedLine): void;
}

export function createRecordingStore(file: RecordingFile): RecordingStore {
  const offsets = createColumn("float64");
  const lengths = createColumn("uint32");
  /** The index of each file's first event */
  const firsts: number[] = [];
  /** What was read last */
  let known: { part: number; start: number; bytes: Buffer } = { part: 0, start: 0, bytes: Buffer.alloc(0) };

  /** What is in one file of these events, with what is between them. */
  function blockOf(part: number, from: number, to: number): Buffer {
    const start = offsets.at(from);
    const end = offsets.at(to - 1) + lengths.at(to - 1);
    const isKnown = part === known.part && start >= known.start && end <= known.start + known.bytes.length;
    // Who searches a stretch then reads single events of it.
    if (!isKnown) known = { part, start, bytes: file.read(part, start, end - start) };
    return known.bytes.subarray(start - known.start, end - known.start);
  }

  /** Calls back for each file that holds some of these events. */
  function eachPart(from: number, to: number, take: (part: number, from: number, to: number) => void): void {
    for (let at = from; at < to; ) {
      const part = lastAtMostOf(firsts, at);
      const end = Math.min(to, firsts[part + 1] ?? to);
      take(part, at, end);
      at = end;
    }
  }

  return {
    add(part, { offset, bytes }) {
      // A file without an event has none to begin with.
      while (firsts.length <= part) firsts.push(offsets.length);
      offsets.push(offset);
      lengths.push(bytes);
    },
    read(from, to) {
      const events: EngineEvent[] = [];
      eachPart(from, to, (part, first, end) => {
        const block = blockOf(part, first, end);
        for (let index = first; index < end; index++) {
          const at = offsets.at(index) - offsets.at(first);
          events.push(parseRecordingLine(block.toString("utf8", at, at + lengths.at(index))) as EngineEvent);
        }
      });
      return events;
    },
    matching(from, to, text) {
      const found = new Set<number>();
      // One character for each byte, so that places are those of the file.
      const wanted = Buffer.from(text).toString("latin1").toLowerCase();
      eachPart(from, to, (part, first, end) => {
        const start = offsets.at(first);
        const block = blockOf(part, first, end).toString("latin1").toLowerCase();
        for (let at = block.indexOf(wanted); at >= 0; ) {
          const index = first + lastAtMost(end - first, (n) => offsets.at(first + n), start + at);
          // What lies between two events is decisions, which are searched by their words.
          if (start + at + wanted.length <= offsets.at(index) + lengths.at(index)) found.add(index);
          at = index + 1 < end ? block.indexOf(wanted, offsets.at(index + 1) - start) : -1;
        }
      });
      return found;
    },
  };
}
