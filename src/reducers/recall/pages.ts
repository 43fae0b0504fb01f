import { estimateTextTokens } from "../entries/tokens.ts";

/** A part of what is recalled. */
export interface Section {
  readonly text: string;
  /** What a page that begins with this section says first, so that it can be read by itself */
  readonly before: string;
  /** What a page that begins within this section says first */
  readonly within: string;
}

/** Sections of a page are a blank line apart. */
const SEPARATOR = "\n\n";

/**
 * The sections in order, on pages of at most about `maxTokens` estimated tokens, broken at line ends where they can be. Each text
 * is read once.
 */
export function paginate(sections: readonly Section[], maxTokens: number): string[] {
  const pages: string[] = [];
  const longest = Math.max(1, Math.min(LONGEST_PIECE, maxTokens >> 2));
  let page = "";
  let tokens = 0;
  for (const [at, { text, before, within }] of sections.entries()) {
    if (at > 0) page += SEPARATOR;
    for (const [start, piece] of piecesOf(text, longest)) {
      const cost = estimateTextTokens(piece);
      if (tokens > 0 && tokens + cost > maxTokens) {
        pages.push(page.trimEnd());
        const opening = start > 0 ? within : before;
        page = opening === "" ? "" : `${opening}${start > 0 ? "\n" : SEPARATOR}`;
        // However long it is, half of the page is for what has not been shown.
        tokens = Math.min(estimateTextTokens(page), maxTokens >> 1);
      }
      page += piece;
      tokens += cost;
    }
  }
  pages.push(page);
  return pages;
}

/** In UTF-16 units */
const LONGEST_PIECE = 1000;

/** The text's lines with their line ends, long ones in pieces, each with its start. No piece splits a character. */
function* piecesOf(text: string, longest: number): Generator<[start: number, piece: string]> {
  let lineEnd = 0;
  for (let start = 0; start < text.length; ) {
    // Once a line, not once a piece: the end of a line of fifty megabytes is far to seek.
    if (lineEnd <= start) lineEnd = text.indexOf("\n", start) + 1 || text.length;
    const end = pieceEnd(text, Math.min(lineEnd, start + longest));
    yield [start, text.slice(start, end)];
    start = end;
  }
}

/** The next place at or after `at` that is not within a character. */
export function pieceEnd(text: string, at: number): number {
  return at < text.length && isHighSurrogate(text.charCodeAt(at - 1)) ? at + 1 : at;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
