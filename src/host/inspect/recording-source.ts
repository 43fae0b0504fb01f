import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";
import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import { createInspectorFeed } from "../../effects/inspector-feed.ts";
import { createEngine, type Engine } from "../../machines/engine.ts";
import type { EngineEvent } from "../../machines/events.ts";
import type { Keyframe, RecordingLine } from "../../machines/recording.ts";
import { parseRecordingLine } from "../../machines/recording-line.ts";
import { createReplay } from "../../machines/replay.ts";
import { createChronicle, type EventStore } from "./chronicle.ts";
import { createColumn } from "./columns.ts";
import { growthOf } from "./data-answers.ts";
import { createEventList } from "./event-list.ts";
import { createGrowth } from "./growth.ts";
import type { InspectSource, MessageWriter } from "./inspect-source.ts";

const BLOCK_BYTES = 1 << 20;
const BAD_LINES_NAMED = 3;

/**
 * Opens a recording of any length: its events stay on disk, and the page gets what it shows. It resolves when the
 * beginning has been read; the rest goes on while people look, and `ready` tells when it is done.
 */
export async function openRecordingSource(file: string): Promise<InspectSource> {
  const descriptor = openSync(file, "r");
  const offsets = createColumn("float64");
  const lengths = createColumn("uint32");
  const store = storeOf(descriptor, offsets, lengths);
  const chronicle = createChronicle(store);
  const notes: string[] = [];
  const growth = createGrowth(() => growthOf(source));
  const ending = new AbortController();
  let complete = false;

  async function read(begun: () => void): Promise<void> {
    const replay = createReplay();
    let bad = 0;
    let number = 0;
    for await (const { text, offset, bytes, last } of linesOf(descriptor, ending.signal, onBlock)) {
      number++;
      if (text.trim() === "") continue;
      let line: RecordingLine;
      try {
        line = parseRecordingLine(text);
      } catch (error) {
        replay.lostLine();
        if (last) notes.push("The last line broke off.");
        else if (++bad <= BAD_LINES_NAMED) notes.push(`Line ${number} is left out: ${messageOf(error)}`);
        continue;
      }
      if (line.type !== "header" && line.type !== "keyframe" && line.type !== "decision") {
        offsets.push(offset);
        lengths.push(bytes);
      }
      const step = replay.take(line);
      if (step) chronicle.take(step);
    }
    if (bad > BAD_LINES_NAMED) notes.push(`${bad} lines in all could not be read.`);
    const { missingEvents, verification } = replay.end();
    if (missingEvents > 0) notes.push(`${missingEvents} events are missing.`);
    if (verification.difference) {
      notes.push(
        `From event ${verification.difference.number} on the lanes decide otherwise than was recorded.`,
      );
    }

    function onBlock(): void {
      growth.tell();
      if (chronicle.length > 0) begun();
    }
  }

  const source: InspectSource = {
    kind: "recording",
    name: basename(file),
    chronicle,
    store,
    list: createEventList(chronicle, store),
    lookup: undefined,
    notes,
    get complete() {
      return complete;
    },
    ready: Promise.resolve(),
    streamMessages(writer) {
      const stop = new AbortController();
      void streamRecording(descriptor, writer, AbortSignal.any([stop.signal, ending.signal]));
      return () => stop.abort();
    },
    onGrowth: growth.listen,
    async close() {
      ending.abort();
      growth.close();
      await source.ready;
      closeSync(descriptor);
    },
  };
  await new Promise<void>((begun) => {
    source.ready = read(begun)
      .catch((error: unknown) => {
        notes.push(`Reading stopped: ${messageOf(error)}`);
      })
      .then(() => {
        complete = true;
        growth.tell();
        begun();
      });
  });
  return source;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Replays the recording once more, this time with somebody watching, as fast as the receiver takes it. */
async function streamRecording(
  descriptor: number,
  writer: MessageWriter,
  signal: AbortSignal,
): Promise<void> {
  const feed = createInspectorFeed();
  let engine: Engine | undefined;
  let keyframe: Keyframe | undefined;
  const open = () => {
    const opened = createEngine(keyframe ? { keyframe } : {});
    keyframe = undefined;
    opened.watch((message, cause) => {
      const told = feed.observe(message, cause);
      if (told && !signal.aborted) writer.send(told);
    });
    for (const told of feed.latest()) writer.send(told);
    return opened;
  };
  for await (const { text } of linesOf(descriptor, signal)) {
    while (writer.isFull() && !signal.aborted) await sleep(20);
    if (signal.aborted) break;
    const line = readable(text);
    if (!line || line.type === "decision") continue;
    if (line.type === "header" || line.type === "keyframe") {
      engine?.stop();
      engine = undefined;
      keyframe = line.type === "keyframe" ? line : undefined;
      continue;
    }
    engine ??= open();
    engine.dispatch(line);
  }
  engine?.stop();
}

function readable(text: string): RecordingLine | undefined {
  try {
    return text.trim() === "" ? undefined : parseRecordingLine(text);
  } catch {
    return undefined;
  }
}

function storeOf(
  descriptor: number,
  offsets: ReturnType<typeof createColumn>,
  lengths: typeof offsets,
): EventStore {
  function texts(from: number, to: number): string[] {
    if (to <= from) return [];
    const start = offsets.at(from);
    const size = offsets.at(to - 1) + lengths.at(to - 1) - start;
    const block = Buffer.allocUnsafe(size);
    readSync(descriptor, block, 0, size, start);
    const lines: string[] = [];
    for (let index = from; index < to; index++) {
      const at = offsets.at(index) - start;
      lines.push(block.toString("utf8", at, at + lengths.at(index)));
    }
    return lines;
  }
  return {
    texts,
    read: (from, to) => texts(from, to).map((text) => parseRecordingLine(text) as EngineEvent),
  };
}

interface FileLine {
  text: string;
  offset: number;
  bytes: number;
  /** It is the file's last and has no end of line. */
  last: boolean;
}

const NEWLINE = 10;

/** The lines of a file with where they are; lets others run between blocks. */
async function* linesOf(
  descriptor: number,
  signal: AbortSignal,
  onBlock: () => void = () => {},
): AsyncGenerator<FileLine> {
  const { size } = fstatSync(descriptor);
  let rest: Buffer = Buffer.alloc(0);
  let restAt = 0;
  for (let position = 0; position < size; ) {
    const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, size - position));
    const read = readSync(descriptor, block, 0, block.length, position);
    if (read === 0) break;
    position += read;
    const bytes =
      rest.length === 0 ? block.subarray(0, read) : Buffer.concat([rest, block.subarray(0, read)]);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      yield {
        text: bytes.toString("utf8", start, end),
        offset: restAt + start,
        bytes: end - start,
        last: false,
      };
      start = end + 1;
    }
    rest = bytes.subarray(start);
    restAt += start;
    onBlock();
    await nextTick();
    if (signal.aborted) return;
  }
  if (rest.length > 0) yield { text: rest.toString("utf8"), offset: restAt, bytes: rest.length, last: true };
}
