import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRecordingLine } from "../../../src/machines/recording/recording-line.ts";
import { EngineEventSchema } from "../../../src/reducers/engine/events.ts";
import { ENTRY_KINDS } from "../../../src/reducers/entries/entry-fact.ts";
import { largeRecording } from "../../support/large-recording.ts";

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
  .map(({ seq, at, body }) => ({ v: 1, seq, at, ...body }));

describe("a line of a recording", () => {
  it("is what was written, for any event", () => {
    fc.assert(
      fc.property(event, (written) => {
        expect(parseRecordingLine(JSON.stringify(written))).toEqual(EngineEventSchema.parse(written));
      }),
    );
  });

  it("is an event, or a line that cannot be read, wherever a byte of it is another, missing or there twice", () => {
    const text = '{"v":1,"seq":10,"at":"2026-01-15T09:05:09.059Z","type":"agent.settled","aborted":false}';
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

  it("is read by the names that older recordings have", () => {
    const at = "2026-01-15T09:00:00.000Z";
    const command = { type: "startRun", runId: "observer-2", worker: "observer", failures: 0 };
    const decision = { type: "decision", seq: 1, transitions: [] };
    const old = JSON.stringify({ ...decision, commands: [{ ...command, emptyThroughId: "e1" }] });
    expect(parseRecordingLine(old)).toEqual({ ...decision, commands: [{ ...command, emptyUpToId: "e1" }] });
    const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 };
    const run = { runId: "observer-1", outcome: "empty", worker: "observer", records: 0, rejected: 0 };
    const facts = { requests: 1, sourceTokens: 1, durationMs: 1, usage };
    const finished = { v: 1, seq: 1, at, type: "run.finished", ...run, ...facts };
    expect(parseRecordingLine(JSON.stringify({ ...finished, throughId: "e1" }))).toEqual({
      ...finished,
      coversUpToId: "e1",
    });
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
      '{"v":1,"seq":1,"at":"2026-01-15T09:00:00.000Z","type":"branch.extended","entries":[{"id":1}]}',
      "entries.0.id: ",
    ],
    ['{"type":"header","recording":2}', "version 2"],
    ['{"v":9,"seq":1,"type":"turn.ended"}', "version 9"],
    ['{"v":1,"seq":0,"at":"2026-01-15T09:00:00.000Z","type":"turn.ended"}', "seq"],
    ['{"v":1,"seq":1,"at":"2026-02-30T09:00:00.000Z","type":"turn.ended"}', "at"],
    ['{"v":1,"seq":1,"at":"2026-01-15T09:00:00.000Z","type":"turn.began"}', "type"],
  ])("says what is wrong with %s", (text, words) => {
    expect(() => parseRecordingLine(text)).toThrow(words);
    expect(() => parseRecordingLine(text)).toThrow(expect.objectContaining({ name: "RecordingLineError" }));
  });
});
