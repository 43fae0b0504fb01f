import { plainTime } from "../../reducers/engine/event-time.ts";
import { type EngineEvent, EVENT_VERSION } from "../../reducers/engine/events.ts";
import { ENTRY_KINDS, type EntryFact, type EntryKind } from "../../reducers/entries/entry-fact.ts";
import type { Line } from "./line.ts";

/**
 * Reads one of the frequent events in the recorder's own form; undefined for every other line, which may still be good. It
 * goes through the line's bytes once, which checks them as it goes: a third of what `JSON.parse` alone would take.
 */
export function readPlainEvent({ piece: { text, ascii }, start, end }: Line): EngineEvent | undefined {
  if (!ascii) return undefined;
  cursor.bytes = ascii;
  cursor.text = text;
  cursor.at = start;
  if (!skip(HEAD) || !readNumber() || cursor.number === 0) return undefined;
  const seq = cursor.number;
  if (!skip(AT)) return undefined;
  const at = readTime();
  if (at === undefined || !skip(TYPE)) return undefined;
  const event = readRest(seq, at);
  // Past the line there are others.
  return cursor.at === end ? event : undefined;
}

/** Where reading has come to, and the number that was read there. It is one for all, so that no line makes garbage. */
const cursor = { bytes: new Uint8Array() as Uint8Array, text: "", at: 0, number: 0 };

const bytesOf = (text: string) => new TextEncoder().encode(text);

const HEAD = bytesOf(`{"v":${EVENT_VERSION},"seq":`);
const AT = bytesOf(',"at":"');
const TYPE = bytesOf('","type":"');
const ENTRIES = bytesOf('branch.extended","entries":[');
const ENTRIES_END = bytesOf("]}");
const TURN_ENDED = bytesOf('turn.ended"}');
const AGENT_STARTED = bytesOf('agent.started"}');
const SETTLED = bytesOf('agent.settled","aborted":false}');
const SETTLED_ABORTED = bytesOf('agent.settled","aborted":true}');

function readRest(seq: number, at: string): EngineEvent | undefined {
  if (skip(ENTRIES)) {
    const entries = readPlainFacts();
    return entries && { v: EVENT_VERSION, seq, at, type: "branch.extended", entries };
  }
  if (skip(TURN_ENDED)) return { v: EVENT_VERSION, seq, at, type: "turn.ended" };
  if (skip(AGENT_STARTED)) return { v: EVENT_VERSION, seq, at, type: "agent.started" };
  if (skip(SETTLED)) return { v: EVENT_VERSION, seq, at, type: "agent.settled", aborted: false };
  if (skip(SETTLED_ABORTED)) return { v: EVENT_VERSION, seq, at, type: "agent.settled", aborted: true };
  return undefined;
}

/** Goes past these bytes if they are what comes next. */
function skip(expected: Uint8Array): boolean {
  const { bytes, at } = cursor;
  for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false;
  cursor.at = at + expected.length;
  return true;
}

const TIME_LENGTH = "2026-01-15T09:00:00.000Z".length;
const MINUTE_LENGTH = "2026-01-15T09:00".length;
const COLON = 58;
const DOT = 46;
const CAPITAL_Z = 90;

/** The minute of the time read last, as bytes and as text: nearly all events share it with the one before. */
const minute = { bytes: new Uint8Array() as Uint8Array, text: "" };

/** A time as `toISOString` writes it. Who looks at the lanes keeps those of their moves, so it is a copy as ids are. */
function readTime(): string | undefined {
  const { text, bytes, at: start } = cursor;
  const secondsStart = start + MINUTE_LENGTH;
  const end = start + TIME_LENGTH;
  if (!isInMinute(start)) {
    if (Number.isNaN(plainTime(text.slice(start, end)))) return undefined;
    minute.bytes = bytes.slice(start, secondsStart);
    minute.text = ownCopy(start, secondsStart);
  }
  cursor.at = end;
  return minute.text + ownCopy(secondsStart, end);
}

