import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { isTelemetryWanted, patienceOf } from "../../../src/effects/telemetry/connection.ts";
import { capturesContent } from "../../../src/effects/telemetry/content.ts";
import { serviceName, wantedSignals } from "../../../src/effects/telemetry/sdk.ts";
import { ROOT } from "../../support/programs/run-cli.ts";

const both = { traces: true, metrics: true };
const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

describe("what the environment wants", () => {
  it.each([
    [{}, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "" }, undefined],
    [{ OTEL_RESOURCE_ATTRIBUTES: "a=b", OTEL_EXPORTER_OTLP_HEADERS: "a=b" }, undefined],
    [{ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "http://logs:4318" }, undefined],
    [{ OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: " None " }, undefined],
    [COLLECTOR, both],
    [{ ...COLLECTOR, OTEL_SDK_DISABLED: "TRUE" }, undefined],
    [{ ...COLLECTOR, OTEL_SDK_DISABLED: "no" }, both],
    [
      { ...COLLECTOR, OTEL_METRICS_EXPORTER: "none" },
      { traces: true, metrics: false },
    ],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://m:4318" }, { traces: false, metrics: true }],
    [{ OTEL_TRACES_EXPORTER: "console" }, { traces: true, metrics: false }],
    [{ OTEL_METRICS_EXPORTER: "prometheus" }, { traces: false, metrics: true }],
  ])("%j: %j", (env, wanted) => {
    expect(wantedSignals(env)).toEqual(wanted);
    expect(isTelemetryWanted(env)).toBe(wanted !== undefined);
  });

  it("is a name of ours where it gives none", () => {
    expect(serviceName({})).toEqual({ serviceName: "pi" });
    expect(serviceName({ OTEL_SERVICE_NAME: "reviewer" })).toEqual({});
    expect(serviceName({ OTEL_RESOURCE_ATTRIBUTES: "a=b,service.name=reviewer" })).toEqual({});
    expect(serviceName({ OTEL_RESOURCE_ATTRIBUTES: "service.namespace=a" })).toEqual({ serviceName: "pi" });
  });

  it("is as much patience as the exporter has", () => {
    expect(patienceOf({ OTEL_EXPORTER_OTLP_TIMEOUT: "8000" })).toBe(8000);
    for (const set of [undefined, "", "soon", "-1"]) {
      expect(patienceOf({ OTEL_EXPORTER_OTLP_TIMEOUT: set })).toBe(3000);
    }
  });

  it.each([
    ["true", true],
    ["True", true],
    ["span_only", true],
    ["SPAN_AND_EVENT", true],
    ["event_only", false],
    ["no_content", false],
    ["false", false],
    ["", false],
    [undefined, false],
  ])("is text in spans: %s, %s", (value, captures) => {
    expect(capturesContent({ OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: value })).toBe(captures);
  });
});

describe("the packages of OpenTelemetry", () => {
  it("are loaded neither with the extension's engine nor with the command", () => {
    const program = `
      import { registerHooks } from "node:module";
      const asked = [];
      registerHooks({
        resolve(name, context, next) {
          if (name.startsWith("@opentelemetry/")) asked.push(name);
          return next(name, context);
        },
      });
      await import("./src/host/pi/memory-session.ts");
      await import("./src/host/cli/main.ts");
      console.log(JSON.stringify(asked));`;
    const args = ["--input-type=module", "-e", program];
    const output = execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
    expect(JSON.parse(output)).toEqual([]);
  });
});
