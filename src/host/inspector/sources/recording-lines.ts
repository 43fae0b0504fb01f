import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import { createLineSplitter } from "../../cli/input/line-splitter.ts";
import type { RecordingFile } from "./recording-file.ts";

export interface LineBlock {
  /** Which of the recording's files they are in */
  part: number;
  lines: string[];
}

/** A hundredth of a second's work: who looks meanwhile has to wait for it. */
const BLOCK_BYTES = 1 << 17;
const LOOK_EVERY_MS = 200;

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
    const lines = createLineSplitter();
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
      yield { part, lines: !isLast || isWhole(lines.peekRest()) ? lines.takeRest() : [] };
      if (!isLast) break;
      onCaughtUp();
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
    }
  }
}

/** Whether text is whole: no beginning of an object is an object. */
function isWhole(text: string): boolean {
  if (!text.endsWith("}")) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
