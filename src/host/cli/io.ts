import { styleText } from "node:util";

/** Something that the user can put right: one line on stderr, exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

export const EXIT = { ok: 0, difference: 1, usage: 2 } as const;

type Style = Parameters<typeof styleText>[0];

/** Where a subcommand writes. */
export interface Io {
  /** Puts a line on standard output; it is written at the next `ready`. */
  line(text: string): void;
  /** Resolves when the reader keeps up; call it between pieces of work. */
  ready(): Promise<void>;
  /** Writes what is left and takes the progress away. Throws `UsageError` if the output could not be written. */
  end(): Promise<void>;
  /** The reader has gone (`| head`): nothing that is written will be seen. */
  readonly closed: boolean;
  /** Puts a line on standard error. */
  complain(text: string): void;
  /** Shows how far a long piece of work is, on standard error. */
  progress(text: () => string): void;
  /** Text in a style, on a terminal that is not asked to be plain. */
  paint(style: Style, text: string): string;
  /** Columns of the terminal; undefined when standard output is none. */
  readonly columns: number | undefined;
}

const FIRST_PROGRESS_MS = 1000;
const PROGRESS_EVERY_MS = { terminal: 200, file: 5000 } as const;

/** The process's own standard streams. */
export function createIo(): Io {
  const { stdout, stderr } = process;
  let buffer = "";
  let closed = false;
  let waiting: (() => void) | undefined;
  let nextProgress = performance.now() + FIRST_PROGRESS_MS;
  let showsProgress = false;

  function resume(): void {
    waiting?.();
    waiting = undefined;
  }
  let failure: Error | undefined;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    // A closed pipe is a reader that has seen enough; anything else has lost what the user asked for.
    if (error.code !== "EPIPE") failure ??= error;
    closed = true;
    resume();
  });
  stdout.on("drain", resume);

  async function flush(): Promise<void> {
    if (closed || buffer === "") return;
    const text = buffer;
    buffer = "";
    if (stdout.isTTY) endProgress();
    if (stdout.write(text)) return;
    await new Promise<void>((resolve) => {
      waiting = resolve;
    });
  }

  function endProgress(): void {
    if (showsProgress && stderr.isTTY) stderr.write("\r\u001b[K");
    showsProgress = false;
  }

  return {
    line(text) {
      buffer += `${text}\n`;
    },
    ready: flush,
    async end() {
      endProgress();
      await flush();
      if (failure) throw new UsageError(`the output cannot be written: ${failure.message}`);
    },
    get closed() {
      return closed;
    },
    complain(text) {
      endProgress();
      stderr.write(`${text}\n`);
    },
    progress(text) {
      const time = performance.now();
      if (time < nextProgress) return;
      nextProgress = time + (stderr.isTTY ? PROGRESS_EVERY_MS.terminal : PROGRESS_EVERY_MS.file);
      showsProgress = true;
      stderr.write(stderr.isTTY ? `\r\u001b[K${text()}` : `${text()}\n`);
    },
    paint: (style, text) => styleText(style, text, { stream: stdout }),
    columns: stdout.isTTY ? stdout.columns : undefined,
  };
}
