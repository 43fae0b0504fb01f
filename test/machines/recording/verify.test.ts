import { describe, expect, it } from "vitest";
import type { Step } from "../../../src/machines/engine.ts";
import type { Decision } from "../../../src/machines/recording/recording.ts";
import { createVerifier } from "../../../src/machines/recording/verify.ts";

const ABORT = { type: "abortRun" as const, runId: "observer-1" };
const MOVE = { lane: "observer" as const, from: "idle", to: "due" };

import { stamped } from "../../support/sessions/builders.ts";

const NOTHING = { transitions: [], commands: [] };

/** What the replay did at an event, as far as a verifier looks. */
function step(seq: number, decided: Partial<Pick<Step, "transitions" | "commands">> = {}) {
  const event = stamped({ type: "turn.ended" }, seq);
  return { number: seq, event, ...NOTHING, ...decided } as unknown as Step & { number: number };
}

function decision(seq: number, decided: Partial<Omit<Decision, "type" | "seq">>): Decision {
  return { type: "decision", seq, ...NOTHING, ...decided };
}

describe("a verifier", () => {
  it("finds nothing where what was decided is what was recorded", () => {
    const { event, decision: take, end, result } = createVerifier();
    event(step(1));
    event(step(2, { transitions: [MOVE] }));
    take(decision(2, { transitions: [MOVE] }));
    event(step(3, { commands: [ABORT] }));
    take(decision(3, { commands: [ABORT] }));
    end({ truncated: false });
    expect(result).toEqual({ compared: 3, decisions: 2, unverified: 0 });
  });

  it("finds a decision that was not recorded, at the next event, the next opening or the end", () => {
    const [byEvent, byOpening, byEnd] = [createVerifier(), createVerifier(), createVerifier()];
    for (const verifier of [byEvent, byOpening, byEnd]) verifier.event(step(7, { commands: [ABORT] }));
    byEvent.event(step(8));
    byOpening.opens();
    byEnd.end({ truncated: false });
    for (const { result } of [byEvent, byOpening, byEnd]) {
      expect(result.difference).toMatchObject({
        number: 7,
        expected: NOTHING,
        actual: { transitions: [], commands: [ABORT] },
      });
    }
  });

  it("finds a recorded decision that was not made, not made any more, or made at another event", () => {
    const verifiers = [createVerifier(), createVerifier(), createVerifier()];
    const [notMade, twice, other] = verifiers;
    const line = decision(2, { commands: [ABORT] });
    for (const verifier of verifiers) verifier.event(step(1));
    notMade?.event(step(2));
    notMade?.decision(line);
    twice?.event(step(2, { commands: [ABORT] }));
    twice?.decision(line);
    twice?.decision(line);
    other?.event(step(3, { commands: [ABORT] }));
    other?.decision(line);
    for (const [verifier, number] of [
      [notMade, 2],
      [twice, 2],
      [other, 3],
    ] as const) {
      expect(verifier?.result.difference).toMatchObject({
        number,
        expected: { transitions: [], commands: [ABORT] },
        actual: NOTHING,
      });
    }
    expect(twice?.result.difference?.lastEvents.map(({ number }) => number)).toEqual([1, 2]);
  });

  it("compares nothing after the first difference", () => {
    const { event, decision: take, lostLine, lostEvents, end, result } = createVerifier();
    event(step(1, { commands: [ABORT] }));
    event(step(2, { transitions: [MOVE] }));
    take(decision(2, { commands: [ABORT] }));
    lostLine();
    event(step(3));
    lostEvents();
    event(step(4));
    end({ truncated: false });
    expect(result).toMatchObject({ compared: 1, decisions: 0, unverified: 0, difference: { number: 1 } });
  });

  it("judges nothing from missing events up to the next opening", () => {
    const { event, decision: take, lostEvents, opens, end, result } = createVerifier();
    lostEvents();
    event(step(4));
    take(decision(4, { commands: [ABORT] }));
    event(step(5, { commands: [ABORT] }));
    take(decision(5, {}));
    opens();
    event(step(1, { commands: [ABORT] }));
    take(decision(1, { commands: [ABORT] }));
    end({ truncated: false });
    expect(result).toEqual({ compared: 1, decisions: 1, unverified: 2 });
  });

  it("does not judge the event whose decision a lost line may have held", () => {
    const verifiers = [createVerifier(), createVerifier(), createVerifier()];
    for (const { event, decision: take, lostLine } of verifiers) {
      event(step(1, { commands: [ABORT] }));
      lostLine();
      // This may belong to an event that was lost.
      take(decision(9, { commands: [ABORT] }));
      take(decision(9, {}));
    }
    verifiers[0]?.event(step(2));
    verifiers[1]?.opens();
    verifiers[2]?.end({ truncated: false });
    expect(verifiers.map(({ result }) => result)).toEqual([
      { compared: 0, decisions: 0, unverified: 1 },
      { compared: 0, decisions: 0, unverified: 0 },
      { compared: 0, decisions: 0, unverified: 0 },
    ]);
  });

  it("does not judge the last event of what broke off", () => {
    const { event, end, result } = createVerifier();
    event(step(1, { commands: [ABORT] }));
    end({ truncated: true });
    expect(result).toEqual({ compared: 0, decisions: 0, unverified: 0 });
  });

  it("shows at most five events, the one that differs last", () => {
    for (const count of [1, 4, 5, 6, 12]) {
      const { event, end, result } = createVerifier();
      for (let seq = 1; seq < count; seq++) event(step(seq));
      event(step(count, { commands: [ABORT] }));
      end({ truncated: false });
      const numbers = result.difference?.lastEvents.map(({ number }) => number);
      expect(numbers).toEqual([1, 2, 3, 4, 5].map((n) => count - 5 + n).filter((n) => n > 0));
    }
  });

  it.each([
    ["text and a number", "1", 1],
    ["a number and an object", 1, {}],
    ["null and an object", null, {}],
    ["a list and an object", [], {}],
    ["lists of another length", [1], [1, 2]],
    ["another key", { a: 1 }, { b: 1 }],
    ["a key more", { a: 1 }, { a: 1, b: 2 }],
    ["something deep within", { a: [{ b: 1 }] }, { a: [{ b: 2 }] }],
  ])("tells %s apart, either way round", (_what, one, other) => {
    for (const [recorded, made] of [
      [one, other],
      [other, one],
    ]) {
      const { event, decision: take, result } = createVerifier();
      event(step(1, { commands: [{ ...ABORT, more: made }] } as object));
      take(decision(1, { commands: [{ ...ABORT, more: recorded }] } as object));
      expect(result.difference?.number).toBe(1);
    }
  });

  it("takes what is undefined for absent, which JSON cannot tell apart", () => {
    const [one, other] = [createVerifier(), createVerifier()];
    const [plain, padded] = [{ commands: [ABORT] }, { commands: [{ ...ABORT, more: undefined }] }];
    one.event(step(1, padded));
    one.decision(decision(1, plain));
    other.event(step(1, plain));
    other.decision(decision(1, padded));
    expect([one.result, other.result]).toEqual(Array(2).fill({ compared: 1, decisions: 1, unverified: 0 }));
  });
});
