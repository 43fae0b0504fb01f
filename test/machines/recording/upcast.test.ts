import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEngine } from "../../../src/machines/engine.ts";
import { decisionOf, encodeLine, type RecordingLine } from "../../../src/machines/recording/recording.ts";
import { parseRecordingLine } from "../../../src/machines/recording/recording-line.ts";
import { actedSession, anyAct } from "../../support/engine/engine-acts.ts";
import { AT, finished, HEADER, stamped } from "../../support/sessions/builders.ts";

const OLD_NAMES: Readonly<Record<string, string>> = {
  emptyUpToId: "emptyThroughId",
  watermarkAtStart: "coverageAtStart",
};

/** The line as a version 1 of this package wrote it. */
function version1(line: RecordingLine): string {
  return JSON.stringify(JSON.parse(encodeLine(line)), (_, value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const isResult = value.type === "run.finished";
    const fields = Object.entries(value).map(([name, field]) => {
      if (name === "v" || name === "recording") return [name, 1];
      return [isResult && name === "coversUpToId" ? "throughId" : (OLD_NAMES[name] ?? name), field];
    });
    return Object.fromEntries(fields);
  });
}

/** Whatever may be recorded of a session in which this happens: events, decisions, and a keyframe after each. */
const recorded = fc.array(anyAct, { maxLength: 40, size: "max" }).map((acts) => {
  const session = actedSession();
  const engine = createEngine();
  const lines: RecordingLine[] = [HEADER];
  for (const act of [{ do: "open", isSame: true } as const, ...acts]) {
    for (const event of session.eventsOf(act)) {
      const step = engine.step(event);
      session.hear(step.commands);
      lines.push(event, ...[decisionOf(step) ?? []].flat(), engine.keyframe());
    }
  }
  return lines;
});

describe("a line of version 1", () => {
  it("is read as the line of version 2 that says the same, whatever was recorded", () => {
    fc.assert(
      fc.property(recorded, (lines) => {
        for (const line of lines) {
          expect(parseRecordingLine(version1(line))).toEqual(parseRecordingLine(encodeLine(line)));
        }
      }),
      { numRuns: 100 },
    );
  });

  it("has other names for what a run read, for an empty range and for where a lane began", () => {
    const written = version1(createEngine().keyframe());
    expect(written).toContain('"coverageAtStart"');
    expect(written).toContain('"emptyThroughId"');
    const result = version1(stamped(finished("observer-1", "observer", "empty", "e1")));
    expect(result).toContain(`{"v":1,"seq":1,"at":"${AT}","type":"run.finished"`);
    expect(result).toContain('"throughId":"e1"');
  });

  it("keeps new names that it has already, and a keyframe that knows of no empty range has none", () => {
    const event = stamped(finished("observer-1", "observer", "empty", "e1"));
    expect(parseRecordingLine(JSON.stringify({ ...event, v: 1 }))).toEqual(event);
    const { emptyRange: _, ...keyframe } = createEngine().keyframe();
    expect(parseRecordingLine(JSON.stringify(keyframe))).toEqual({ ...keyframe, emptyRange: null });
  });

  it.each([
    '{"type":"header","recording":1}',
    '{"type":"decision","seq":1,"transitions":[],"commands":[null,{"emptyThroughId":7}]}',
    '{"type":"decision","seq":1,"commands":{}}',
    '{"type":"keyframe"}',
    '{"type":"keyframe","machines":{"observer":null},"workers":{"observer":{"last":[1]}}}',
    '{"type":"run.finished","v":1,"throughId":{}}',
  ])("that is damaged cannot be read: %s", (text) => {
    expect(() => parseRecordingLine(text)).toThrow(expect.objectContaining({ name: "RecordingLineError" }));
  });
});
