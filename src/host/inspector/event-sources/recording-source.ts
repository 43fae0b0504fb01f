import { basename } from "node:path";
import { parseRecordingLine, RecordingLineError } from "../../../machines/recording/recording-line.ts";
import { createReplay } from "../../../machines/recording/replay.ts";
import { messageOf } from "../../../reducers/message-of.ts";
import { createEventSource, type EventSource } from "./event-source.ts";
import { linesOf } from "./recording-lines.ts";

const BAD_LINES_NAMED = 3;

/**
 * Opens a recording. It resolves when the beginning has been read; the rest goes on while people look, and so does what
 * is written to it later.
 */
export async function openRecordingSource(
  path: string,
  shown: Partial<Pick<EventSource, "command" | "lookup">> = {},
): Promise<EventSource> {
  const source = createEventSource("recording", basename(path), shown);
  const { history, openings, changes$ } = source;
  const replay = createReplay();
  const badLines: string[] = [];
  const ending = new AbortController();
  const begun = Promise.withResolvers<void>();
  const ready = Promise.withResolvers<void>();
  let bad = 0;

  async function read(): Promise<void> {
    for await (const { lines, first, isAll } of linesOf(path, ending.signal)) {
      for (const [at, line] of lines.entries()) take(line, first + at);
      if (lines.length > 0) tell(notesOf());
      if (history.steps.length > 0) begun.resolve();
      if (isAll) settle();
    }
  }

  function take(text: string, number: number): void {
    if (text.trim() === "") return;
    try {
      const line = parseRecordingLine(text);
      if (line.type === "header") openings.set(history.steps.length, undefined);
      if (line.type === "keyframe") openings.set(history.steps.length, line);
      const step = replay.take(line);
      if (step) source.take(step);
    } catch (error) {
      if (!(error instanceof RecordingLineError)) throw error;
      replay.lostLine();
      if (++bad <= BAD_LINES_NAMED) badLines.push(`Line ${number} is left out: ${error.message}`);
    }
  }

  function notesOf(): string[] {
    const { missingEvents, verification } = replay.report;
    const { difference } = verification;
    return [
      ...badLines,
      ...(bad > BAD_LINES_NAMED ? [`${bad} lines in all could not be read.`] : []),
      ...(missingEvents > 0 ? [`${missingEvents} events are missing.`] : []),
      ...(difference
        ? [`From event ${difference.number} on the lanes decide otherwise than was recorded.`]
        : []),
    ];
  }

  function tell(notes: readonly string[]): void {
    source.notes = notes;
    changes$.next();
  }

  function settle(): void {
    if (source.reading) changes$.next();
    source.reading = false;
    begun.resolve();
    ready.resolve();
  }

  source.complete = false;
  source.reading = true;
  const whole = read()
    .catch((error: unknown) => {
      source.complete = true;
      tell([`Reading stopped: ${messageOf(error)}`, ...notesOf()]);
    })
    .finally(settle);
  await begun.promise;
  return Object.assign(source, {
    ready: ready.promise,
    async close() {
      ending.abort();
      await whole;
    },
  });
}
