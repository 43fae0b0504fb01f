import { appendFile, mkdir, open, rename, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Step } from "../machines/engine.ts";
import { decisionOf, encodeLine, type RecordingLine } from "../machines/recording/recording.ts";
import type { EngineEvent } from "../reducers/engine/events.ts";
import { messageOf } from "../reducers/message-of.ts";

export interface RecorderOptions {
  /** The NDJSON file; older parts of the session become `<file>.1`, `<file>.2`, … */
  file: string;
  /** The line that every file starts with, and every opening of a session in it. */
  header: RecordingLine;
  /** Where the engine stood when it began, if it goes on from another one. */
  restored?: RecordingLine | undefined;
  /** What lets a file start after `last`, the event taken last, and still replay alone. */
  keyframe: (last: EngineEvent) => RecordingLine[];
  /** Called once at most, with words for the user; recording has ended when it is. */
  onFailure: (message: string) => void;
  /** Size at which a new file is begun, in bytes. */
  maxBytes?: number;
  /** Lines that may wait to be written; when the disk does not keep up, memory must not pay for it. */
  maxQueuedLines?: number;
}

export interface Recorder {
  /** Takes a step's lines; never waits, never throws. */
  take(step: Step): void;
  /** Takes no more, and resolves when all that was taken is on disk, recording has failed, or the disk takes too long. */
  close(): Promise<void>;
}

const ROTATE_AT_BYTES = 10 * 1024 * 1024;
const KEPT_PARTS = 5;
const MAX_QUEUED_LINES = 20_000;
/** Pi waits for this when it quits. */
const LONGEST_CLOSE_MS = 2000;

/**
 * Writes the engine's event stream to disk in the background. A recorder that cannot write says so once and stops:
 * the session matters, the recording does not.
 */
export function createRecorder(options: RecorderOptions): Recorder {
  const { file, header, restored, onFailure } = options;
  const { maxBytes = ROTATE_AT_BYTES, maxQueuedLines = MAX_QUEUED_LINES } = options;
  let queue: RecordingLine[] = [];
  let last: EngineEvent | undefined;
  let writing: Promise<void> | undefined;
  let begun = false;
  /** Bytes that the file began with: a long session's keyframe alone may be larger than a file should be. */
  let startBytes = 0;
  let ended = false;
  let closed = false;

  function fail(error: unknown): void {
    if (ended) return;
    ended = true;
    queue = [];
    onFailure(`The debug recording stopped: ${messageOf(error)}`);
  }

  function enqueue(line: RecordingLine): void {
    if (ended) return;
    if (queue.length >= maxQueuedLines) {
      fail(new Error(`${file} cannot be written as fast as the session goes`));
      return;
    }
    queue.push(line);
    writing ??= write()
      .catch(fail)
      .finally(() => {
        writing = undefined;
      });
  }

  async function write(): Promise<void> {
    // One tick later: a burst of events becomes one write, and none of it happens inside the hook.
    await new Promise((resolve) => setImmediate(resolve));
    while (queue.length > 0 && !ended) {
      const size = await sizeOf(file);
      if (size === undefined) await mkdir(dirname(file), { recursive: true });
      // Somebody deleted the file: what follows must replay without what it held.
      if (size === undefined && begun) await startAnew();
      else if (size !== undefined && size > Math.max(maxBytes, 2 * startBytes)) await rotate();
      else await append(size);
      begun = true;
    }
  }

  async function append(size: number | undefined): Promise<void> {
    // A process that was killed while it wrote has left half a line, which must not take ours with it.
    const mend = !begun && size !== undefined && !(await endsWithLineFeed(file, size)) ? "\n" : "";
    const lines = queue;
    queue = [];
    try {
      await appendFile(file, mend + lines.map(encodeLine).join(""));
    } catch (error) {
      // Its folder was deleted just now; what was to be written is part of the keyframe.
      if (!isMissing(error)) throw error;
      await mkdir(dirname(file), { recursive: true });
      await startAnew();
    }
  }

  async function rotate(): Promise<void> {
    // Taken at one moment: what waits ends the old file, and the keyframe is of right after it.
    const start = startOfFile();
    const lines = queue;
    queue = [];
    await appendFile(file, lines.map(encodeLine).join(""));
    for (let part = KEPT_PARTS - 1; part >= 1; part--) {
      await rename(`${file}.${part}`, `${file}.${part + 1}`).catch(() => {});
    }
    await rename(file, `${file}.1`).catch(() => {});
    await writeFile(file, start);
  }

  async function startAnew(): Promise<void> {
    const start = startOfFile();
    // The keyframe is of this moment, so what waits to be written is part of it.
    queue = [];
    await writeFile(file, start);
  }

  function startOfFile(): Buffer {
    const start = last ? [header, ...options.keyframe(last)] : [header];
    const bytes = Buffer.from(start.map(encodeLine).join(""));
    startBytes = bytes.length;
    return bytes;
  }

  return {
    take(step) {
      if (ended || closed) return;
      last = step.event;
      if (step.event.type === "session.opened") {
        enqueue(header);
        if (restored) enqueue(restored);
      }
      enqueue(step.event);
      const decision = decisionOf(step);
      if (decision) enqueue(decision);
    },
    async close() {
      closed = true;
      const written = async () => {
        while (writing) await writing;
      };
      await Promise.race([written(), sleep(LONGEST_CLOSE_MS, undefined, { ref: false })]);
    },
  };
}

/** The file's size in bytes; undefined when there is none. */
async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

async function endsWithLineFeed(file: string, size: number): Promise<boolean> {
  if (size === 0) return true;
  const handle = await open(file, "r");
  try {
    const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
    return buffer.toString() === "\n";
  } finally {
    await handle.close();
  }
}
