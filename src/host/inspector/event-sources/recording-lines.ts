import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import { createLineSplitter } from "../../cli/input/line-splitter.ts";

export interface LineBlock {
  lines: string[];
  /** Number of the first of them in its file, counted from 1 */
  first: number;
  /** There is nothing more to read for now. */
  isAll: boolean;
}

/** A hundredth of a second's work: who looks meanwhile has to wait for it. */
const BLOCK_BYTES = 1 << 17;
const LOOK_EVERY_MS = 200;

/**
 * The lines of a recording, and those that are still being written, also into the file that takes its place when the
 * recorder begins a new one, until it is told to stop. Lets others run between blocks.
 */
export async function* linesOf(path: string, signal: AbortSignal): AsyncGenerator<LineBlock> {
  let file = openSync(path, "r");
  let next: number | undefined;
  let splitter = createLineSplitter();
  let position = 0;
  let first = 1;
  const block = (lines: string[], isAll = false): LineBlock => {
    first += lines.length;
    return { lines, first: first - lines.length, isAll };
  };
  try {
    while (!signal.aborted) {
      const bytes = readAt(file, position);
      position += bytes.length;
      if (bytes.length > 0) {
        yield block(splitter.take(bytes));
        await nextTick();
      } else if (next !== undefined) {
        yield block(splitter.takeRest());
        closeSync(file);
        [file, next, splitter, position, first] = [next, undefined, createLineSplitter(), 0, 1];
      } else {
        next = successorOf(path, file);
        // What has been renamed does not grow, but may have grown until then.
        if (next !== undefined) continue;
        yield block(isWhole(splitter.peekRest()) ? splitter.takeRest() : [], true);
        await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
      }
    }
  } finally {
    closeSync(file);
    if (next !== undefined) closeSync(next);
  }
}

/** The file that goes by this name by now, opened, when it is another one. */
function successorOf(path: string, file: number): number | undefined {
  const there = statSync(path, { throwIfNoEntry: false });
  const known = fstatSync(file);
  return there && (there.ino !== known.ino || there.dev !== known.dev) ? openSync(path, "r") : undefined;
}

function readAt(file: number, position: number): Buffer {
  const there = fstatSync(file).size - position;
  if (there < 0) throw new Error("the file became shorter while it was read");
  const bytes = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, there));
  return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, position));
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
