import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isBlank, type Line } from "../../../src/machines/recording/line.ts";
import { readPlainEvent } from "../../../src/machines/recording/plain-event.ts";
import {
  isDecision,
  parseRecordingLine,
  RecordingLineError,
  readRecordingLine,
} from "../../../src/machines/recording/recording-line.ts";
import { eventTime } from "../../../src/reducers/engine/event-time.ts";
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

/** A line among others, as a file has it */
function among(text: string, before: string, after: string): Line {
  const whole = `${before}\n${text}\n${after}`;
  const isAscii = [...whole].every((character) => character <= "\x7f");
  const piece = { text: whole, ...(isAscii && { ascii: new TextEncoder().encode(whole) }) };
  const start = before.length + 1;
  return { piece, start, end: start + text.length };
}

/** Reads a line as JSON and off the bytes of a file; both must say the same of it, if only that it is no line. */
function expectReadsAlike(text: string, before: string): void {
  const line = among(text, before, "");
  if (before !== "") readPlainEvent({ ...line, start: 0, end: before.length });
  const [fromJson, fromBytes] = [() => parseRecordingLine(text), () => readRecordingLine(line)].map(
    (read) => {
      try {
        return { read: read() };
      } catch (error) {
        return { problem: (error as Error).message };
      }
    },
  );
  // Comparing text is cheap; the assertion only words the difference.
  if (JSON.stringify(fromBytes) !== JSON.stringify(fromJson))
    expect([text, fromBytes]).toEqual([text, fromJson]);
}

const neighbour = fc.oneof(
  event.map((value) => JSON.stringify(value)),
  fc.string({ maxLength: 5 }),
);

