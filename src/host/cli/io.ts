import { randomInt } from "node:crypto";
import { stripVTControlCharacters, styleText } from "node:util";
import { harmlessText } from "../../reducers/harmless-text.ts";

/** Something that the user can put right: one line on stderr, exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

export const EXIT = { ok: 0, difference: 1, usage: 2 } as const;

type Style = Parameters<typeof styleText>[0];

/** Where a subcommand writes. What people read is made harmless here, whatever of a session or an argument is in it. */
export interface Io {
  /** Puts a line for people on standard output; it is written at the next `ready`. */
  line(text: string): void;
  /** Puts a value on standard output as a line of JSON, exactly as it is. */
  json(value: unknown): void;
  /** A line of words, which goes on `indent` columns in on the next line where a terminal is narrower. */
  prose(text: string, indent?: number): void;
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
  /** Text in a style for a `line`, on a terminal that is not asked to be plain. */
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
  const colours = createColours();

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

  const columns = stdout.isTTY ? stdout.columns : undefined;
  function line(text: string): void {
    buffer += `${colours.shown(text)}\n`;
  }

  return {
    line,
    prose(text, indent) {
      for (const part of wrapped(text, columns, indent)) line(part);
    },
    json(value) {
      buffer += `${JSON.stringify(value)}\n`;
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
      stderr.write(`${harmlessText(text)}\n`);
    },
    progress(text) {
      const time = performance.now();
      if (time < nextProgress) return;
      nextProgress = time + (stderr.isTTY ? PROGRESS_EVERY_MS.terminal : PROGRESS_EVERY_MS.file);
      showsProgress = true;
      const shown = harmlessText(text());
      stderr.write(stderr.isTTY ? `\r\u001b[K${shown}` : `${shown}\n`);
    },
    paint: (style, text) => colours.marked(styleText(style, harmlessText(text), { stream: stdout })),
    columns,
  };
}

/** Text in lines of so many characters at most, broken between words; colours take no room. All but the first are indented. */
export function wrapped(text: string, columns = Number.POSITIVE_INFINITY, indent = 0): string[] {
  const lines: string[] = [];
  let width = 0;
  for (const word of text.split(" ")) {
    const length = stripVTControlCharacters(word).length;
    if (lines.length > 0 && width + 1 + length <= columns) {
      lines[lines.length - 1] += ` ${word}`;
      width += 1 + length;
    } else {
      const from = lines.length === 0 ? 0 : indent;
      lines.push(`${" ".repeat(from)}${word}`);
      width = from + length;
    }
  }
  return lines;
}

/**
 * Tells our colours from those that a session's text may hold: ours bear a number that is drawn anew for each process, so that
 * whoever wrote the text cannot have known it.
 */
function createColours() {
  const ours = randomInt(1e9, 1e10);
  const marks = new RegExp(`\\u001b\\[([\\d;]*);${ours}m`);
  return {
    /** A text that `styleText` has put in colours, with ours marked. */
    marked: (styled: string) => styled.replace(SGR, `\u001b[$1;${ours}m`),
    /** A text as it may be shown: harmless but for what was marked. */
    shown: (text: string) =>
      text
        .split(marks)
        .map((part, at) => (at % 2 === 0 ? harmlessText(part) : `\u001b[${part}m`))
        .join(""),
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is how terminals are told a colour
const SGR = /\u001b\[([\d;]*)m/g;
