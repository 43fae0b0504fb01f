import type { ZodType } from "zod";
import { ENTRY_KINDS, type EntryFact, type EntryKind } from "../reducers/entry-fact.ts";
import { plainTime } from "./event-time.ts";
import { type EngineEvent, EngineEventSchema, EVENT_VERSION } from "./events.ts";
import { type QuickCheck, quickCheckOf } from "./quick-check.ts";
import {
  DecisionSchema,
  HeaderSchema,
  KeyframeSchema,
  RECORDING_VERSION,
  type RecordingLine,
} from "./recording.ts";

/** A line that is not a line of a recording; the message says what is wrong with it. */
export class RecordingLineError extends Error {
  override name = "RecordingLineError";
}

/**
 * Reads one line of a recording. Throws `RecordingLineError` for anything else.
 *
 * A long recording is nearly all short events in the very form that the recorder writes. Those are read by looking for
 * that form, which checks them as it goes; every other line is parsed as JSON and checked by its schema.
 */
export function parseRecordingLine(text: string): RecordingLine {
  return readPlainEvent(text) ?? readChecked(text);
}

const DECISION = '{"type":"decision",';

/** Whether a line holds a decision, as the recorder writes it. */
export function isDecision(text: string): boolean {
  return text.startsWith(DECISION);
}

function readChecked(text: string): RecordingLine {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || !("type" in value)) {
    throw new RecordingLineError("it is not an event");
  }
  if ("recording" in value && value.recording !== RECORDING_VERSION) {
    throw new RecordingLineError(
      `its format is version ${value.recording}, and this program reads ${RECORDING_VERSION}`,
    );
  }
  if ("v" in value && value.v !== EVENT_VERSION) {
    throw new RecordingLineError(
      `its event is of version ${value.v}, and this program reads ${EVENT_VERSION}`,
    );
  }
  if (QUICK_CHECKS.get(value.type)?.(value)) return value as EngineEvent;
  const parsed = schemaFor(value.type).safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") || String(value.type);
  throw new RecordingLineError(`${where}: ${issue?.message ?? "not as it should be"}`);
}

/** By event type; the frequent ones that hold more than plain facts are a tenth of a long recording's cost otherwise. */
const QUICK_CHECKS: ReadonlyMap<unknown, QuickCheck | undefined> = new Map(
  EngineEventSchema.options.map((option) => [option.shape.type.value, quickCheckOf(option)]),
);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RecordingLineError("it is not JSON");
  }
}

function schemaFor(type: unknown): ZodType<RecordingLine> {
  if (type === "header") return HeaderSchema;
  if (type === "keyframe") return KeyframeSchema;
  return type === "decision" ? DecisionSchema : EngineEventSchema;
}

const HEAD = `{"v":${EVENT_VERSION},"seq":`;
const AT = ',"at":"';
const TYPE = '","type":"';
const ENTRIES = 'branch.extended","entries":[';
const TURN_ENDED = 'turn.ended"}';
const AGENT_STARTED = 'agent.started"}';
const SETTLED = 'agent.settled","aborted":false}';
const SETTLED_ABORTED = 'agent.settled","aborted":true}';

/** Where reading has come to, and the number that was read there. It is one for all, so that no line makes garbage. */
const cursor = { at: 0, number: 0 };

/** One of the frequent events in the recorder's own form, or undefined. */
function readPlainEvent(text: string): EngineEvent | undefined {
  if (!text.startsWith(HEAD)) return undefined;
  cursor.at = HEAD.length;
  if (!readNumber(text) || cursor.number === 0 || !text.startsWith(AT, cursor.at)) return undefined;
  const seq = cursor.number;
  const atStart = cursor.at + AT.length;
  const atEnd = atStart + AT_LENGTH;
  if (!text.startsWith(TYPE, atEnd)) return undefined;
  const at = text.slice(atStart, atEnd);
  if (Number.isNaN(plainTime(at))) return undefined;
  const rest = atEnd + TYPE.length;
  if (text.startsWith(ENTRIES, rest)) {
    cursor.at = rest + ENTRIES.length;
    const entries = readPlainFacts(text);
    return entries && { v: EVENT_VERSION, seq, at, type: "branch.extended", entries };
  }
  if (isRest(text, rest, TURN_ENDED)) return { v: EVENT_VERSION, seq, at, type: "turn.ended" };
  if (isRest(text, rest, AGENT_STARTED)) return { v: EVENT_VERSION, seq, at, type: "agent.started" };
  if (isRest(text, rest, SETTLED))
    return { v: EVENT_VERSION, seq, at, type: "agent.settled", aborted: false };
  if (isRest(text, rest, SETTLED_ABORTED)) {
    return { v: EVENT_VERSION, seq, at, type: "agent.settled", aborted: true };
  }
  return undefined;
}

