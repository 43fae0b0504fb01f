import type { Step } from "../../machines/engine.ts";
import { clocksByLane } from "../../machines/lanes/inputs.ts";
import type { EngineState } from "../../reducers/engine/engine-state.ts";
import {
  AGENT_BUSY,
  type EngineEventOf,
  type RequestTimes,
  type Usage,
} from "../../reducers/engine/events.ts";
import { LANES, laneOf } from "../../reducers/engine/lane-names.ts";
import { ATTR, type MetricName, OPERATION, providerName, SPAN, TOKEN_TYPE } from "./names.ts";

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A span that is over. Times are milliseconds since the epoch. */
export interface SpanRecord {
  /** What tells it from every other span, wherever it is made from: the same facts give the same. */
  readonly key: string;
  /** What began it, by which whoever watches knows in what surroundings it began: a run's id, or `COMPACTION` */
  readonly cause: string;
  readonly name: string;
  readonly kind: "internal" | "client";
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Attributes;
  /** The kind of its failure; words may hold text of a session, and are left out. */
  readonly error?: string | undefined;
  readonly children: readonly SpanRecord[];
}

/** One value of a metric. */
export interface Measurement {
  readonly metric: MetricName;
  readonly value: number;
  readonly attributes: Attributes;
}

/** What a step is to those who watch. */
export interface TelemetryRecords {
  readonly spans: readonly SpanRecord[];
  readonly measurements: readonly Measurement[];
}

export const COMPACTION = "compaction";

interface StartedCompaction {
  readonly at: number;
  readonly reason: string;
  /** Source tokens on the compaction lane's clock */
  readonly clock: number;
}

/**
 * From steps to spans and measurements: the same for a session that runs and for its recording. It knows no text and no time but
 * the events', and of the past only when the compaction under way began. `more` goes on everything.
 */
export function createProjection(): (step: Step, more?: Attributes) => TelemetryRecords {
  let started: StartedCompaction | undefined;
  return (step, more = {}) => {
    const { event, state } = step;
    const about = { [ATTR.conversation]: state.sessionId, ...more };
    const key = `${state.sessionId} ${event.at} ${event.seq}`;
    switch (event.type) {
      case "session.opened":
        started = undefined;
        return NOTHING;
      case "run.finished":
        return ofRun(event, key, about, more);
      case "compaction.started":
        started = { at: Date.parse(event.at), reason: event.reason, clock: compactClock(state) };
        return NOTHING;
      case "compaction.finished":
      case "compaction.failed": {
        if (event.type === "compaction.failed" && event.failure.kind === AGENT_BUSY) return NOTHING;
        const records = ofCompaction(event, state, started, key, about, more);
        started = undefined;
        return records;
      }
      default:
        return NOTHING;
    }
  };
}

/** Each lane's clock against its threshold. */
export function backlogOf(state: EngineState): Measurement[] {
  const clocks = clocksByLane(state);
  return LANES.flatMap((lane) => {
    const attributes = { [ATTR.lane]: lane, [ATTR.conversation]: state.sessionId };
    const { clock, threshold } = clocks[lane];
    return [
      { metric: "backlog", value: clock, attributes } as const,
      { metric: "threshold", value: threshold, attributes } as const,
    ];
  });
}

/** Of `provider/id`; an id may have further slashes in it. */
function modelAttributes(model: string): Attributes {
  const slash = model.indexOf("/");
  return { [ATTR.provider]: providerName(model.slice(0, slash)), [ATTR.model]: model.slice(slash + 1) };
}

const NOTHING: TelemetryRecords = { spans: [], measurements: [] };

function ofRun(
  event: EngineEventOf<"run.finished">,
  key: string,
  about: Attributes,
  more: Attributes,
): TelemetryRecords {
  const { worker, outcome, runId, usage, model, failure } = event;
  const endedAt = Date.parse(event.at);
  const error = failure && { [ATTR.errorType]: failure.kind };
  const asked = {
    ...(model !== undefined && modelAttributes(model)),
  };
  const agent = { [ATTR.agent]: worker, ...more };
  const requests = event.requestTimes ?? [];
  const run: SpanRecord = {
    key,
    cause: runId,
    name: `${OPERATION.invokeAgent} ${worker}`,
    kind: "internal",
    startedAt: endedAt - event.durationMs,
    endedAt,
    attributes: {
      ...about,
      ...asked,
      ...agent,
      ...error,
      [ATTR.operation]: OPERATION.invokeAgent,
      [ATTR.lane]: laneOf(worker),
      [ATTR.runId]: runId,
      [ATTR.outcome]: outcome,
      [ATTR.requests]: event.requests,
      [ATTR.sourceTokens]: event.sourceTokens,
      [ATTR.rejected]: event.rejected,
      [ATTR.memoryRecordCount]: event.records,
      ...usageAttributes(usage),
      [ATTR.cost]: usage.cost,
    },
    error: failure?.kind,
    children: requests.map((times, at) =>
      requestSpan(times, `${key} request ${at}`, endedAt, { ...about, ...asked, ...agent }, runId),
    ),
  };
  const chat = { [ATTR.operation]: OPERATION.chat, ...asked, ...agent };
  const endedSo = { ...agent, [ATTR.operation]: OPERATION.invokeAgent, [ATTR.outcome]: outcome, ...error };
  return {
    spans: [run],
    measurements: [
      ...tokensOf(requests, usage).flatMap(({ input, output }) => [
        {
          metric: "tokens",
          value: input,
          attributes: { ...chat, [ATTR.tokenType]: TOKEN_TYPE.input },
        } as const,
        {
          metric: "tokens",
          value: output,
          attributes: { ...chat, [ATTR.tokenType]: TOKEN_TYPE.output },
        } as const,
      ]),
      ...run.children.map(({ startedAt, endedAt: end, error: kind }) => ({
        metric: "requestDuration" as const,
        value: (end - startedAt) / 1000,
        attributes: { ...chat, ...(kind !== undefined && { [ATTR.errorType]: kind }) },
      })),
      { metric: "runDuration", value: event.durationMs / 1000, attributes: endedSo },
      { metric: "runs", value: 1, attributes: { ...agent, [ATTR.outcome]: outcome } },
      { metric: "cost", value: usage.cost, attributes: { ...agent, ...asked } },
      ...(failure
        ? [
            {
              metric: "failures" as const,
              value: 1,
              attributes: { [ATTR.lane]: laneOf(worker), ...agent, ...error },
            },
          ]
        : []),
    ],
  };
}

