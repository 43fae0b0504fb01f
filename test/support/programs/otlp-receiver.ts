import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** An attribute's value as OTLP's JSON has it. */
interface AnyValue {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: number | string;
  doubleValue?: number;
}

type KeyValues = { key: string; value: AnyValue }[];

export type Attributes = Record<string, string | number | boolean | undefined>;

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  /** Nanoseconds since the epoch */
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code: number; message?: string };
  attributes: Attributes;
  resource: Attributes;
}

export interface ReceivedPoint {
  metric: string;
  attributes: Attributes;
  startTimeUnixNano?: string;
  timeUnixNano: string;
  /** A counter's or gauge's value; a histogram's sum */
  value: number;
  /** A histogram's */
  count?: number;
}

/** A collector that takes OTLP as JSON over HTTP and keeps what it is sent. */
export interface OtlpReceiver {
  readonly url: string;
  /** The path, content type and body of each request */
  readonly requests: { path: string; type: string; bytes: number; headers: NodeJS.Dict<string | string[]> }[];
  readonly spans: ReceivedSpan[];
  /** Of each series the point sent last */
  points(): ReceivedPoint[];
  close(): Promise<void>;
}

/** Starts one. `silent`: it takes requests and never answers. */
export async function startOtlpReceiver({ silent = false } = {}): Promise<OtlpReceiver> {
  const requests: OtlpReceiver["requests"] = [];
  const spans: ReceivedSpan[] = [];
  const series = new Map<string, ReceivedPoint>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts);
      const type = request.headers["content-type"] ?? "";
      requests.push({ path: request.url ?? "", type, bytes: body.length, headers: request.headers });
      if (type === "application/json") take(JSON.parse(body.toString("utf8")));
      if (!silent)
        response.writeHead(200, { "content-type": type }).end(type === "application/json" ? "{}" : "");
    });
  });

  function take({ resourceSpans = [], resourceMetrics = [] }: ExportRequest): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
        spans.push({ ...span, attributes: plain(span.attributes), resource: plain(resource.attributes) });
      }
    }
    for (const { resource, scopeMetrics } of resourceMetrics) {
      for (const metric of scopeMetrics.flatMap(({ metrics }) => metrics)) {
        const { name, sum, gauge, histogram } = metric;
        for (const point of (sum ?? gauge ?? histogram)?.dataPoints ?? []) {
          const attributes = plain(point.attributes);
          const key = JSON.stringify([name, attributes, plain(resource.attributes)["service.instance.id"]]);
          series.set(key, {
            metric: name,
            attributes,
            ...(point.startTimeUnixNano !== undefined && { startTimeUnixNano: point.startTimeUnixNano }),
            timeUnixNano: point.timeUnixNano,
            value: Number(point.sum ?? point.asDouble ?? point.asInt ?? 0),
            ...(point.count !== undefined && { count: Number(point.count) }),
          });
        }
      }
    }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    spans,
    points: () => [...series.values()],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface ExportRequest {
  resourceSpans?: {
    resource: { attributes: KeyValues };
    scopeSpans: { spans: (Omit<ReceivedSpan, "attributes" | "resource"> & { attributes: KeyValues })[] }[];
  }[];
  resourceMetrics?: {
    resource: { attributes: KeyValues };
    scopeMetrics: {
      metrics: { name: string; sum?: Points; gauge?: Points; histogram?: Points }[];
    }[];
  }[];
}

interface Points {
  dataPoints: {
    attributes: KeyValues;
    startTimeUnixNano?: string;
    timeUnixNano: string;
    asDouble?: number;
    asInt?: number | string;
    sum?: number;
    count?: number | string;
  }[];
}

function plain(attributes: KeyValues): Attributes {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { stringValue, boolValue, doubleValue, intValue } = value;
      return [
        key,
        stringValue ?? boolValue ?? doubleValue ?? (intValue === undefined ? undefined : Number(intValue)),
      ];
    }),
  );
}

/** The sum of a metric's series, of those with these attributes if any are given. */
export function sumOf({ points }: OtlpReceiver, metric: string, having: Attributes = {}): number {
  return points()
    .filter((point) => point.metric === metric)
    .filter(({ attributes }) => Object.entries(having).every(([key, value]) => attributes[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}
