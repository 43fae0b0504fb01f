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
  const words = queryWords(query);
  return (words.length > 0 || asked === "" ? words : [asked]).map(matcherOf);
}

/** The words of a query, each once; none where it has neither letter nor digit. */
export function queryWords(query: string): string[] {
  return [...new Set(wordsIn(comparable(query.slice(0, LONGEST_QUERY))))].slice(0, MOST_WORDS);
}

/**
 * Whatever a text is found by: its words, and the parts of names that are written together (`fooBar`, `foo_bar`, `TS2345`). Runs
 * without spaces go by every two characters, not by a dictionary: that would cut a word in a query otherwise than in a sentence.
 */
export function termsOf(text: string): string[] {
  const terms = new Set<string>();
  for (const word of text.match(WORD) ?? []) {
    const whole = comparable(word);
    for (const term of wordsIn(whole)) terms.add(term);
    for (const run of whole.match(UNSPACED_RUN) ?? []) terms.add([...run].at(-1) ?? run);
    if (PLAIN_WORD.test(word) || HEX.test(word)) continue;
    for (const part of word.match(PART) ?? []) for (const term of wordsIn(comparable(part))) terms.add(term);
  }
  return [...terms];
}

/** Whether a word may be the beginning of a longer one: not one or two letters of a script that has spaces. */
export function mayBegin(word: string): boolean {
  return [...word].length >= SHORTEST_PART || IS_UNSPACED.test(word) || HANGUL.test(word);
}

function wordsIn(comparableText: string): string[] {
  return (comparableText.match(WORD) ?? []).flatMap((word) => (word.match(RUN) ?? []).flatMap(partsOfRun));
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
const UNSPACED_RUN = new RegExp(`[${UNSPACED}]+`, "gu");
const HANGUL = /\p{Script=Hangul}/u;
/** A word that has no parts */
const PLAIN_WORD = /^(?:[A-Z]?[a-z]+|[0-9]+)$/;
/** An id: what its letters and digits make apart says nothing. */
const HEX = /^(?=.*[0-9])[0-9a-f]{7,}$/i;
/** What begins with a capital, or is of capitals, other letters or digits alone */
const PART = /\p{Lu}?[\p{Ll}\p{M}]+|\p{Lu}+(?!\p{Ll})|[\p{Lo}\p{Lm}\p{M}]+|\p{N}+/gu;
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");

function partsOfRun(run: string): string[] {
  const characters = [...run];
  if (!IS_UNSPACED.test(run) || characters.length <= 2) return [run];
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`);
}

function matcherOf(word: string): Matcher {
  const standsAlone = /^[\p{L}\p{N}\p{M}_]+$/u.test(word) && [...word].length < SHORTEST_PART;
  if (!standsAlone || IS_UNSPACED.test(word) || HANGUL.test(word)) return (text) => text.includes(word);
  const alone = new RegExp(`(?<![\\p{L}\\p{N}_])${word}(?![\\p{L}\\p{N}_])`, "u");
  return (text) => alone.test(text);
}
