import type { HrTime } from "@opentelemetry/api";
import type { MeterProvider, PushMetricExporter, ResourceMetrics } from "@opentelemetry/sdk-metrics";
import { type Environment, ofSdk, serviceName } from "./sdk.ts";

export type MetricsExporter = PushMetricExporter;

/** Each protocol's own package. What the SDK does not know, it takes for the second, as the standard has it. */
const PROTOCOLS: ReadonlyMap<string, string> = new Map([
  ["http/json", "@opentelemetry/exporter-metrics-otlp-http"],
  ["http/protobuf", "@opentelemetry/exporter-metrics-otlp-proto"],
  ["grpc", "@opentelemetry/exporter-metrics-otlp-grpc"],
]);
const DEFAULT_PROTOCOL = "http/protobuf";

type ExporterPackage = typeof import("@opentelemetry/exporter-metrics-otlp-proto");

/** The exporter that the environment names, if it is one of OTLP: no other takes values of a time that has passed. */
export function metricsExporter(env: Environment): MetricsExporter | undefined {
  const exporters = (env.OTEL_METRICS_EXPORTER || "otlp").split(",").map((name) => name.trim());
  if (!exporters.includes("otlp")) return undefined;
  const protocol =
    env.OTEL_EXPORTER_OTLP_METRICS_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL || DEFAULT_PROTOCOL;
  const name = PROTOCOLS.get(protocol.trim()) ?? PROTOCOLS.get(DEFAULT_PROTOCOL) ?? "";
  const { OTLPMetricExporter } = ofSdk<ExporterPackage>(name);
  return new OTLPMetricExporter();
}

/** The meters of one session. */
export interface SessionMeters {
  readonly provider: MeterProvider;
  /** Sends what was measured as of that session's own time, in milliseconds since the epoch, and ends the provider. */
  send(session: { sessionId: string; from: number; to: number }): Promise<void>;
}

/**
 * Meters whose values are collected once and sent with the times of the session. Sent again they are the same series, since the
 * session's id stands for the process that held it.
 */
export function createMeters(exporter: MetricsExporter, env: Environment): SessionMeters {
  const sdk = ofSdk<typeof import("@opentelemetry/sdk-metrics")>("@opentelemetry/sdk-metrics");
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } =
    ofSdk<typeof import("@opentelemetry/resources")>("@opentelemetry/resources");
  class OnceReader extends sdk.MetricReader {
    protected override async onForceFlush(): Promise<void> {}
    protected override async onShutdown(): Promise<void> {}
  }
  const reader = new OnceReader();
  const provider = new sdk.MeterProvider({ readers: [reader] });
  const { serviceName: name } = serviceName(env);
  return {
    provider,
    async send({ sessionId, from, to }) {
      const { resourceMetrics } = await reader.collect();
      const resource = defaultResource()
        .merge(detectResources({ detectors: [envDetector] }))
        .merge(
          resourceFromAttributes({
            "service.instance.id": sessionId,
            ...(name !== undefined && { "service.name": name }),
          }),
        );
      retime(resourceMetrics, hrTime(from), hrTime(to));
      await exported(exporter, { ...resourceMetrics, resource });
      await provider.shutdown();
    },
  };
}

/** The values are this session's alone, so that their times may be written over. */
function retime({ scopeMetrics }: ResourceMetrics, startTime: HrTime, endTime: HrTime): void {
  for (const { metrics } of scopeMetrics) {
    for (const { dataPoints } of metrics) {
      for (const point of dataPoints) Object.assign(point, { startTime, endTime });
    }
  }
}

function exported(exporter: MetricsExporter, metrics: ResourceMetrics): Promise<void> {
  return new Promise((resolve, reject) => {
    exporter.export(metrics, ({ error, code }) => {
      if (code === 0) resolve();
      else reject(error ?? new Error("the collector did not take the metrics"));
    });
  });
}

function hrTime(ms: number): HrTime {
  return [Math.floor(ms / 1000), (ms % 1000) * 1e6];
}
