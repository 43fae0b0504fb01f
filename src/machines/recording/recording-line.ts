import type { ZodType } from "zod";
import { EngineEventSchema, EVENT_VERSION } from "../../reducers/engine/events.ts";
import { KeyframeSchema } from "../keyframe.ts";
import { DecisionSchema, HeaderSchema, RECORDING_VERSION, type RecordingLine } from "./recording.ts";

/** A line that is not a line of a recording; the message says what is wrong with it. */
export class RecordingLineError extends Error {
  override name = "RecordingLineError";
}

/** What older recordings call what has another name now. */
const OLD_NAMES: Readonly<Record<string, string>> = {
  throughId: "coversUpToId",
  emptyThroughId: "emptyUpToId",
  coverageAtStart: "watermarkAtStart",
};
const OLD_NAME = new RegExp(`"(${Object.keys(OLD_NAMES).join("|")})":`, "g");

/** Reads one line of a recording, of this version or an older one. Throws `RecordingLineError` for anything else. */
export function parseRecordingLine(text: string): RecordingLine {
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
  const parsed = schemaFor(value.type).safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") || String(value.type);
  throw new RecordingLineError(`${where}: ${issue?.message ?? "not as it should be"}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RecordingLineError("it is not JSON");
  }
}

/** Each kind of line by its own schema: a union would try them one after the other. */
const SCHEMAS: ReadonlyMap<unknown, ZodType<RecordingLine>> = new Map<unknown, ZodType<RecordingLine>>([
  ["header", HeaderSchema],
  ["keyframe", KeyframeSchema],
  ["decision", DecisionSchema],
  ...EngineEventSchema.options.map((option) => [option.shape.type.value, option] as const),
]);

function schemaFor(type: unknown): ZodType<RecordingLine> {
  return SCHEMAS.get(type) ?? EngineEventSchema;
}
