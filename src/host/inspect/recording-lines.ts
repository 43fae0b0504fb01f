import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import type { RecordingFile } from "./recording-file.ts";

/** A line and where it is. */
export interface PlacedLine {
  text: string;
  /** In bytes from the start of its file */
  offset: number;
  bytes: number;
}

export interface LineBlock {
  /** Which of the recording's files they are in */
  part: number;
  lines: PlacedLine[];
}

/** A hundredth of a second's work: who looks meanwhile has to wait for it. */
const BLOCK_BYTES = 1 << 17;
const LOOK_EVERY_MS = 200;
const NEWLINE = 10;
const CLOSING_BRACE = 125;

/**
 * The lines of a recording, and those that are still being written, until it is told to stop. Lets others run between
 * blocks. `onCaughtUp` is called whenever there is nothing more to read for now.
 */
export async function* linesOf(
  file: RecordingFile,
  signal: AbortSignal,
  onCaughtUp: () => void = () => {},
): AsyncGenerator<LineBlock> {
  for (let part = 0; ; part++) {
    const lines = createSplitter();
    for (let position = 0; ; ) {
      // Looked for before the end is: what has been renamed does not grow.
      if (part === file.parts - 1) file.openNext();
      const isLast = part === file.parts - 1;
      for (;;) {
        const block = file.read(part, position, BLOCK_BYTES);
        if (block.length === 0) break;
        position += block.length;
        yield { part, lines: lines.take(block) };
        await nextTick();
        if (signal.aborted) return;
      }
      yield { part, lines: isLast ? lines.takeWholeRest() : lines.takeRest() };
      if (!isLast) break;
      onCaughtUp();
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
    }
  }
}

function createSplitter() {
  let rest: Buffer = Buffer.alloc(0);
  let restAt = 0;

  function takeRest(): PlacedLine[] {
    if (rest.length === 0) return [];
    const line = { text: rest.toString("utf8"), offset: restAt, bytes: rest.length };
    restAt += rest.length;
    rest = rest.subarray(rest.length);
    return [line];
  }

  return {
    take(block: Buffer): PlacedLine[] {
      const bytes = rest.length === 0 ? block : Buffer.concat([rest, block]);
      const lines: PlacedLine[] = [];
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        lines.push({
          text: bytes.toString("utf8", start, end),
          offset: restAt + start,
          bytes: end - start,
        });
        start = end + 1;
      }
      rest = bytes.subarray(start);
      restAt += start;
      return lines;
    },
    takeRest,
    /** The line after the last end of line, if it is whole: no beginning of an object is an object. */
    takeWholeRest(): PlacedLine[] {
      if (rest[rest.length - 1] !== CLOSING_BRACE) return [];
      try {
        JSON.parse(rest.toString("utf8"));
      } catch {
        return [];
      }
      return takeRest();
    },
  };
}
