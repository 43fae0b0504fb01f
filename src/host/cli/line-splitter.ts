import { isAscii } from "node:buffer";
import { type Line, lineOf } from "../../machines/recording/line.ts";

/** A line and where it is in its file. */
export interface PlacedLine extends Line {
  /** In bytes from the start of the file */
  readonly offset: number;
  /** In bytes */
  readonly bytes: number;
}

/** Makes lines of the bytes of a file as they come. */
export interface LineSplitter {
  /** The lines that these bytes complete. */
  take(bytes: Buffer): PlacedLine[];
  /** What came after the last line feed, if anything. */
  takeRest(): PlacedLine[];
  /** The text of that, which stays. */
  peekRest(): string;
}

const NEWLINE = 10;

export function createLineSplitter(): LineSplitter {
  /** The beginning of a line that has not ended yet, as it came: a long one is put together once. */
  let rest: Buffer[] = [];
  let offset = 0;

  /** Lines of bytes of which the last one is the end of a line. */
  function split(bytes: Buffer): PlacedLine[] {
    const lines = isAscii(bytes) ? asciiLines(bytes, offset) : otherLines(bytes, offset);
    offset += bytes.length;
    return lines;
  }

  return {
    take(bytes) {
      const end = bytes.lastIndexOf(NEWLINE) + 1;
      if (end === 0) {
        rest.push(bytes);
        return [];
      }
      const whole = Buffer.concat([...rest, bytes.subarray(0, end)]);
      rest = [bytes.subarray(end)];
      return split(whole);
    },
    takeRest() {
      const last = Buffer.concat(rest);
      rest = [];
      return split(last);
    },
    peekRest: () => Buffer.concat(rest).toString("utf8"),
  };
}

function asciiLines(ascii: Buffer, offset: number): PlacedLine[] {
  const text = ascii.toString("latin1");
  const piece = { text, ascii };
  const lines: PlacedLine[] = [];
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    lines.push({ piece, start, end, offset: offset + start, bytes: end - start });
    start = end + 1;
  }
  return lines;
}

function otherLines(bytes: Buffer, offset: number): PlacedLine[] {
  const lines: PlacedLine[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    const text = bytes.toString("utf8", start, end);
    // A byte order mark is no part of the first line.
    const isMarked = offset + start === 0 && text.startsWith("\uFEFF");
    lines.push({ ...lineOf(isMarked ? text.slice(1) : text), offset: offset + start, bytes: end - start });
    start = end + 1;
  }
  return lines;
}
