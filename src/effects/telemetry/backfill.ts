import { createHash } from "node:crypto";
import type { ReplayStep } from "../../machines/recording/replay-step.ts";
import { createMeters, type MetricsExporter, metricsExporter } from "./backfill-metrics.ts";
import { ATTR } from "./names.ts";
import { backlogOf, createProjection, type SpanRecord } from "./projection.ts";
import { type Environment, loadApi, loadSdk, ofSdk, onComplaint, serviceName, wantedSignals } from "./sdk.ts";
import { createSink, type OpenTelemetryApi } from "./sink.ts";

/** Sends what sessions did when they are over, with their own times, and with ids that follow from what is sent. */
export interface Backfill {
  /** What will not be sent, in words for the user; undefined when everything will. */
  readonly omission: string | undefined;
  /** Begins with a file's session. */
  begin(source: "recording" | "session"): SessionBackfill;
  close(): Promise<void>;
}

export interface SessionBackfill {
  take(step: ReplayStep): void;
  /** Sends all of it, and gives how many spans that were. Rejects when the collector does not take it. */
  send(): Promise<number>;
}

/** Fewer than the SDK keeps waiting; what is over that would be lost. */
const SPANS_AT_ONCE = 256;

/** Opens the way to the collector that the environment names; undefined when it names none. Rejects when packages are missing, or lack what the environment names. */
export async function openBackfill(env: Environment, version: string): Promise<Backfill | undefined> {
  const wanted = wantedSignals(env);
  if (!wanted) return undefined;
  const api = await loadApi();
  const { NodeSDK } = await loadSdk();
  const { envDetector } = ofSdk<typeof import("@opentelemetry/resources")>("@opentelemetry/resources");
  const ids = createIds();
  const complaints: string[] = [];
  onComplaint(api, (words) => complaints.push(words));
  const sdk = new NodeSDK({
    idGenerator: ids,
    logRecordProcessors: [],
    metricReaders: [],
    // Neither this process nor this machine is what held the sessions.
    resourceDetectors: [envDetector],
    ...(!wanted.traces && { spanProcessors: [] }),
    ...serviceName(env),
  });
  sdk.start();
  const [complaint] = complaints;
  // What it cannot do as it is told, it would pass over in silence.
  if (complaint !== undefined) throw new Error(`OpenTelemetry: ${complaint}`);
  const metrics = wanted.metrics ? metricsExporter(env) : undefined;
  return {
    omission:
      wanted.metrics && !metrics
        ? "metrics of what is over can be sent by OTLP alone, and are left out"
        : undefined,
    begin: (source) => beginSession({ api, ids, metrics, version, env, source, traces: wanted.traces }),
    async close() {
      await sdk.shutdown();
      await metrics?.shutdown();
    },
  };
}

interface BeginOptions {
  api: OpenTelemetryApi;
  ids: Ids;
  metrics: MetricsExporter | undefined;
  version: string;
  env: Environment;
  source: "recording" | "session";
  traces: boolean;
}

function beginSession({ api, ids, metrics, version, env, source, traces }: BeginOptions): SessionBackfill {
  const recordsOf = createProjection();
  const meters = metrics && createMeters(metrics, env);
  const sink = createSink(api, {
    tracers: api.trace.getTracerProvider(),
    meters: meters?.provider ?? api.metrics.getMeterProvider(),
    version,
    onSpan: ({ key }) => ids.next(key),
  });
  const records: SpanRecord[] = [];
  let first: ReplayStep | undefined;
  let last: ReplayStep | undefined;
  sink.watch(() => (last ? backlogOf(last.state) : []));

  async function sendSpans(): Promise<number> {
    let waiting = 0;
    let sent = 0;
    for (const record of records) {
      sink.span(record, api.ROOT_CONTEXT);
      waiting += 1 + record.children.length;
      sent += 1 + record.children.length;
      if (waiting < SPANS_AT_ONCE) continue;
      await flush(api);
      waiting = 0;
    }
    await flush(api);
    return sent;
  }

  return {
    take(step) {
      first ??= step;
      last = step;
      const more = { [ATTR.source]: source, ...(step.modelled && { [ATTR.modelled]: true }) };
      const { spans, measurements } = recordsOf(step, more);
      records.push(...spans);
      for (const measurement of measurements) sink.measure(measurement);
    },
    async send() {
      const spans = traces ? await sendSpans() : 0;
      if (first && last) {
        const { sessionId } = last.state;
        await meters?.send({ sessionId, from: Date.parse(first.event.at), to: Date.parse(last.event.at) });
      }
      return spans;
    },
  };
}

interface Ids {
  /** The span that is made next */
  next(key: string): void;
  generateTraceId(): string;
  generateSpanId(): string;
}

/** The same span has the same ids however often it is sent, so that whoever keeps them has it once. */
function createIds(): Ids {
  let current = "";
  const digest = (what: string, digits: number) =>
    createHash("sha256").update(`${what} ${current}`).digest("hex").slice(0, digits);
  return {
    next(key) {
      current = key;
    },
    generateTraceId: () => digest("trace", 32),
    generateSpanId: () => digest("span", 16),
  };
}

/** The API hides the provider that was registered, and what it can do besides giving tracers. */
async function flush({ trace, ProxyTracerProvider }: OpenTelemetryApi): Promise<void> {
  const provider = trace.getTracerProvider();
  const registered = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  if ("forceFlush" in registered && typeof registered.forceFlush === "function")
    await registered.forceFlush();
}
