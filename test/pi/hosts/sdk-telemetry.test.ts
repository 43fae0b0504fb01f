import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultObserver, type Script, startScriptedModel } from "../../../demo/model/scripted-model.ts";
import { preparePi, SCRIPTED_MODEL } from "../../../demo/pi/pi-launch.ts";
import { readSessionFile } from "../../../demo/pi/session-file.ts";
import { startOtlpReceiver, sumOf } from "../../support/programs/otlp-receiver.ts";
import { ROOT } from "../../support/programs/run-cli.ts";
import { agent } from "../faults/outcome.ts";
import { EXTENSION, onlyObserver } from "../support/harness.ts";

/** Where the example finds its packages, as a program does that has them installed. */
const PROGRAM = join(ROOT, "node_modules", ".cache", `sdk-example-${process.pid}.mjs`);

beforeAll(() => {
  const [, code] = /```js\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, "docs/sdk.md"), "utf8")) ?? [];
  mkdirSync(join(PROGRAM, ".."), { recursive: true });
  writeFileSync(PROGRAM, code ?? "");
});
afterAll(() => rmSync(PROGRAM, { force: true }));

/** Runs the example of docs/sdk.md over so many tasks; gives what came of it. */
async function exampleWith(tasks: readonly string[]) {
  const dir = mkdtempSync(join(tmpdir(), "pi-memory-lanes-sdk-"));
  const script: Script = { agent, observer: defaultObserver };
  const model = await startScriptedModel(script);
  const receiver = await startOtlpReceiver();
  try {
    const settings = { retry: { enabled: false }, "observational-memory": onlyObserver(500) };
    const { env, dirs } = preparePi({ dir, modelUrl: model.url, settings }, []);
    const args = [PROGRAM, SCRIPTED_MODEL, EXTENSION, dirs.sessions, ...tasks];
    const otel = {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_LOGS_EXPORTER: "none",
      // What the program itself sends at once must fit, too.
      OTEL_BSP_MAX_QUEUE_SIZE: "8192",
    };
    const child = spawn(process.execPath, args, { cwd: dirs.work, env: { ...env, ...otel } });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    const code = await new Promise((resolve) => child.once("close", resolve));
    const kept = readdirSync(dirs.sessions).map((name) => readSessionFile(join(dirs.sessions, name)));
    return { code, output, receiver, kept, requests: model.by("observer").length };
  } finally {
    await model.close();
    await receiver.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

describe("the example of the docs", () => {
  it.each([3, 200])(
    "holds %i sessions at once, each with its memory and its spans",
    { timeout: 240_000 },
    async (count) => {
      const tasks = Array.from({ length: count }, (_, at) => `What is in bay ${at}?`);
      const { code, output, receiver, kept, requests } = await exampleWith(tasks);
      expect({ code, output }).toEqual({ code: 0, output: "" });
      expect(kept).toHaveLength(count);
      for (const entries of kept) {
        expect(entries.filter(({ customType }) => customType === "om.observations.recorded")).toHaveLength(1);
      }
      const { spans } = receiver;
      const reviews = new Map(
        spans.filter(({ name }) => name === "review").map((span) => [span.spanId, span]),
      );
      const runs = spans.filter(({ name }) => name === "invoke_agent observer");
      expect(reviews.size).toBe(count);
      expect(runs).toHaveLength(count);
      // Each task's own span has the one run of its own session.
      const parents = runs.map(({ parentSpanId = "" }) => reviews.get(parentSpanId)?.attributes.task);
      expect(parents.sort()).toEqual([...tasks].sort());
      expect(new Set(runs.map(({ attributes }) => attributes["gen_ai.conversation.id"])).size).toBe(count);
      const chats = spans.filter(({ name }) => name === "chat scripted");
      // On a busy machine some attempts never reach the model, and are made again.
      const lost = chats.filter(({ attributes }) => attributes["error.type"] === "connection");
      expect(chats.length - lost.length).toBe(requests);
      expect(sumOf(receiver, "memory_lanes.runs", { "memory_lanes.run.outcome": "recorded" })).toBe(count);
    },
  );
});