const AT_LENGTH = "2026-01-15T09:00:00.000Z".length;

function isRest(text: string, start: number, rest: string): boolean {
  return text.length === start + rest.length && text.startsWith(rest, start);
}

const ID = '{"id":"';
const KIND = '","kind":"';
const TOKENS = '","tokens":';
const SOURCE_END = ',"source":true}';
const KINDS: ReadonlyMap<string, EntryKind> = new Map(ENTRY_KINDS.map((kind) => [kind, kind]));

/** Facts that are nothing but id, kind, tokens and perhaps `source`, up to the end of the line. */
function readPlainFacts(text: string): EntryFact[] | undefined {
  const facts: EntryFact[] = [];
  for (;;) {
    const fact = readPlainFact(text);
    if (!fact) return undefined;
    facts.push(fact);
    if (text.charCodeAt(cursor.at) !== COMMA) return isRest(text, cursor.at, "]}") ? facts : undefined;
    cursor.at++;
  }
}

function readPlainFact(text: string): EntryFact | undefined {
  if (!text.startsWith(ID, cursor.at)) return undefined;
  const idStart = cursor.at + ID.length;
  const idEnd = endOfId(text, idStart);
  if (!text.startsWith(KIND, idEnd)) return undefined;
  const kindStart = idEnd + KIND.length;
  const kindEnd = text.indexOf('"', kindStart);
  const kind = KINDS.get(text.slice(kindStart, kindEnd));
  if (kind === undefined || !text.startsWith(TOKENS, kindEnd)) return undefined;
  cursor.at = kindEnd + TOKENS.length;
  if (!readNumber(text)) return undefined;
  const id = ownCopy(text, idStart, idEnd);
  if (text.startsWith(SOURCE_END, cursor.at)) {
    cursor.at += SOURCE_END.length;
    return { id, kind, tokens: cursor.number, source: true };
  }
  if (text.charCodeAt(cursor.at) !== CLOSING_BRACE) return undefined;
  cursor.at++;
  return { id, kind, tokens: cursor.number };
}

const COMMA = 44;
const CLOSING_BRACE = 125;

/** Longer parts of a string are not copied by engines but keep the whole alive: here, the file's text. */
const LONGEST_COPIED = 12;

/** An id outlives its line by far. */
function ownCopy(text: string, start: number, end: number): string {
  if (end - start <= LONGEST_COPIED) return text.slice(start, end);
  const codes: number[] = [];
  for (let at = start; at < end; at++) codes.push(text.charCodeAt(at));
  return String.fromCharCode(...codes);
}

const LONGEST_ID = 64;

/** The end of an id of letters, digits, `-` and `_`; `start` when it has other characters or is too long. */
function endOfId(text: string, start: number): number {
  const limit = Math.min(text.length, start + LONGEST_ID);
  let at = start;
  while (at < limit && isIdCode(text.charCodeAt(at))) at++;
  return at;
}

function isIdCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 48 && code <= 57) ||
    (code >= 65 && code <= 90) ||
    code === 45 ||
    code === 95
  );
}

/** Fifteen digits are a safe integer. */
const MOST_DIGITS = 15;
const ZERO = 48;

/** Reads a whole number at the cursor, as JSON writes it. */
function readNumber(text: string): boolean {
  const start = cursor.at;
  const limit = start + MOST_DIGITS;
  let number = 0;
  let at = start;
  for (; at < limit; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    // Past the end there is NaN.
    if (!(digit >= 0 && digit <= 9)) break;
    number = number * 10 + digit;
  }
  cursor.at = at;
  cursor.number = number;
  // JSON writes no leading zero but that of 0 itself.
  return at > start && (at - start === 1 || text.charCodeAt(start) !== ZERO);
}
