import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createReplay } from "../../../src/machines/recording/replay.ts";
import { totalUsage } from "../../support/engine/total-usage.ts";
import { type OtlpReceiver, startOtlpReceiver, sumOf } from "../../support/programs/otlp-receiver.ts";
import { BIN, linesOf, type Result, ROOT } from "../../support/programs/run-cli.ts";

const RECORDING = join(ROOT, "test/recordings/main-job.ndjson");
const SESSION = join(ROOT, "test/fixtures/v3-normal-folds.jsonl");

let receiver: OtlpReceiver;

beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(() => receiver.close());

/** The command as a user starts it; this process goes on, since the collector is in it. */
function otel(args: readonly string[], env: Record<string, string> = collector()): Promise<Result> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [BIN, "otel", ...args], { env: { ...process.env, ...env } });
    const result = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      result.out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      result.err += text;
    });
    // On a busy machine the command shows how far it is.
    const complaints = () => result.err.replace(/^.* \(\d+ %\)\n/gm, "");
    child.once("close", (code) => resolve({ ...result, err: complaints(), code }));
  });
}

function collector(): Record<string, string> {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
}

function replayed(file: string) {
  const { read } = createReplay();
  const steps = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .flatMap((line) => read(line) ?? []);
  const last = steps.at(-1);
  if (!last) throw new Error("no event");
  return { steps, last };
}

describe("memory-lanes otel", () => {
  it("sends a recording's spans and metrics with the session's own times", async () => {
    const { steps, last } = replayed(RECORDING);
    const { out, err, code } = await otel(["--json", RECORDING]);
    expect({ err, code }).toEqual({ err: "", code: 0 });
    const events = steps.map(({ event }) => event);
    const runs = events.flatMap((event) => (event.type === "run.finished" ? [event] : []));
    expect(JSON.parse(out)).toMatchObject({ type: "otel", runs: runs.length, spans: receiver.spans.length });
    const sent = receiver.spans.filter(({ name }) => name.startsWith("invoke_agent "));
    expect(sent.map(({ endTimeUnixNano }) => Number(BigInt(endTimeUnixNano) / 1_000_000n)).sort()).toEqual(
      runs.map(({ at }) => Date.parse(at)).sort(),
    );
    expect(new Set(receiver.spans.map(({ attributes }) => attributes["memory_lanes.source"]))).toEqual(
      new Set(["recording"]),
    );
    const { usage } = totalUsage(last.state);
    const input = { "gen_ai.token.type": "input" };
    expect(sumOf(receiver, "gen_ai.client.token.usage", input)).toBe(
      usage.input + usage.cacheRead + usage.cacheWrite,
    );
    const ends = new Set(receiver.points().map(({ timeUnixNano }) => timeUnixNano));
    expect([...ends]).toEqual([String(BigInt(Date.parse(last.event.at)) * 1_000_000n)]);
  });

  it("sends the same ids and the same values when it sends a file again", async () => {
    expect(await otel([RECORDING, SESSION])).toMatchObject({ code: 0 });
    const ids = () =>
      receiver.spans.map(({ traceId, spanId, parentSpanId }) => [traceId, spanId, parentSpanId]);
    const first = ids();
    const points = receiver.points();
    expect(new Set(first.map(String)).size).toBe(first.length);
    receiver.spans.length = 0;
    expect(await otel([RECORDING, SESSION])).toMatchObject({ code: 0 });
    expect(ids()).toEqual(first);
    expect(receiver.points()).toEqual(points);
  });

  it("says of a session file that its runs are told by their results", async () => {
    const { out, code } = await otel([SESSION]);
    expect(code).toBe(0);
    expect(linesOf(out)).toEqual([
      expect.stringMatching(/: sent \d+ spans of \d+ runs and \d+ compactions?$/),
    ]);
    expect(receiver.spans.length).toBeGreaterThan(0);
    expect(new Set(receiver.spans.map(({ attributes }) => attributes["memory_lanes.source"]))).toEqual(
      new Set(["session"]),
    );
  });

  it("sends what can be sent when one file cannot be read", async () => {
    const dir = mkdtempSync(join(tmpdir(), "otel-"));
    const broken = join(dir, "broken.jsonl");
    writeFileSync(broken, "no session\n");
    const { err, code } = await otel([broken, RECORDING]);
    expect(code).toBe(1);
    expect(linesOf(err)).toEqual([`memory-lanes: ${broken}, line 1: neither a Pi session nor a recording`]);
    expect(receiver.spans.length).toBeGreaterThan(0);
    rmSync(dir, { recursive: true });
  });

  it("says what to set when no collector is named, and what did not take it", {
    timeout: 60_000,
  }, async () => {
    const none = await otel([RECORDING], {});
    expect(none.code).toBe(2);
    expect(linesOf(none.err)).toEqual([expect.stringContaining("set OTEL_EXPORTER_OTLP_ENDPOINT")]);
    const pigeon = await otel([RECORDING], { ...collector(), OTEL_TRACES_EXPORTER: "pigeon" });
    expect(pigeon).toMatchObject({ code: 2, out: "" });
    expect(linesOf(pigeon.err)).toEqual([expect.stringMatching(/^memory-lanes: OpenTelemetry: .*pigeon/)]);
    const gone = await otel([RECORDING], {
      ...collector(),
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
      OTEL_EXPORTER_OTLP_TIMEOUT: "500",
    });
    expect(gone.code).toBe(2);
    expect(linesOf(gone.err)).toEqual([expect.stringContaining("the collector did not take it: ")]);
  });
});
