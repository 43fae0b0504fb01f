/**
 * Text of a session, a model or an argument, made fit for where it goes: a terminal obeys some characters, and others hide
 * text or reverse it before a reader's eyes.
 */

/** For whatever reads text: control characters (but tab and line feed) and lone surrogates give way to U+FFFD. */
export function withoutControls(text: string): string {
  return text.toWellFormed().replace(/\r\n?/g, "\n").replace(CONTROL_CHARACTERS, "\uFFFD");
}

/** For what is kept: without the characters that turn the direction of text, and without invisible tag characters. */
export function withoutDisguise(text: string): string {
  return text.replace(DISGUISE, "");
}

/**
 * For people's eyes: without anything that a terminal obeys or that hides what stands there. Joiners and variation selectors
 * stay where a script or an emoji needs one. Doing it twice changes nothing more.
 */
export function harmlessText(text: string): string {
  return PLAIN.test(text) ? text : withoutControls(text).replace(HIDDEN, "$1");
}

const PLAIN = /^[\t\n\x20-\x7E]*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go; tab and line feed may stay
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
const DISGUISE = /[\p{Bidi_Control}\u{E0000}-\u{E007F}]+/gu;

/** Scripts whose letters take another shape beside a joiner or a non-joiner. */
const JOINING = [
  ...[
    "Arabic",
    "Syriac",
    "Nko",
    "Mandaic",
    "Devanagari",
    "Bengali",
    "Gurmukhi",
    "Gujarati",
    "Oriya",
    "Tamil",
  ],
  ...["Telugu", "Kannada", "Malayalam", "Sinhala", "Myanmar", "Khmer"],
].map((script) => `\\p{Script_Extensions=${script}}`);
const MONGOLIAN = "\\u1820-\\u18AA";
const INVISIBLE = "\\p{Default_Ignorable_Code_Point}";
const PICTOGRAPH = "\\p{Extended_Pictographic}";
const SKIN_TONES = "\\u{1F3FB}-\\u{1F3FF}";

/** Invisible characters in the places where they do their work; one at a time, since a run of them can spell anything. */
const NEEDED = [
  `(?<=(?!${INVISIBLE})[${MONGOLIAN}${JOINING.join("")}])[\\u200C\\u200D](?![\\u200C\\u200D])`,
  `(?<=${PICTOGRAPH}[\\uFE0F${SKIN_TONES}]?)\\u200D(?=${PICTOGRAPH})`,
  `(?<=${PICTOGRAPH})[\\uFE0E\\uFE0F]`,
  "(?<=[0-9#*])\\uFE0F(?=\\u20E3)",
  "(?<=\\p{Ideographic})[\\uFE00-\\uFE02\\u{E0100}-\\u{E01EF}]",
  "(?<=[\\p{Sm}\\p{Script=Myanmar}])\\uFE00",
  `(?<=[${MONGOLIAN}])[\\u180B-\\u180F]`,
];

/** What shows nothing; its only group holds what is needed all the same. The annotation marks are of that kind, too. */
const HIDDEN = new RegExp(`(${NEEDED.join("|")})|[${INVISIBLE}\\uFFF9-\\uFFFB]`, "gu");
