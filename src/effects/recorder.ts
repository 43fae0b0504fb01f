import { appendFile, mkdir, rename, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Step } from "../machines/engine.ts";
import { decisionOf, type RecordingLine } from "../machines/recording.ts";

export interface RecorderOptions {
  /** The NDJSON file; older parts of the session become `<file>.1`, `<file>.2`, … */
  file: string;
  /** The lines that a file starts with, so that it replays alone: header, keyframe, `session.opened`. */
  opening: () => RecordingLine[];
  /** Called once at most, with words for the user; recording has ended when it is. */
  onFailure: (message: string) => void;
  maxBytes?: number;
}

export interface Recorder {
  /** Takes a step's lines; never waits, never throws. */
  take(step: Step): void;
  /** Takes no more, and resolves when all that was taken is on disk (or recording has failed). */
  close(): Promise<void>;
}

/** One line of the file. Providers may echo a prompt in an error's text, so no failure's words are written. */
function encode(line: RecordingLine): string {
  return `${JSON.stringify(line, (key, value) => (key === "message" ? "" : value))}\n`;
}

const ROTATE_AT_BYTES = 10 * 1024 * 1024;
const KEPT_PARTS = 5;
/** More than this waiting means that the disk does not keep up; memory must not pay for that. */
const MAX_QUEUED_LINES = 20_000;

/**
 * Writes the engine's event stream to disk in the background. A recorder that cannot write says so once and stops:
 * the session matters, the recording does not.
 */
export function createRecorder(options: RecorderOptions): Recorder {
  const { file, opening, onFailure, maxBytes = ROTATE_AT_BYTES } = options;
  let queue: string[] = [];
  let writing: Promise<void> | undefined;
  let size = 0;
  let begun = false;
  let ended = false;
  let closed = false;

  function fail(error: unknown): void {
    if (ended) return;
    ended = true;
    queue = [];
    onFailure(`The debug recording stopped: ${error instanceof Error ? error.message : String(error)}`);
  }

  function push(lines: readonly RecordingLine[]): void {
    if (queue.length + lines.length > MAX_QUEUED_LINES) {
      fail(new Error(`${file} cannot be written as fast as the session goes`));
      return;
    }
    for (const line of lines) queue.push(encode(line));
    writing ??= write()
      .catch(fail)
      .finally(() => {
        writing = undefined;
      });
  }

  async function write(): Promise<void> {
    // One tick later: a burst of events becomes one write, and none of it happens inside the hook.
    await new Promise((resolve) => setImmediate(resolve));
    if (!begun) await begin();
    while (queue.length > 0 && !ended) {
      const text = queue.join("");
      queue = [];
      await appendFile(file, text);
      size += Buffer.byteLength(text);
      if (size > maxBytes) await rotate();
    }
  }

  async function begin(): Promise<void> {
    await mkdir(dirname(file), { recursive: true });
    size = await stat(file).then(
      ({ size }) => size,
      () => 0,
    );
    begun = true;
    if (size > maxBytes) await rotate();
  }

  async function rotate(): Promise<void> {
    for (let part = KEPT_PARTS - 1; part >= 1; part--) {
      await rename(`${file}.${part}`, `${file}.${part + 1}`).catch(() => {});
    }
    await rename(file, `${file}.1`).catch(() => {});
    // What is queued now is later than the lines just written and earlier than the keyframe: it is part of it.
    queue = [];
    const text = opening().map(encode).join("");
    await writeFile(file, text);
    size = Buffer.byteLength(text);
  }

  return {
    take(step) {
      if (ended || closed) return;
      const decision = decisionOf(step);
      const opens = step.event.type === "session.opened" ? opening().slice(0, 1) : [];
      push([...opens, step.event, ...(decision ? [decision] : [])]);
    },
    async close() {
      closed = true;
      while (writing) await writing;
    },
  };
}
