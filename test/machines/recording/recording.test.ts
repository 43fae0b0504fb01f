import { describe, expect, it } from "vitest";
import type { Step } from "../../../src/machines/engine.ts";
import { KeyframeSchema } from "../../../src/machines/keyframe.ts";
import {
  decisionOf,
  encodeLine,
  type RecordingLine,
  RecordingLineSchema,
} from "../../../src/machines/recording/recording.ts";
import { memoryId } from "../../../src/reducers/ledger/memory-id.ts";
import { schedule } from "../../support/engine/schedule.ts";
import { AT, fact, HEADER, stamped } from "../../support/sessions/builders.ts";

const failed = (kind: string, message: string): RecordingLine =>
  stamped({ type: "compaction.failed", failure: { kind, message } });

describe("what is written of a line", () => {
  it("is one line of JSON", () => {
    const line: RecordingLine = stamped({ type: "turn.ended" });
    expect(encodeLine(line)).toBe(`${JSON.stringify(line)}\n`);
  });

  it("leaves out what a provider said of a failure", () => {
    expect(JSON.parse(encodeLine(failed("other", "your prompt: the secret plan")))).toEqual(
      failed("other", ""),
    );
  });

  it("keeps ids and names, and puts a digest in place of whatever reads otherwise", () => {
    for (const name of [
      "",
      "a",
      "e1",
      "0f3a9b2c",
      "om.folded",
      "a/b-c:d+e@f_g",
      "2026-01-15T09:00:00.000Z",
      "x".repeat(80),
    ])
      expect(JSON.parse(encodeLine(failed(name, "")))).toEqual(failed(name, ""));
    for (const text of [
      "two words",
      "/home/user/plan.md",
      "x".repeat(81),
      "line\n",
      "naïve",
      'a"b',
      "a?",
      "?a",
      "a\u0000",
    ])
      expect(JSON.parse(encodeLine(failed(text, "")))).toEqual(failed(`~${memoryId(text)}`, ""));
  });

  it("keeps numbers and truth values", () => {
    const line = stamped({ type: "branch.extended", entries: [fact.user("e1", 12.5)] });
    expect(JSON.parse(encodeLine(line))).toEqual(line);
  });
});

describe("a decision", () => {
  const step = (decided: Partial<Step>) =>
    ({
      event: stamped({ type: "turn.ended" }),
      transitions: [],
      commands: [],
      ...decided,
    }) as unknown as Step;
  const transitions: Step["transitions"] = [{ lane: "observer", from: "idle", to: "due" }];
  const commands: Step["commands"] = [{ type: "abortRun", runId: "observer-1" }];

  it("is what moved or was asked for, and none when nothing was", () => {
    expect(decisionOf(step({}))).toBeUndefined();
    const decision = { type: "decision", seq: 1 };
    expect(decisionOf(step({ transitions }))).toEqual({ ...decision, transitions, commands: [] });
    expect(decisionOf(step({ commands }))).toEqual({ ...decision, transitions: [], commands });
  });
});

describe("the schema of a line", () => {
  it("takes every kind of line, and nothing else", () => {
    const lines: RecordingLine[] = [
      HEADER,
      schedule().engine.keyframe(),
      { type: "decision", seq: 1, transitions: [], commands: [] },
      stamped({ type: "turn.ended" }),
    ];
    for (const line of lines) expect(RecordingLineSchema.parse(JSON.parse(encodeLine(line)))).toBeDefined();
    expect(RecordingLineSchema.safeParse({ type: "other" }).success).toBe(false);
  });

  it("wants a keyframe's failures whole", () => {
    const keyframe = schedule().engine.keyframe();
    const failure = { kind: "other", message: "", at: AT };
    const withBoth = (of: unknown) => ({
      ...keyframe,
      compactionFailure: of,
      workers: { ...keyframe.workers, observer: { ...keyframe.workers.observer, failure: of } },
    });
    expect(KeyframeSchema.parse(withBoth(failure))).toMatchObject(withBoth(failure));
    for (const key of ["kind", "message", "at"]) {
      const { compactionFailure, workers } = withBoth({ ...failure, [key]: undefined });
      expect(KeyframeSchema.safeParse({ ...keyframe, compactionFailure }).success).toBe(false);
      expect(KeyframeSchema.safeParse({ ...keyframe, workers }).success).toBe(false);
    }
  });
});
