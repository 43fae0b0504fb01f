import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { fieldsOf, textOf } from "../../reducers/entries/entry.ts";
import { messageOf } from "../../reducers/message-of.ts";
import type { OpenTelemetryApi } from "./sink.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the environment has exported, by OpenTelemetry's standard variables. */
export interface WantedSignals {
  traces: boolean;
  metrics: boolean;
}

/** Undefined when nothing is. A variable that is empty counts as unset. */
export function wantedSignals(env: Environment): WantedSignals | undefined {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true") return undefined;
  const isWanted = (signal: string): boolean => {
    const exporter = env[`OTEL_${signal}_EXPORTER`]?.trim();
    if (exporter) return exporter.toLowerCase() !== "none";
    return Boolean(env.OTEL_EXPORTER_OTLP_ENDPOINT || env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]);
  };
  const wanted = { traces: isWanted("TRACES"), metrics: isWanted("METRICS") };
  return wanted.traces || wanted.metrics ? wanted : undefined;
}

/** The name of the service where the user has given none, for the SDK's options. */
export function serviceName(env: Environment): { serviceName?: string } {
  const isGiven = env.OTEL_SERVICE_NAME || /\bservice\.name=/.test(env.OTEL_RESOURCE_ATTRIBUTES ?? "");
  return isGiven ? {} : { serviceName: "pi" };
}

/** Loads the API. Rejects with words for the user when it is not installed. */
export const loadApi = () => load(() => import("@opentelemetry/api"), "@opentelemetry/api");

/** The same for the standard SDK. */
export const loadSdk = () => load(() => import("@opentelemetry/sdk-node"), "@opentelemetry/sdk-node");

/** A package that the SDK depends on, as the SDK itself has it: it need not be found from here. */
export function ofSdk<T>(name: string): T {
  const sdk = createRequire(import.meta.url).resolve("@opentelemetry/sdk-node");
  return createRequire(sdk)(name);
}

async function load<T>(importIt: () => Promise<T>, name: string): Promise<T> {
  try {
    return await importIt();
  } catch (error) {
    const isMissing =
      error instanceof Error && "code" in error && String(error.code).includes("MODULE_NOT_FOUND");
    if (!isMissing) throw new Error(`OpenTelemetry could not be loaded: ${messageOf(error)}`);
    throw new Error(
      `OpenTelemetry is asked for, and ${name} is not installed ${placeToInstall()}. Run: npm install @opentelemetry/api @opentelemetry/sdk-node`,
    );
  }
}

/** Packages are found from where ours is. */
function placeToInstall(): string {
  const [folder, ...below] = fileURLToPath(import.meta.url).split(
    /[\\/]node_modules[\\/](?!.*[\\/]node_modules[\\/])/,
  );
  return below.length === 0 ? "beside Memory Lanes" : `in ${folder}`;
}

/** Hears in words what the SDK complains of: an exporter or protocol that it lacks, or a collector that it cannot reach. */
export function onComplaint({ diag, DiagLogLevel }: OpenTelemetryApi, hear: (words: string) => void): void {
  const tell = (message: unknown) => hear(plainWords(String(message)));
  const silent = () => {};
  const logger = { error: tell, warn: tell, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** An exporter's failure comes as the JSON of an error. */
function plainWords(text: string): string {
  try {
    const { message, code } = fieldsOf(JSON.parse(text));
    const words = textOf(message) || textOf(code) || text;
    // The classes that it went through say nothing to a user.
    const [, cause = words] = /\bError: ([^)\n]+)/.exec(words) ?? [];
    return `what was measured could not be sent: ${cause}`;
  } catch {
    return text;
  }
}
