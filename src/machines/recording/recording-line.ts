import type { ZodType } from "zod";
import { EngineEventSchema, EVENT_VERSION } from "../../reducers/engine/events.ts";
import { fieldsOf } from "../../reducers/entries/entry.ts";
import { KeyframeSchema } from "../keyframe.ts";
import { DecisionSchema, HeaderSchema, RECORDING_VERSION, type RecordingLine } from "./recording.ts";
import { upcast } from "./upcast.ts";

/** A line that is not a line of a recording; the message says what is wrong with it. */
export class RecordingLineError extends Error {
  override name = "RecordingLineError";
}

/** Reads one line of a recording, of this version or an older one. Throws `RecordingLineError` for anything else. */
export function parseRecordingLine(text: string): RecordingLine {
  const json = parseJson(text);
  if (typeof json !== "object" || json === null || !("type" in json)) {
    throw new RecordingLineError("it is not an event");
  }
  const value = upcast(fieldsOf(json));
  if ("recording" in value) refuseOther("its format is", value.recording, RECORDING_VERSION);
  if ("v" in value) refuseOther("its event is of", value.v, EVENT_VERSION);
  const parsed = schemaFor(value.type).safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") || String(value.type);
  throw new RecordingLineError(`${where}: ${issue?.message ?? "not as it should be"}`);
}

function refuseOther(what: string, version: unknown, current: number): void {
  if (version === current) return;
  const advice = typeof version === "number" && version > current ? "; install a newer one" : "";
  throw new RecordingLineError(
    `${what} version ${version}, and this pi-memory-lanes reads 1 to ${current}${advice}`,
  );
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