describe("a line of a recording", () => {
  it("reads as its schema has it, whichever way it is read", () => {
    fc.assert(
      fc.property(event, neighbour, neighbour, (value, before, after) => {
        const text = JSON.stringify(value);
        const checked = EngineEventSchema.safeParse(JSON.parse(text));
        for (const read of [
          () => parseRecordingLine(text),
          () => readRecordingLine(among(text, before, after)),
        ]) {
          if (checked.success) expect(read()).toEqual(checked.data);
          else expect(read).toThrow(RecordingLineError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("is refused, and never read wrongly, when a character of it was changed", () => {
    const edit = fc.record({
      where: fc.double({ min: 0, max: 1, noNaN: true }),
      by: fc.string({ maxLength: 1 }),
    });
    fc.assert(
      fc.property(event, edit, neighbour, (value, { where, by }, after) => {
        const text = JSON.stringify(value);
        const place = Math.floor(where * text.length);
        const edited = text.slice(0, place) + by + text.slice(place + 1);
        let expected: unknown;
        try {
          expected = EngineEventSchema.parse(JSON.parse(edited));
        } catch {
          expected = undefined;
        }
        let read: unknown;
        try {
          read = readRecordingLine(among(edited, "", after));
        } catch (error) {
          expect(error).toBeInstanceOf(RecordingLineError);
        }
        expect(read).toEqual(expected);
      }),
      { numRuns: 3000 },
    );
  });

  it("reads alike off its bytes and as JSON, whichever byte of it is another, missing or there twice", () => {
    const head = '{"v":1,"seq":10,"at":"2026-01-15T09:05:09.059Z","type":';
    const facts = [
      '{"id":"a0z9AZ-_bcdef","kind":"user","tokens":10,"source":true}',
      '{"id":"b","kind":"other","tokens":0}',
    ].join(",");
    const good = [
      `${head}"turn.ended"}`,
      `${head}"agent.started"}`,
      `${head}"agent.settled","aborted":false}`,
      `${head}"agent.settled","aborted":true}`,
      `${head}"branch.extended","entries":[${facts}]}`,
    ];
    const others = [...'0569/:@AZ[^_`az{-.,]}" \t\x7f', "é"];
    for (const text of good) {
      for (let place = 0; place < text.length; place++) {
        const [before, here, after] = [text.slice(0, place), text.charAt(place), text.slice(place + 1)];
        for (const by of ["", here + here, ...others]) {
          // The line before it has the same minute, as nearly all have.
          expectReadsAlike(before + by + after, text);
        }
      }
    }
  });

  it("reads alike off its bytes and as JSON where a number or an id is at its limits", () => {
    const line = (seq: string, id: string, tokens: string) =>
      `{"v":1,"seq":${seq},"at":"2026-01-15T09:05:09.059Z","type":"branch.extended","entries":[{"id":"${id}","kind":"user","tokens":${tokens}}]}`;
    const numbers = [
      "0",
      "00",
      "01",
      "9",
      "-1",
      "1.5",
      "1e3",
      "",
      ...[14, 15, 16, 17].map((n) => "9".repeat(n)),
    ];
    for (const number of numbers) {
      expectReadsAlike(line(number, "a", "1"), "");
      expectReadsAlike(line("1", "a", number), "");
    }
    for (const length of [0, 1, 11, 12, 13, 63, 64, 65, 100])
      expectReadsAlike(line("1", "f".repeat(length), "1"), "");
  });

  it("ends where it is said to end, whatever follows", () => {
    const text = '{"v":1,"seq":1,"at":"2026-01-15T09:05:09.059Z","type":"turn.ended"}';
    const ascii = new TextEncoder().encode(`${text}${text}`);
    const piece = { text: `${text}${text}`, ascii };
    expect(readPlainEvent({ piece, start: 0, end: text.length })).toMatchObject({ seq: 1 });
    expect(readPlainEvent({ piece, start: text.length, end: 2 * text.length })).toMatchObject({ seq: 1 });
    for (const end of [0, text.length - 1, text.length + 1, 2 * text.length])
      expect(readPlainEvent({ piece, start: 0, end })).toBeUndefined();
    expect(readPlainEvent({ piece: { text }, start: 0, end: text.length })).toBeUndefined();
  });

  it("is read off its bytes when it is one of the frequent events", () => {
    const lines = [...largeRecording({ events: 500, tokensPerEntry: 10 })];
    const read = lines.map((line) => readPlainEvent(among(JSON.stringify(line), "", "")));
    const isRead = (event: unknown) => event !== undefined;
    expect(read.filter(isRead).length).toBeGreaterThan(0.95 * lines.length);
    expect(read.filter(isRead)).toEqual(lines.filter((_, index) => isRead(read[index])));
  });

  it("lets go of the piece that it was in, whatever is kept of the event", () => {
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    // As large as pieces are; Node keeps the text of much larger ones outside of the heap.
    const [pieces, bytes] = [200, 1 << 17];
    const filler = "x".repeat(bytes);
    const id = "0123456789abcdef";
    const facts = JSON.stringify([{ id, kind: "user", tokens: 1, source: true }]);
    const read = (seq: number) => {
      const at = new Date(Date.UTC(2026, 0, 15) + seq * 1000).toISOString();
      const text = `{"v":1,"seq":${seq},"at":"${at}","type":"branch.extended","entries":${facts}}`;
      // Through bytes, so that the piece's text is one string as that of a file is.
      const ascii = Buffer.from(`${text}\n${filler}`);
      return readPlainEvent({ piece: { text: ascii.toString("latin1"), ascii }, start: 0, end: text.length });
    };
    collect();
    const before = process.memoryUsage().heapUsed;
    const events = Array.from({ length: pieces }, (_, index) => read(index + 1));
    collect();
    const held = process.memoryUsage().heapUsed - before;
    expect(events.every((event) => event?.type === "branch.extended")).toBe(true);
    expect(held).toBeLessThan((pieces * bytes) / 4);
  });

  it("comes back from what is written of a whole recording", () => {
    for (const line of largeRecording({ events: 500, tokensPerEntry: 900 })) {
      expect(parseRecordingLine(JSON.stringify(line))).toEqual(line);
    }
  });

  it("keeps the order of its members when it is read off its bytes", () => {
    const text = '{"v":1,"seq":1,"at":"2026-01-15T09:05:09.059Z","type":"turn.ended"}';
    expect(JSON.stringify(readRecordingLine(among(text, "", "")))).toBe(text);
  });

  it("tells a decision by how the recorder writes it, and blank lines by nothing in them", () => {
    const decision = '{"type":"decision","seq":1,"transitions":[],"commands":[]}';
    expect(isDecision(among(decision, "x", "y"))).toBe(true);
    expect(isDecision(among(` ${decision}`, "x", "y"))).toBe(false);
    expect(isDecision(among('{"type":"header"}', decision, decision))).toBe(false);
    for (const blank of ["", " ", "\t \r", "\u2003 ".trimStart()]) {
      expect([blank, isBlank(among(blank, "x", "y"))]).toEqual([blank, true]);
    }
    for (const text of ["{}", " {}", "\u0000", " x "])
      expect([text, isBlank(among(text, "", ""))]).toEqual([text, false]);
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

describe("event time", () => {
  it("is what Date.parse gives, for any text", () => {
    fc.assert(
      fc.property(
        fc.oneof(at, fc.string({ maxLength: 24 }), fc.stringMatching(/^[0-9T:.Z-]{24}$/)),
        (text) => {
          expect(eventTime(text)).toBe(Date.parse(text));
        },
      ),
    );
  });

  it.each([
    "2026-01-15T09:00:60.000Z",
    "2026-13-15T09:00:00.000Z",
    "2026-01-15T09:00:00,000Z",
    "2026-01-15T24:00:00.000Z",
  ])("is as strict as Date.parse about %s", (text) => {
    expect(eventTime("2026-01-15T09:00:00.000Z")).toBe(Date.parse("2026-01-15T09:00:00.000Z"));
    expect(eventTime(text)).toBe(Date.parse(text));
  });
});