function requestSpan(
  { startedAt, durationMs, usage, failure }: RequestTimes,
  key: string,
  runEndedAt: number,
  attributes: Attributes,
  cause: string,
): SpanRecord {
  const model = attributes[ATTR.model];
  // A request that the run's deadline has cut off has no end of its own.
  const error = failure ?? (durationMs === undefined ? "timeout" : undefined);
  return {
    key,
    cause,
    name: model === undefined ? OPERATION.chat : `${OPERATION.chat} ${model}`,
    kind: "client",
    startedAt,
    endedAt: durationMs === undefined ? Math.max(startedAt, runEndedAt) : startedAt + durationMs,
    attributes: {
      ...attributes,
      [ATTR.operation]: OPERATION.chat,
      ...(usage && { ...usageAttributes(usage), [ATTR.cost]: usage.cost }),
      ...(error !== undefined && { [ATTR.errorType]: error }),
    },
    error,
    children: [],
  };
}

function usageAttributes(usage: Usage): Attributes {
  const { input, output } = tokensIn(usage);
  return {
    [ATTR.inputTokens]: input,
    [ATTR.outputTokens]: output,
    [ATTR.cacheReadTokens]: usage.cacheRead,
    [ATTR.cacheCreationTokens]: usage.cacheWrite,
  };
}

/** By request where the recording tells; else the run's own sum. */
function tokensOf(requests: readonly RequestTimes[], usage: Usage): { input: number; output: number }[] {
  const used = requests.flatMap((request) => (request.usage ? [tokensIn(request.usage)] : []));
  if (requests.length > 0) return used;
  const all = tokensIn(usage);
  return all.input + all.output > 0 ? [all] : [];
}

/** The conventions count what was cached among the input. */
function tokensIn({ input, output, cacheRead, cacheWrite }: Usage): { input: number; output: number } {
  return { input: input + cacheRead + cacheWrite, output };
}

function ofCompaction(
  event: EngineEventOf<"compaction.finished" | "compaction.failed">,
  state: EngineState,
  started: StartedCompaction | undefined,
  key: string,
  about: Attributes,
  more: Attributes,
): TelemetryRecords {
  const endedAt = Date.parse(event.at);
  const error = event.type === "compaction.failed" ? event.failure.kind : undefined;
  const freed = started && error === undefined ? Math.max(0, started.clock - compactClock(state)) : undefined;
  const summaryBy = event.type === "compaction.finished" ? { [ATTR.summaryBy]: summaryByOf(event) } : {};
  const failed = error !== undefined && { [ATTR.errorType]: error };
  const counted = { ...more, ...summaryBy };
  const span: SpanRecord = {
    key,
    cause: COMPACTION,
    name: SPAN.compaction,
    kind: "internal",
    startedAt: started?.at ?? endedAt,
    endedAt,
    attributes: {
      ...about,
      ...summaryBy,
      ...failed,
      [ATTR.lane]: "compaction",
      ...(started && { [ATTR.reason]: started.reason }),
      ...(freed !== undefined && { [ATTR.freed]: freed }),
    },
    error,
    children: [],
  };
  return {
    spans: [span],
    measurements:
      error !== undefined
        ? [{ metric: "failures", value: 1, attributes: { ...more, [ATTR.lane]: "compaction", ...failed } }]
        : [
            { metric: "compactions", value: 1, attributes: counted },
            ...(freed === undefined ? [] : [{ metric: "freed" as const, value: freed, attributes: counted }]),
          ],
  };
}

function summaryByOf({ folded, fromExtension }: EngineEventOf<"compaction.finished">): string {
  if (folded) return "memory";
  return fromExtension ? "extension" : "pi";
}

function compactClock(state: EngineState): number {
  return clocksByLane(state).compaction.clock;
}
