import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as conventions from "@opentelemetry/semantic-conventions/incubating";
import { describe, expect, it } from "vitest";
import { ATTR, CONVENTIONS, METRICS, OPERATION } from "../../../src/effects/telemetry/names.ts";
import {
  backlogOf,
  createProjection,
  type Measurement,
  type SpanRecord,
} from "../../../src/effects/telemetry/projection.ts";
import { AGENT_BUSY, type RunResult } from "../../../src/reducers/engine/events.ts";
import { schedule } from "../../support/engine/schedule.ts";
import { ROOT } from "../../support/programs/run-cli.ts";
import { finished } from "../../support/sessions/builders.ts";

/** A session whose observer runs, in which this is told; what telemetry makes of that. */
function telling(result: Partial<RunResult>, outcome: RunResult["outcome"] = "recorded") {
  const session = schedule({ observeAfterTokens: 100 });
  session.turn(200);
  session.wait(5000);
  const run = { ...finished(session.inFlight[0]?.runId ?? "", "observer", outcome, session.tip), ...result };
  const recordsOf = createProjection();
  const { spans, measurements } = recordsOf(session.tell({ ...run, durationMs: 4000 }));
  const [span] = spans;
  if (!span || spans.length > 1) throw new Error(`${spans.length} spans`);
  return { session, span, measurements };
}

const usage = { input: 10, output: 5, cacheRead: 100, cacheWrite: 20, cost: 0.25 };

function valuesOf(measurements: readonly Measurement[], metric: Measurement["metric"]): number[] {
  return measurements.filter((measured) => measured.metric === metric).map(({ value }) => value);
}

describe("a run", () => {
  it("is a span from its start to its end, and its requests are children of it", () => {
    const end = Date.parse("2026-01-15T14:30:05.000Z");
    const model = "amazon-bedrock/some-model";
    const requestTimes = [
      { startedAt: end - 3900, durationMs: 100, failure: "rate-limit" },
      { startedAt: end - 3000, durationMs: 2500, usage },
    ];
    const { span, measurements } = telling({ model, requests: 2, requestTimes, usage });
    expect(span).toMatchObject({ name: "invoke_agent observer", startedAt: end - 4000, endedAt: end });
    expect(span.attributes).toMatchObject({
      [ATTR.conversation]: "test",
      [ATTR.provider]: "aws.bedrock",
      [ATTR.inputTokens]: 130,
    });
    expect(
      span.children.map(({ name, startedAt, endedAt, error }) => [name, startedAt, endedAt, error]),
    ).toEqual([
      ["chat some-model", end - 3900, end - 3800, "rate-limit"],
      ["chat some-model", end - 3000, end - 500, undefined],
    ]);
    expect(new Set([span.key, ...span.children.map(({ key }) => key)]).size).toBe(3);
    expect(valuesOf(measurements, "tokens")).toEqual([130, 5]);
    expect(valuesOf(measurements, "cost")).toEqual([0.25]);
    expect(valuesOf(measurements, "requestDuration")).toEqual([0.1, 2.5]);
    expect(valuesOf(measurements, "runDuration")).toEqual([4]);
    expect(valuesOf(measurements, "failures")).toEqual([]);
  });

  it("whose deadline cut a request off ends that request with itself", () => {
    const startedAt = Date.parse("2026-01-15T14:30:04.000Z");
    const { span } = telling({ requestTimes: [{ startedAt }] }, "failed");
    expect(span.children).toMatchObject([{ startedAt, endedAt: span.endedAt, error: "timeout" }]);
  });

  it("that failed says the kind and not the words", () => {
    const failure = { kind: "auth", message: "the prompt was: a ferry" };
    const { span, measurements } = telling({ failure }, "failed");
    expect(span).toMatchObject({ error: "auth", attributes: { [ATTR.errorType]: "auth" } });
    expect(valuesOf(measurements, "failures")).toEqual([1]);
    expect(JSON.stringify([span, measurements])).not.toContain("ferry");
  });

  it("of an older recording counts its tokens as a whole", () => {
    const { span, measurements } = telling({ usage });
    expect(span.children).toEqual([]);
    expect(valuesOf(measurements, "tokens")).toEqual([130, 5]);
  });
});

describe("a compaction", () => {
  function spansOf(act: (session: ReturnType<typeof schedule>) => void) {
    const session = schedule({ observeAfterTokens: 10_000, compactAfterTokens: 10_000 });
    session.turn(3000);
    session.turn(500);
    const before = session.steps.length;
    act(session);
    const recordsOf = createProjection();
    const told = session.steps.slice(before).map((step) => recordsOf(step));
    return {
      spans: told.flatMap(({ spans }): readonly SpanRecord[] => spans),
      measurements: told.flatMap(({ measurements }): readonly Measurement[] => measurements),
    };
  }

  it("is a span that says what it freed", () => {
    const { spans, measurements } = spansOf((session) => session.compact("e2"));
    expect(spans).toMatchObject([{ attributes: { [ATTR.freed]: 3000, [ATTR.summaryBy]: "memory" } }]);
    expect(valuesOf(measurements, "freed")).toEqual([3000]);
    expect(valuesOf(measurements, "compactions")).toEqual([1]);
  });

  it("that failed is a failure; one that was only put off is nothing", () => {
    const failed = (kind: string) => (session: ReturnType<typeof schedule>) =>
      session.tell({ type: "compaction.failed", failure: { kind, message: "" } });
    expect(spansOf(failed("refused")).spans).toMatchObject([{ error: "refused" }]);
    expect(spansOf(failed(AGENT_BUSY))).toEqual({ spans: [], measurements: [] });
  });
});

describe("the backlog", () => {
  it("is each lane's clock against its threshold", () => {
    const session = schedule({ observeAfterTokens: 1000 });
    session.say(300);
    const observer = backlogOf(session.engine.state).filter(
      ({ attributes }) => attributes[ATTR.lane] === "observer",
    );
    expect(observer.map(({ metric, value }) => [metric, value])).toEqual([
      ["backlog", 300],
      ["threshold", 1000],
    ]);
  });
});

describe("names", () => {
  /** Those of the memory operations and of agents' durations are in the conventions' newer repository alone. */
  const NEWER = /^gen_ai\.(memory\.|invoke_agent\.)/;

  it("are the conventions' own, of the version that is named", () => {
    const known = new Set<unknown>(Object.values(conventions).filter((value) => typeof value === "string"));
    const ours = [...Object.values(ATTR), ...Object.values(METRICS).map(({ name }) => name)];
    const unknown = ours.filter((name) => !known.has(name) && !name.startsWith("memory_lanes."));
    expect(unknown.filter((name) => !NEWER.test(name))).toEqual([]);
    expect(known).toContain(OPERATION.chat);
    expect(known).toContain(OPERATION.invokeAgent);
    const { version } = JSON.parse(
      readFileSync(join(ROOT, "node_modules/@opentelemetry/semantic-conventions/package.json"), "utf8"),
    );
    expect(CONVENTIONS["semantic-conventions"]).toBe(version);
  });
});
