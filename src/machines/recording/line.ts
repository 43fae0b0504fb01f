/** Several lines of a file as they were read at once. */
export interface Piece {
  readonly text: string;
  /**
   * One byte for each character of the text; absent where not all of it is ASCII. Bytes are read several times faster than
   * characters, and parts of the text are copied faster than bytes.
   */
  readonly ascii?: Uint8Array;
}

/** A line, without its line feed, as a stretch of a piece: most lines are read without ever being copied. */
export interface Line {
  readonly piece: Piece;
  readonly start: number;
  readonly end: number;
}

export function lineOf(text: string): Line {
  return { piece: { text }, start: 0, end: text.length };
}

export function lineText({ piece: { text }, start, end }: Line): string {
  return text.slice(start, end);
}

const SPACE = 32;

/** Whether nothing is in a line but white space. */
export function isBlank(line: Line): boolean {
  const { piece, start, end } = line;
  return start === end || (piece.text.charCodeAt(start) <= SPACE && lineText(line).trim() === "");
}
