import type { Context } from "@opentelemetry/api";
import type { Step } from "../../machines/engine.ts";
import type { EngineState } from "../../reducers/engine/engine-state.ts";
import type { EntryLookup } from "../../reducers/entries/entry.ts";
import type { EntryFact } from "../../reducers/entries/entry-fact.ts";
import { type Effect, quietly, watching } from "../effect.ts";
import {
  activeContext,
  type Connection,
  type ConnectOptions,
  connect,
  isTelemetryWanted,
} from "./connection.ts";
import { capturesContent, type RecallFacts, recallSpan, recordsAttribute, recordsIn } from "./content.ts";
import { backlogOf, COMPACTION, createProjection, type SpanRecord } from "./projection.ts";

export interface Telemetry {
  /** Follows the steps of the session. */
  readonly effect: Effect;
  /** Tells of a recall, of which there is no event. */
  recall(facts: RecallFacts): void;
  /**
   * The session has ended. `isLast`: the program ends with it, or may; then what waits is sent first, as long as the SDK takes for
   * that at most.
   */
  close(options: { isLast: boolean }): Promise<void>;
}

/** A session's telemetry, if anybody in this process or its environment wants it. */
export function openTelemetry(options: ConnectOptions): Telemetry | undefined {
  const { env } = options;
  if (!isTelemetryWanted(env)) return undefined;
  return createTelemetry({ withContent: capturesContent(env), connect: () => connect(options) });
}

interface TelemetryOptions {
  /** Spans may hold the text of records. */
  withContent: boolean;
  /** Gives undefined when there is nowhere to send anything. */
  connect: () => Promise<Connection | undefined>;
}

/** Spans that wait for the SDK to be loaded; when it takes too long, memory must not pay for it. */
const MOST_WAITING = 2000;

/**
 * Tells OpenTelemetry of a session. Where its provider is still being loaded, what happens meanwhile waits; where it cannot be had, nothing
 * more is done.
 */
function createTelemetry({ withContent, connect }: TelemetryOptions): Telemetry {
  const recordsOf = createProjection();
  /** What was active where a run or a compaction began: its span is a child of that. */
  const surroundings = new Map<string, Context | undefined>();
  let waiting: ((connection: Connection) => void)[] | undefined = [];
  /** What was appended since a run ended last, if its text may be told */
  let appended: readonly EntryFact[] = [];
  let state: EngineState | undefined;
  let unwatch = () => {};
  let connection: Connection | undefined;

  const connecting = connect().then((made) => {
    connection = made;
    if (made) {
      unwatch = made.sink.watch(() => (state ? backlogOf(state) : []));
      for (const send of waiting ?? []) quietly(send)(made);
    }
    waiting = undefined;
  });

  function hand(send: (connection: Connection) => void): void {
    if (connection) send(connection);
    else if (waiting && waiting.length < MOST_WAITING) waiting.push(send);
  }

  function sendSpan(record: SpanRecord): void {
    const around = surroundings.get(record.cause) ?? activeContext();
    surroundings.delete(record.cause);
    hand(({ api, sink, root }) => sink.span(record, around && api.trace.getSpan(around) ? around : root));
  }

  function follow(step: Step, lookup: EntryLookup): void {
    const { event } = step;
    for (const command of step.commands) {
      if (command.type === "startRun") surroundings.set(command.runId, activeContext());
    }
    if (event.type === "compaction.started") surroundings.set(COMPACTION, activeContext());
    const { spans, measurements } = recordsOf(step);
    for (const span of spans) sendSpan(event.type === "run.finished" ? withRecords(span, lookup) : span);
    if (measurements.length > 0) {
      hand(({ sink }) => {
        for (const measurement of measurements) sink.measure(measurement);
      });
    }
    if (withContent && event.type === "branch.extended") appended = [...appended, ...event.entries];
    if (event.type !== "branch.extended") appended = [];
    state = step.state;
  }

  /** A run's entries are appended right before its end is told. */
  function withRecords(span: SpanRecord, lookup: EntryLookup): SpanRecord {
    const records = recordsIn(appended, lookup);
    return { ...span, attributes: { ...span.attributes, ...recordsAttribute(records) } };
  }

  return {
    effect: (steps$, session) => watching((step) => follow(step, session.lookup))(steps$, session),
    recall: quietly((facts) => sendSpan(recallSpan(facts, withContent))),
    async close({ isLast }) {
      const released = connecting.then(() => connection?.release({ isLast })).finally(() => unwatch());
      if (isLast) await released;
    },
  };
}