/** Whether this is a time in the minute of the one before. */
function isInMinute(start: number): boolean {
  const { bytes } = cursor;
  if (minute.text === "") return false;
  for (let i = 0; i < MINUTE_LENGTH; i++) if (bytes[start + i] !== minute.bytes[i]) return false;
  return (
    bytes[start + 16] === COLON &&
    isDigit(start + 17) &&
    (bytes[start + 17] ?? 0) < SIX &&
    isDigit(start + 18) &&
    bytes[start + 19] === DOT &&
    isDigit(start + 20) &&
    isDigit(start + 21) &&
    isDigit(start + 22) &&
    bytes[start + 23] === CAPITAL_Z
  );
}

const ID = bytesOf('{"id":"');
const KIND = bytesOf('","kind":"');
const SOURCE_END = bytesOf(',"source":true}');
const KINDS: readonly (readonly [EntryKind, Uint8Array])[] = ENTRY_KINDS.map((kind) => [
  kind,
  bytesOf(`${kind}","tokens":`),
]);

/** Facts that are nothing but id, kind, tokens and perhaps `source`, up to the end of the event. */
function readPlainFacts(): EntryFact[] | undefined {
  const facts: EntryFact[] = [];
  for (;;) {
    const fact = readPlainFact();
    if (!fact) return undefined;
    facts.push(fact);
    if (cursor.bytes[cursor.at] !== COMMA) return skip(ENTRIES_END) ? facts : undefined;
    cursor.at++;
  }
}

function readPlainFact(): EntryFact | undefined {
  if (!skip(ID)) return undefined;
  const idStart = cursor.at;
  skipId();
  const idEnd = cursor.at;
  if (!skip(KIND)) return undefined;
  const kind = readKind();
  if (kind === undefined || !readNumber()) return undefined;
  const id = ownCopy(idStart, idEnd);
  if (skip(SOURCE_END)) return { id, kind, tokens: cursor.number, source: true };
  if (cursor.bytes[cursor.at] !== CLOSING_BRACE) return undefined;
  cursor.at++;
  return { id, kind, tokens: cursor.number };
}

function readKind(): EntryKind | undefined {
  for (const [kind, bytes] of KINDS) if (skip(bytes)) return kind;
  return undefined;
}

const COMMA = 44;
const CLOSING_BRACE = 125;

/** Longer parts of a string are not copied by engines but keep the whole alive: here, a piece of the file. */
const LONGEST_COPIED = 12;

/** For what outlives its line by far. */
function ownCopy(start: number, end: number): string {
  if (end - start <= LONGEST_COPIED) return cursor.text.slice(start, end);
  return String.fromCharCode(...cursor.bytes.subarray(start, end));
}

const LONGEST_ID = 64;

/** Goes past letters, digits, `-` and `_`, as long as they may be an id. */
function skipId(): void {
  const limit = cursor.at + LONGEST_ID;
  while (cursor.at < limit && isIdByte(cursor.bytes[cursor.at] ?? 0)) cursor.at++;
}

function isIdByte(byte: number): boolean {
  return (
    (byte >= 97 && byte <= 122) ||
    (byte >= 48 && byte <= 57) ||
    (byte >= 65 && byte <= 90) ||
    byte === 45 ||
    byte === 95
  );
}

/** Fifteen digits are a safe integer. */
const MOST_DIGITS = 15;
const ZERO = 48;
const SIX = 54;

function isDigit(at: number): boolean {
  const digit = (cursor.bytes[at] ?? 0) - ZERO;
  return digit >= 0 && digit <= 9;
}

/** Reads a whole number, as JSON writes it. */
function readNumber(): boolean {
  const { bytes, at: start } = cursor;
  const limit = start + MOST_DIGITS;
  let number = 0;
  let at = start;
  for (; at < limit && isDigit(at); at++) number = number * 10 + (bytes[at] ?? 0) - ZERO;
  cursor.at = at;
  cursor.number = number;
  // JSON writes no leading zero but that of 0 itself.
  return at > start && (at - start === 1 || bytes[start] !== ZERO);
}
