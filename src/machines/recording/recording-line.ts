import type { ZodType } from "zod";
import { type EngineEvent, EngineEventSchema, EVENT_VERSION } from "../../reducers/engine/events.ts";
import { KeyframeSchema } from "../keyframe.ts";
import { type Line, lineOf, lineText } from "./line.ts";
import { readPlainEvent } from "./plain-event.ts";
import { type QuickCheck, quickCheckOf } from "./quick-check.ts";
import { DecisionSchema, HeaderSchema, RECORDING_VERSION, type RecordingLine } from "./recording.ts";

/** A line that is not a line of a recording; the message says what is wrong with it. */
export class RecordingLineError extends Error {
  override name = "RecordingLineError";
}

/** Reads one line of a recording. Throws `RecordingLineError` for anything else. */
export function parseRecordingLine(text: string): RecordingLine {
  return readRecordingLine(lineOf(text));
}

/**
 * The same for a line of a file. A long recording is nearly all short events in the very form that the recorder writes;
 * those are read by looking for that form, and every other line is parsed as JSON and checked by its schema.
 */
export function readRecordingLine(line: Line): RecordingLine {
  return readPlainEvent(line) ?? readChecked(lineText(line));
}

const DECISION = '{"type":"decision",';

/** Whether a line holds a decision, as the recorder writes it. */
export function isDecision({ piece, start }: Line): boolean {
  return piece.text.startsWith(DECISION, start);
}

/** What older recordings call what has another name now. */
const OLD_NAMES: Readonly<Record<string, string>> = {
  throughId: "coversUpToId",
  emptyThroughId: "emptyUpToId",
  coverageAtStart: "watermarkAtStart",
};
const OLD_NAME = new RegExp(`"(${Object.keys(OLD_NAMES).join("|")})":`, "g");

function readChecked(text: string): RecordingLine {
  const value = parseJson(text.replace(OLD_NAME, (_, name: string) => `"${OLD_NAMES[name]}":`));
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
