/** A query longer than this, in UTF-16 units or in words, is cut: it is a few words, not a text. */
const LONGEST_QUERY = 500;
const MOST_WORDS = 40;
/** Letters and digits of a word that may stand within a longer one; a shorter one stands alone. */
const SHORTEST_PART = 3;

/** Whether a text, as `comparable` makes it, has a word of the query. */
export type Matcher = (text: string) => boolean;

/**
 * One matcher for each word of a query. A word is found within longer ones; one of one or two letters stands for itself. Where a
 * script writes without spaces, every two characters of a run count as a word. A query without any letter is sought as it is.
 */
export function matchersOf(query: string): Matcher[] {
  const asked = comparable(query.slice(0, LONGEST_QUERY).trim());
  const words = (asked.match(WORD) ?? []).flatMap((word) => (word.match(RUN) ?? []).flatMap(partsOfRun));
  const sought = [...new Set(words.length > 0 ? words : asked === "" ? [] : [asked])];
  return sought.slice(0, MOST_WORDS).map(matcherOf);
}

/** Text without what must not tell two words apart: case, accents, widths of letters. */
export function comparable(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text
    .toLowerCase()
    .normalize("NFKD")
    .replace(ACCENTS, "")
    .replaceAll("ς", "σ")
    .replaceAll("ß", "ss")
    .normalize("NFKC");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: any ASCII will do
const ASCII = /^[\x00-\x7F]*$/;
/** The marks of Latin, Greek and Cyrillic, of Hebrew and of Arabic; others, as Japanese ones, make another letter. */
const ACCENTS = /[\u0300-\u036F\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u064B-\u065F\u0670]/g;
const WORD = /[\p{L}\p{N}\p{M}_]+/gu;
const UNSPACED = ["Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{Script_Extensions=${script}}`)
  .join("");
const RUN = new RegExp(`[${UNSPACED}]+|[^${UNSPACED}]+`, "gu");
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");

function partsOfRun(run: string): string[] {
  const characters = [...run];
  if (!IS_UNSPACED.test(run) || characters.length <= 2) return [run];
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`);
}

function matcherOf(word: string): Matcher {
  const standsAlone = /^[\p{L}\p{N}\p{M}_]+$/u.test(word) && [...word].length < SHORTEST_PART;
  if (!standsAlone || IS_UNSPACED.test(word) || /\p{Script=Hangul}/u.test(word))
    return (text) => text.includes(word);
  const alone = new RegExp(`(?<![\\p{L}\\p{N}_])${word}(?![\\p{L}\\p{N}_])`, "u");
  return (text) => alone.test(text);
}
