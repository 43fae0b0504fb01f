import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runPi } from "../../../demo/pi/pi-launch.ts";
import { createReplay } from "../../../src/machines/recording/replay.ts";
import { totalUsage } from "../../support/engine/total-usage.ts";
import {
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
  sumOf,
} from "../../support/programs/otlp-receiver.ts";
import { agent, warnings } from "../faults/outcome.ts";
import { lanesAtRest, NEVER, onlyObserver, SMALL, waitFor, withPi } from "../support/harness.ts";

const JSON_OTLP = { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };

async function withReceiver<T>(run: (receiver: OtlpReceiver) => Promise<T>, options = {}): Promise<T> {
  const receiver = await startOtlpReceiver(options);
  try {
    return await run(receiver);
  } finally {
    await receiver.close();
  }
}

function parentOf(span: ReceivedSpan, spans: readonly ReceivedSpan[]): ReceivedSpan | undefined {
  return spans.find(({ spanId, traceId }) => spanId === span.parentSpanId && traceId === span.traceId);
}

/** The state that a session's recording ends with. */
function recordedState(dir: string) {
  const debug = join(dir, "agent", "observational-memory", "debug");
  const { read } = createReplay();
  const [name = ""] = readdirSync(debug);
  const steps = readFileSync(join(debug, name), "utf8").trim().split("\n").map(read);
  const last = steps.findLast((step) => step !== undefined);
  if (!last) throw new Error("the recording holds no event");
  return { state: last.state, events: steps.flatMap((step) => (step ? [step.event] : [])) };
}

