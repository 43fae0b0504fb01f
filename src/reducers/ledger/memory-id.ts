import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { withoutDisguise } from "../harmless-text.ts";
import { isMemoryId, isOneLine } from "./records.ts";

const ID_DIGITS = 12;

/** The id of a memory record: the first 12 hex digits of SHA-256 of its content, so the same fact has one id. */
export function memoryId(content: string): string {
  return bytesToHex(sha256(utf8ToBytes(content))).slice(0, ID_DIGITS);
}

/** An id as it may be given: it may still wear the brackets of its line. Case tells apart the ids of entries, not those of memory. */
export function givenMemoryId(text: string): string {
  const id = text.trim().replace(/^\[|\]$/g, "");
  const lower = id.toLowerCase();
  return isMemoryId(lower) ? lower : id;
}

/**
 * Content as one line of clean prose: every run of white space, line separators and control characters becomes one
 * space, lone surrogates become U+FFFD, what disguises text goes, and the ends are trimmed. Doing it twice changes nothing
 * more.
 */
export function oneLine(content: string): string {
  return withoutDisguise(content.toWellFormed())
    .replace(/[\s\p{Cc}\u2028\u2029]+/gu, " ")
    .trim();
}

/** A text that is a clean line as it is, any other as `oneLine` makes it: for records of others, which nobody normalised. */
export function asCleanLine(text: string): string {
  return !PLAIN.test(text) && UNCLEAN.test(text) ? oneLine(text) : text;
}

/** Most texts are, and this is told in a fraction of the time, which a compaction of tens of thousands of lines waits for. */
const PLAIN = /^[\x20-\x7E]*$/;
const UNCLEAN = /[\p{Cc}\u2028\u2029\p{Bidi_Control}\u{E0000}-\u{E007F}]/u;

/** A text that is one line as it is, any other on one line. */
export function asOneLine(text: string): string {
  return isOneLine(text) ? text : oneLine(text);
}
