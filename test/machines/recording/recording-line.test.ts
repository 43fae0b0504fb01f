import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRecordingLine } from "../../../src/machines/recording/recording-line.ts";
import { EngineEventSchema, type Unstamped } from "../../../src/reducers/engine/events.ts";
import { ENTRY_KINDS } from "../../../src/reducers/entries/entry-fact.ts";
import { largeRecording } from "../../support/recordings/large-recording.ts";
import { stamped } from "../../support/sessions/builders.ts";

const at = fc
  .integer({ min: Date.parse("1970-01-01T00:00:00Z"), max: Date.parse("9999-12-31T23:59:59.999Z") })
  .map((ms) => new Date(ms).toISOString());

const fact = fc.record(
  {
    id: fc.oneof(fc.stringMatching(/^[0-9a-f]{8}$/), fc.uuid(), fc.string({ maxLength: 80 })),
    kind: fc.constantFrom(...ENTRY_KINDS),
    tokens: fc.oneof(fc.nat(), fc.double({ min: 0, max: 1e21, noNaN: true })),
    source: fc.boolean(),
  },
  { requiredKeys: ["id", "kind", "tokens"] },
);

const event = fc
  .record({
    seq: fc.oneof(fc.integer({ min: 1, max: 2e9 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
    at,
    body: fc.oneof(
      fc.record({ type: fc.constantFrom("turn.ended", "agent.started") }),
      fc.record({ type: fc.constant("agent.settled"), aborted: fc.boolean() }),
      fc.record({ type: fc.constant("branch.extended"), entries: fc.array(fact, { maxLength: 4 }) }),
    ),
  })
  .map(({ seq, at, body }) => stamped(body as Unstamped, seq, at));

describe("a line of a recording", () => {
  it("is what was written, for any event", () => {
    fc.assert(
      fc.property(event, (written) => {
        expect(parseRecordingLine(JSON.stringify(written))).toEqual(EngineEventSchema.parse(written));
      }),
    );
  });

  it("is an event, or a line that cannot be read, wherever a byte of it is another, missing or there twice", () => {
    const text = '{"v":2,"seq":10,"at":"2026-01-15T09:05:09.059Z","type":"agent.settled","aborted":false}';
    for (let place = 0; place < text.length; place++) {
      const [before, here, after] = [text.slice(0, place), text.charAt(place), text.slice(place + 1)];
      for (const by of ["", here + here, ...'059{-.,]}" \t\x7f', "é", "\0"]) {
        try {
          const read = parseRecordingLine(before + by + after);
          expect(EngineEventSchema.safeParse(read).success).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ name: "RecordingLineError" });
        }
      }
    }
  });

  it("comes back from what is written of a whole recording", () => {
    for (const line of largeRecording({ events: 500, tokensPerEntry: 900 })) {
      expect(parseRecordingLine(JSON.stringify(line))).toEqual(line);
    }
  });

  it.each([
    ["[1]", "not an event"],
    ["1", "not an event"],
    ["null", "not an event"],
    ['"type"', "not an event"],
    ["{", "not JSON"],
    [
      '{"v":2,"seq":1,"at":"2026-01-15T09:00:00.000Z","type":"branch.extended","entries":[{"id":1}]}',
      "entries.0.id: ",
    ],
    ['{"type":"header","recording":3}', /its format is version 3, .* reads 1 to 2; install a newer one$/],
    [
      '{"v":3,"seq":1,"type":"turn.ended"}',
      /its event is of version 3, .* reads 1 to 2; install a newer one$/,
    ],
    [
      '{"v":0,"seq":1,"type":"turn.ended"}',
      /its event is of version 0, and this pi-memory-lanes reads 1 to 2$/,
    ],
    ['{"v":"3","seq":1,"type":"turn.ended"}', /reads 1 to 2$/],
    ['{"v":2,"seq":0,"at":"2026-01-15T09:00:00.000Z","type":"turn.ended"}', "seq"],
    ['{"v":2,"seq":1,"at":"2026-02-30T09:00:00.000Z","type":"turn.ended"}', "at"],
    ['{"v":2,"seq":1,"at":"2026-01-15T09:00:00.000Z","type":"turn.began"}', "type"],
  ])("says what is wrong with %s", (text, words) => {
    expect(() => parseRecordingLine(text)).toThrow(words);
    expect(() => parseRecordingLine(text)).toThrow(expect.objectContaining({ name: "RecordingLineError" }));
  });
});
