import { basename } from "node:path";
import { RecordingLineError } from "../../../machines/recording/recording-line.ts";
import { createReplay } from "../../../machines/recording/replay.ts";
import { messageOf } from "../../../reducers/message-of.ts";
import { createEventHistory } from "../history/event-history.ts";
import { createEventList } from "../history/event-list.ts";
import { storeOfTexts } from "../history/event-stores.ts";
import { createProgress } from "../history/progress.ts";
import { progressOf } from "../server/data-answers.ts";
import type { InspectSource } from "./inspect-source.ts";
import { openRecordingFile } from "./recording-file.ts";
import { linesOf } from "./recording-lines.ts";
import { streamRecording } from "./recording-stream.ts";

const BAD_LINES_NAMED = 3;

/**
 * Opens a recording of any length: the page gets what it shows. It resolves when the
 * beginning has been read; the rest goes on while people look, and `ready` tells when all that is there has been read.
 * What is written to it later is read as it comes.
 */
export async function openRecordingSource(path: string): Promise<InspectSource> {
  const file = openRecordingFile(path);
  const store = storeOfTexts();
  const eventHistory = createEventHistory(store);
  const replay = createReplay();
  const badLines: string[] = [];
  const progress = createProgress(() => progressOf(source));
  const ending = new AbortController();
  let bad = 0;
  let reading = true;
  let stopped: string | undefined;

  async function read(onBegun: () => void, onCaughtUp: () => void): Promise<void> {
    let number = 0;
    let current = 0;
    for await (const { part, lines } of linesOf(file, ending.signal, onCaughtUp)) {
      if (part !== current) number = 0;
      current = part;
      for (const line of lines) take(line, ++number);
      if (lines.length > 0) progress.tell();
      if (eventHistory.length > 0) onBegun();
    }
  }

  function take(line: string, number: number): void {
    if (line.trim() === "") return;
    let step: ReturnType<typeof replay.read>;
    try {
      step = replay.read(line);
    } catch (error) {
      if (!(error instanceof RecordingLineError)) throw error;
      replay.lostLine();
      if (++bad <= BAD_LINES_NAMED) badLines.push(`Line ${number} is left out: ${error.message}`);
      return;
    }
    if (!step) return;
    store.add(step.event);
    eventHistory.take(step);
  }

  const source: InspectSource = {
    kind: "recording",
    name: basename(path),
    eventHistory,
    store,
    list: createEventList(eventHistory, store),
    lookup: undefined,
    get notes() {
      const { missingEvents, verification } = replay.report;
      const { difference } = verification;
      return [
        ...(stopped === undefined ? [] : [`Reading stopped: ${stopped}`]),
        ...badLines,
        ...(bad > BAD_LINES_NAMED ? [`${bad} lines in all could not be read.`] : []),
        ...(missingEvents > 0 ? [`${missingEvents} events are missing.`] : []),
        ...(difference
          ? [`From event ${difference.number} on the lanes decide otherwise than was recorded.`]
          : []),
      ];
    },
    get reading() {
      return reading;
    },
    get complete() {
      return stopped !== undefined;
    },
    ready: Promise.resolve(),
    streamMessages(writer) {
      const stop = new AbortController();
      void streamRecording(file, writer, AbortSignal.any([stop.signal, ending.signal])).catch(() => {});
      return () => stop.abort();
    },
    onProgress: progress.listen,
    async close() {
      ending.abort();
      progress.close();
      await whole;
      file.close();
    },
  };
  let whole: Promise<void> = Promise.resolve();
  await new Promise<void>((begun) => {
    source.ready = new Promise((caughtUp) => {
      const settle = () => {
        if (reading) progress.tell();
        reading = false;
        begun();
        caughtUp();
      };
      whole = read(begun, settle)
        .catch((error: unknown) => {
          stopped = messageOf(error);
          progress.tell();
        })
        .finally(settle);
    });
  });
  return source;
}
