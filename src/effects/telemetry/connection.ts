import type { Context } from "@opentelemetry/api";
import { messageOf } from "../../reducers/message-of.ts";
import {
  type Environment,
  loadApi,
  loadSdk,
  onComplaint,
  serviceName,
  type WantedSignals,
  wantedSignals,
} from "./sdk.ts";
import { createSink, type OpenTelemetryApi, type TelemetrySink } from "./sink.ts";

/** Where the API keeps what was registered, so that its copies in one process share it. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

interface Registered {
  trace?: unknown;
  metrics?: unknown;
  context?: { active(): Context };
}

function registered(): Registered {
  const found: unknown = Reflect.get(globalThis, REGISTERED);
  return typeof found === "object" && found !== null ? found : {};
}

/** The context that the program that runs us is in; undefined where it keeps none. */
export function activeContext(): Context | undefined {
  try {
    return registered().context?.active();
  } catch {
    return undefined;
  }
}

/** Whether anybody in this process or its environment wants telemetry. Loads nothing. */
export function isTelemetryWanted(env: Environment): boolean {
  const { trace, metrics } = registered();
  return trace !== undefined || metrics !== undefined || wantedSignals(env) !== undefined;
}

export interface Connection {
  readonly api: OpenTelemetryApi;
  readonly sink: TelemetrySink;
  /** Where spans belong that begin inside no other: to whatever started this process, if it has said so. */
  readonly root: Context;
  /**
   * Lets go of it. When its last user does, and no session will follow, what waits is sent, as long as the SDK takes for that or
   * `patienceOf` the environment allows.
   */
  release(options: { isLast: boolean }): Promise<void>;
}

export interface ConnectOptions {
  env: Environment;
  /** Version of this package */
  version: string;
  /** Hears, once in a process, of what cannot be had, or of the first thing that could not be sent. */
  onProblem: (message: string) => void;
}

interface Shared {
  api: OpenTelemetryApi;
  sink: TelemetrySink;
  root: Context;
  /** Sessions that send by it */
  users: number;
  /** Sends what waits, and takes back what was registered. */
  shutdown?: () => Promise<void>;
}

let shared: Promise<Shared> | undefined;
let hasTold = false;
/** Of the session that came last: an earlier one may be over when there is something to tell. */
let tellUser: (message: string) => void = () => {};

/**
 * The process's connection to OpenTelemetry, made when first asked for: the provider that the host program has registered, or else
 * one of the standard SDK, which reads the environment. Undefined when it cannot be had, of which the first to ask is told.
 */
export async function connect(options: ConnectOptions): Promise<Connection | undefined> {
  tellUser = options.onProblem;
  shared ??= open(options);
  try {
    const mine = await shared;
    const { api, sink, root, shutdown } = mine;
    mine.users++;
    let isReleased = false;
    return {
      api,
      sink,
      root,
      async release({ isLast }) {
        if (isReleased) return;
        isReleased = true;
        mine.users--;
        if (isLast && mine.users === 0 && shutdown) await within(shutdown(), patienceOf(options.env));
      },
    };
  } catch (error) {
    tellOnce(messageOf(error));
    return undefined;
  }
}

function tellOnce(message: string): void {
  if (!hasTold) tellUser(message);
  hasTold = true;
}

async function open({ env, version }: Omit<ConnectOptions, "onProblem">): Promise<Shared> {
  const { trace, metrics } = registered();
  const isHosted = trace !== undefined || metrics !== undefined;
  const api = await loadApi();
  const shutdown = isHosted ? undefined : await startSdk(api, wantedSignals(env), env);
  const sink = createSink(api, {
    tracers: api.trace.getTracerProvider(),
    meters: api.metrics.getMeterProvider(),
    version,
  });
  const root = isHosted ? api.ROOT_CONTEXT : startersContext(api, env);
  return { api, sink, root, users: 0, ...(shutdown && { shutdown }) };
}

/** An orchestrator hands its span on to the processes that it starts in these variables, as the standard has it. */
function startersContext({ propagation, ROOT_CONTEXT }: OpenTelemetryApi, env: Environment): Context {
  const { TRACEPARENT: traceparent, TRACESTATE: tracestate, BAGGAGE: baggage } = env;
  return propagation.extract(ROOT_CONTEXT, { traceparent, tracestate, baggage });
}

async function startSdk(
  api: OpenTelemetryApi,
  wanted: WantedSignals | undefined,
  env: Environment,
): Promise<() => Promise<void>> {
  const { NodeSDK } = await loadSdk();
  // With a level of its own the SDK logs to the console, as the user has asked it to.
  if (!env.OTEL_LOG_LEVEL) onComplaint(api, (words) => tellOnce(`OpenTelemetry: ${words}`));
  const sdk = new NodeSDK({
    logRecordProcessors: [],
    ...(!wanted?.metrics && { metricReaders: [] }),
    ...(!wanted?.traces && { spanProcessors: [] }),
    ...serviceName(env),
  });
  sdk.start();
  let ending: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    try {
      await sdk.shutdown();
    } finally {
      for (const part of [api.trace, api.metrics, api.context, api.propagation, api.diag]) part.disable();
    }
  };
  const shutdown = (): Promise<void> => {
    process.removeListener("beforeExit", atExit);
    // A session that comes later begins anew.
    shared = undefined;
    ending ??= end();
    return ending;
  };
  // A program that only disposes of its sessions has ended before anybody could tell.
  const atExit = () => void shutdown().catch(() => {});
  process.once("beforeExit", atExit);
  return shutdown;
}

const PATIENCE_MS = 3000;

/** How long the end of a session waits for what is still to be sent, in milliseconds: the exporter's timeout, if one is set. */
export function patienceOf({ OTEL_EXPORTER_OTLP_TIMEOUT: set }: Environment): number {
  const timeout = Number(set || Number.NaN);
  return timeout > 0 ? timeout : PATIENCE_MS;
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  // What the SDK could not send, it has told of itself.
  await Promise.race([work.catch(() => {}), late]);
  clearTimeout(timer);
}