describe("a Pi whose environment names a collector", () => {
  it("sends spans that nest and metrics that add up to what the engine says", async () => {
    await withReceiver(async (receiver) => {
      const env = {
        ...JSON_OTLP,
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS: "x-team=memory",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
        OTEL_SERVICE_NAME: "reviewer",
      };
      const memory = { ...SMALL, debugLog: true };
      await withPi({ script: { agent }, memory, env, cost: { input: 3, output: 15 } }, async (host) => {
        for (let turn = 0; turn < 14; turn++) {
          await host.pi.prompt(`What is in bay ${turn}?`);
          await lanesAtRest(host.pi);
        }
        expect(warnings(host)).toEqual([]);
        await host.pi.stop(10_000);

        const { state, events } = recordedState(host.dir);
        const { requests, usage } = totalUsage(state);
        const { spans } = receiver;
        const runs = spans.filter(({ name }) => name.startsWith("invoke_agent "));
        const chats = spans.filter(({ name }) => name.startsWith("chat "));
        const recorded = events.flatMap((event) => (event.type === "run.finished" ? [event] : []));
        expect(recorded.flatMap(({ requestTimes = [] }) => requestTimes)).toHaveLength(requests);
        expect(recorded[0]?.model).toBe("scripted/scripted");
        expect(runs).toHaveLength(events.filter(({ type }) => type === "run.finished").length);
        expect(chats).toHaveLength(requests);
        for (const chat of chats) {
          const run = parentOf(chat, spans);
          expect(run?.name).toBe(`invoke_agent ${chat.attributes["gen_ai.agent.name"]}`);
          expect(BigInt(chat.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(run?.startTimeUnixNano ?? 0));
          expect(BigInt(chat.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(run?.endTimeUnixNano ?? 0));
        }
        const input = usage.input + usage.cacheRead + usage.cacheWrite;
        const tokens = "gen_ai.client.token.usage";
        expect(sumOf(receiver, tokens, { "gen_ai.token.type": "input" })).toBe(input);
        expect(sumOf(receiver, tokens, { "gen_ai.token.type": "output" })).toBe(usage.output);
        expect(sumOf(receiver, "memory_lanes.cost")).toBeCloseTo(usage.cost, 9);
        expect(usage.cost).toBeGreaterThan(0);
        expect(sumOf(receiver, "memory_lanes.runs")).toBe(runs.length);
        const folds = spans.filter(({ name }) => name === "memory_lanes.compaction");
        expect(folds.length).toBeGreaterThan(0);
        expect(folds).toHaveLength(events.filter(({ type }) => type === "compaction.finished").length);
        expect(
          sumOf(receiver, "memory_lanes.compactions", { "memory_lanes.compaction.summary_by": "memory" }),
        ).toBe(folds.length);
        expect(sumOf(receiver, "memory_lanes.compaction.tokens_freed")).toBeGreaterThan(1000);
        const threshold = { "memory_lanes.lane": "observer" };
        expect(sumOf(receiver, "memory_lanes.backlog.threshold", threshold)).toBe(SMALL.observeAfterTokens);
        expect(receiver.requests.every(({ headers }) => headers["x-team"] === "memory")).toBe(true);
        expect(new Set(spans.map(({ resource }) => resource["service.name"]))).toEqual(new Set(["reviewer"]));
        expect(spans[0]?.resource["deployment.environment.name"]).toBe("test");
        expect(JSON.stringify([spans, receiver.points()])).not.toMatch(/bay|parser/);
      });
    });
  });

  it("loses nothing of a run in print mode", async () => {
    await withReceiver(async (receiver) => {
      const traceId = "0af7651916cd43dd8448eb211c80319c";
      const env = {
        ...JSON_OTLP,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/v1/traces`,
        // Whoever starts it hands on a span.
        TRACEPARENT: `00-${traceId}-b7ad6b7169203331-01`,
      };
      await withPi({ script: { agent }, memory: NEVER }, async (host) => {
        const settings = { ...host.launch.settings, "observational-memory": onlyObserver(500) };
        const run = await runPi({ ...host.launch, settings, env }, ["-p", "What is in bay 4?"]);
        expect(run).toMatchObject({ code: 0, stderr: "" });
      });
      expect(receiver.spans.map(({ name }) => name).sort()).toEqual([
        "chat scripted",
        "invoke_agent observer",
      ]);
      const [run] = receiver.spans.filter(({ name }) => name === "invoke_agent observer");
      expect(run).toMatchObject({ traceId, parentSpanId: "b7ad6b7169203331" });
      // Only the collector for traces was named.
      expect(new Set(receiver.requests.map(({ path }) => path))).toEqual(new Set(["/v1/traces"]));
    });
  });
});

describe("a collector that never answers", () => {
  it("keeps a session no longer than its timeout", async () => {
    await withReceiver(
      async (receiver) => {
        const env = {
          OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
          OTEL_EXPORTER_OTLP_TIMEOUT: "700",
        };
        await withPi({ script: { agent }, memory: onlyObserver(500), env }, async (host) => {
          await host.pi.prompt("What is in bay 4?");
          await lanesAtRest(host.pi);
          const began = performance.now();
          expect(await host.pi.stop(20_000)).toMatchObject({ code: 0 });
          expect(performance.now() - began).toBeLessThan(8000);
          expect(receiver.requests.map(({ path }) => path)).toContain("/v1/traces");
          expect(receiver.requests[0]?.type).toBe("application/x-protobuf");
        });
      },
      { silent: true },
    );
  });
});

describe("a collector that is gone", () => {
  it("is one warning, and costs the session nothing else", async () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
      OTEL_EXPORTER_OTLP_TIMEOUT: "300",
      OTEL_METRIC_EXPORT_INTERVAL: "500",
    };
    await withPi({ script: { agent }, memory: onlyObserver(500), env }, async (host) => {
      await host.pi.prompt("What is in bay 4?");
      await lanesAtRest(host.pi);
      await waitFor(() => warnings(host).length > 0, "the warning");
      await host.pi.prompt("What is in bay 5?");
      await lanesAtRest(host.pi);
      expect(warnings(host)).toEqual([
        "OpenTelemetry: what was measured could not be sent: connect ECONNREFUSED 127.0.0.1:9",
      ]);
      const recorded = (await host.pi.entries()).filter(
        ({ customType }) => customType === "om.observations.recorded",
      );
      expect(recorded).toHaveLength(2);
    });
  });
});

describe("what the SDK cannot do", () => {
  const EXPORTERS = { OTEL_TRACES_EXPORTER: "otlp,pigeon", OTEL_METRICS_EXPORTER: "none" };
  const env = { ...EXPORTERS, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
  const complaint = expect.stringMatching(/^OpenTelemetry: .*pigeon/);

  it("is one warning, and everything else is sent", async () => {
    await withReceiver(async (receiver) => {
      const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
      await withPi(
        { script: { agent }, memory: onlyObserver(500), env: { ...env, ...endpoint } },
        async (host) => {
          await host.pi.prompt("What is in bay 4?");
          await lanesAtRest(host.pi);
          await host.pi.newSession();
          await host.pi.command("/om:status");
          expect(warnings(host)).toEqual([complaint]);
          await host.pi.stop(10_000);
          expect(receiver.spans.map(({ name }) => name)).toContain("invoke_agent observer");
        },
      );
    });
  });

  it("is a line on stderr in print mode", async () => {
    await withReceiver(async (receiver) => {
      await withPi({ script: { agent }, memory: NEVER }, async ({ launch }) => {
        const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
        const run = await runPi({ ...launch, env: { ...env, ...endpoint } }, ["-p", "What is in bay 4?"]);
        expect({ code: run.code, lines: run.stderr.trim().split("\n") }).toEqual({
          code: 0,
          lines: [complaint],
        });
      });
    });
  });
});
