import type * as Api from "@opentelemetry/api";
import { CONVENTIONS, METRICS, type MetricName, SCOPE } from "./names.ts";
import type { Measurement, SpanRecord } from "./projection.ts";

export type OpenTelemetryApi = typeof Api;

/** Where spans and measurements go: an OpenTelemetry provider's tracer and meter. Both are the provider's to throw away. */
export interface TelemetrySink {
  /** Hands on a span that is over, with its children. `parent` is the context that it began in. */
  span(record: SpanRecord, parent: Api.Context): void;
  measure(measurement: Measurement): void;
  /** Asks for the values of gauges whenever they are collected, until the function that it gives is called. */
  watch(gauges: () => readonly Measurement[]): () => void;
}

interface SinkOptions {
  tracers: Api.TracerProvider;
  meters: Api.MeterProvider;
  /** Version of this package */
  version: string;
  /** Called before each span is made, for who derives its id from what it is. */
  onSpan?: (record: SpanRecord) => void;
}

export function createSink(
  api: OpenTelemetryApi,
  { tracers, meters, version, onSpan }: SinkOptions,
): TelemetrySink {
  const tracer = tracers.getTracer(SCOPE, version, { schemaUrl: SCHEMA_URL });
  const meter = meters.getMeter(SCOPE, version, { schemaUrl: SCHEMA_URL });
  const record = recorders(meter);
  const watchers = new Set<() => readonly Measurement[]>();
  watchGauges(meter, watchers);

  function span(made: SpanRecord, parent: Api.Context): void {
    onSpan?.(made);
    const { name, kind, startedAt, endedAt, attributes, error, children } = made;
    const span = tracer.startSpan(
      name,
      {
        kind: kind === "client" ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL,
        startTime: startedAt,
        attributes: { ...attributes },
      },
      parent,
    );
    const inside = api.trace.setSpan(parent, span);
    for (const child of children) sendSpan(child, inside);
    if (error !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR });
    span.end(endedAt);
  }
  const sendSpan = span;

  return {
    span,
    measure: ({ metric, value, attributes }) => record[metric](value, { ...attributes }),
    watch(gauges) {
      watchers.add(gauges);
      return () => watchers.delete(gauges);
    },
  };
}

const SCHEMA_URL = `https://opentelemetry.io/schemas/${CONVENTIONS["semantic-conventions"]}`;

type Recorders = Record<MetricName, (value: number, attributes: Api.Attributes) => void>;

/** What takes a value of each metric. A gauge's is taken where it is collected. */
function recorders(meter: Api.Meter): Recorders {
  const takers = Object.entries(METRICS).map(([metric, instrument]) => {
    const { name, kind, unit, description } = instrument;
    const options = { unit, description };
    if (kind === "counter") {
      const counter = meter.createCounter(name, options);
      return [metric, counter.add.bind(counter)];
    }
    if (kind === "gauge") return [metric, () => {}];
    const histogram = meter.createHistogram(name, {
      ...options,
      advice: { explicitBucketBoundaries: [...instrument.bounds] },
    });
    return [metric, histogram.record.bind(histogram)];
  });
  return Object.fromEntries(takers);
}

function watchGauges(meter: Api.Meter, watchers: ReadonlySet<() => readonly Measurement[]>): void {
  for (const [metric, { name, kind, unit, description }] of Object.entries(METRICS)) {
    if (kind !== "gauge") continue;
    meter.createObservableGauge(name, { unit, description }).addCallback((result) => {
      for (const gauges of watchers) {
        for (const measured of gauges()) {
          if (measured.metric === metric) result.observe(measured.value, { ...measured.attributes });
        }
      }
    });
  }
}
