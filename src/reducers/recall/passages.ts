import { estimateTextTokens } from "../entries/tokens.ts";
import { grouped } from "../words.ts";
import { pieceEnd } from "./pages.ts";
import { comparable, matchersOf } from "./query-words.ts";

/** What of some texts matches a query. */
export interface Passages {
  /** Of each text its passages, with marks for what is left out of it; undefined for one that has none to show */
  readonly texts: readonly (string | undefined)[];
  /** Texts that have no match at all, by index */
  readonly unmatched: ReadonlySet<number>;
  /** Passages that match and had no room */
  readonly leftOut: number;
}

/** Lines, or pieces of long lines, that are shown before and after each that matches */
const SURROUNDINGS = 2;
/** UTF-16 units of a long line that count as one line */
const LONGEST_LINE = 240;

interface Line {
  readonly text: number;
  readonly index: number;
  readonly start: number;
  readonly end: number;
  score: number;
}

/**
 * The passages of these texts that have words of the query, with their surroundings: those with the most and the rarest words
 * first, as many as fit in about `maxTokens` estimated tokens and at least one, shown in the order of the texts.
 */
export function passagesOf(texts: readonly string[], query: string, maxTokens: number): Passages {
  const linesOf = texts.map((text, at) => [...linesIn(text, at)]);
  const matching = score(texts, linesOf.flat(), query);
  const shown = linesOf.map(() => new Set<number>());
  let left = maxTokens;
  for (const { text, index } of [...matching].sort((a, b) => b.score - a.score)) {
    const lines = linesOf[text] ?? [];
    const already = shown[text];
    if (!already || already.has(index)) continue;
    const around = lines.slice(Math.max(0, index - SURROUNDINGS), index + SURROUNDINGS + 1);
    const added = around.filter((line) => !already.has(line.index));
    const cost = added.reduce(
      (sum, { start, end }) => sum + estimateTextTokens(texts[text]?.slice(start, end) ?? ""),
      0,
    );
    if (cost > left && left < maxTokens) continue;
    left -= cost;
    for (const line of added) already.add(line.index);
  }
  const matched = new Set(matching.map(({ text }) => text));
  return {
    texts: texts.map((text, at) => excerptOf(text, linesOf[at] ?? [], shown[at] ?? new Set())),
    unmatched: new Set(texts.map((_, at) => at).filter((at) => !matched.has(at))),
    leftOut: matching.filter(({ text, index }) => !shown[text]?.has(index)).length,
  };
}

/** The line, or the piece of a long one, that has the most and the rarest words of the query; the first one if none has any. */
export function bestLineOf(text: string, query: string): string {
  const lines = [...linesIn(text, 0)];
  const [first] = score([text], lines, query).sort((a, b) => b.score - a.score);
  const shown = first ?? lines.find(({ start, end }) => text.slice(start, end).trim() !== "");
  return shown ? text.slice(shown.start, shown.end).trim() : "";
}

/** The lines that have a word of the query; a rare word weighs more than one that many lines have. */
function score(texts: readonly string[], lines: readonly Line[], query: string): Line[] {
  const contents = lines.map(({ text, start, end }) => {
    const whole = texts[text] ?? "";
    // A line that was cut within a word has what may be the rest of it.
    return comparable(whole.slice(start, /\s/.test(whole[end - 1] ?? " ") ? end : end + OVERLAP));
  });
  for (const matches of matchersOf(query)) {
    const found = lines.filter((_, at) => matches(contents[at] ?? ""));
    for (const line of found) line.score += Math.log2(1 + lines.length / found.length);
  }
  return lines.filter((line) => line.score > 0);
}

/** UTF-16 units, as much as most words have */
const OVERLAP = 24;

function* linesIn(text: string, of: number): Generator<Line> {
  let lineEnd = 0;
  for (let start = 0, index = 0; start < text.length; index++) {
    if (lineEnd <= start) lineEnd = text.indexOf("\n", start) + 1 || text.length;
    const end = lineEnd - start <= LONGEST_LINE ? lineEnd : breakBefore(text, start, start + LONGEST_LINE);
    yield { text: of, index, start, end, score: 0 };
    start = end;
  }
}

/** Where a long line is best cut: after the last space or stop of its second half, else where its length ends. */
function breakBefore(text: string, start: number, most: number): number {
  for (let at = most; at > (start + most) / 2; at--)
    if (/[\s.,;。，、！？]/.test(text[at - 1] ?? "")) return at;
  return pieceEnd(text, most);
}

function excerptOf(text: string, lines: readonly Line[], shown: ReadonlySet<number>): string | undefined {
  if (shown.size === 0) return undefined;
  let excerpt = "";
  let through = 0;
  const goOnAt = (start: number) => {
    const gap = text.slice(through, start);
    if (gap.trim() === "") excerpt += gap;
    else
      excerpt += `${excerpt === "" || excerpt.endsWith("\n") ? "" : "\n"}[… ${grouped(gap.length)} characters left out …]\n`;
  };
  for (const { index, start, end } of lines) {
    if (!shown.has(index)) continue;
    goOnAt(start);
    excerpt += text.slice(start, end);
    through = end;
  }
  goOnAt(text.length);
  return excerpt.trimEnd();
}
