import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Script, type ScriptedModel, startScriptedModel } from "../../../demo/model/scripted-model.ts";
import { preparePi } from "../../../demo/pi/pi-launch.ts";
import { readSessionFile, type SessionLine } from "../../../demo/pi/session-file.ts";
import { startOtlpReceiver, sumOf } from "../../support/programs/otlp-receiver.ts";
import { EXTENSION, type MemorySettings, onlyObserver, prose, waitFor } from "../support/harness.ts";

interface Program {
  readonly model: ScriptedModel;
  readonly output: string;
  /** Set once the program has ended by itself. */
  readonly code: number | null | undefined;
  /** Tells the program to dispose of its session. */
  dispose(): void;
  /** Entries of the sessions that it kept */
  kept(): SessionLine[];
}

interface ProgramOptions {
  script: Script;
  memory: MemorySettings;
  inMemory?: boolean;
  prompts?: number;
  env?: Record<string, string>;
}

/** Runs a program that uses Pi as a library, with this extension in its settings; what is left of it is ended. */
async function withProgram(options: ProgramOptions, run: (program: Program) => Promise<void>): Promise<void> {
  const { script, memory, inMemory = false, prompts = 1, env: more = {} } = options;
  const dir = mkdtempSync(join(tmpdir(), "pi-memory-lanes-sdk-"));
  const model = await startScriptedModel(script);
  const settings = { extensions: [EXTENSION], retry: { enabled: false }, "observational-memory": memory };
  const { env, dirs } = preparePi({ dir, modelUrl: model.url, settings }, []);
  const go = join(dir, "go");
  const task = {
    cwd: dirs.work,
    ...(!inMemory && { sessions: dirs.sessions }),
    prompts: Array.from({ length: prompts }, (_, n) => `What is in bay ${n}?`),
    go,
  };
  mkdirSync(dirs.sessions, { recursive: true });
  const child = spawn(process.execPath, [join(import.meta.dirname, "sdk-program.ts"), JSON.stringify(task)], {
    cwd: dirs.work,
    env: { ...env, ...more },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let code: number | null | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  child.once("close", (ended) => {
    code = ended;
  });
  try {
    await run({
      model,
      get output() {
        return output;
      },
      get code() {
        return code;
      },
      dispose: () => writeFileSync(go, ""),
      kept: () => readdirSync(dirs.sessions).flatMap((name) => readSessionFile(join(dirs.sessions, name))),
    });
  } catch (error) {
    if (error instanceof Error) error.message += `\n\nThe program said:\n${output}`;
    throw error;
  } finally {
    child.kill("SIGKILL");
    await model.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

const agent = (_request: unknown, nth: number) => ({ text: prose(700, nth) });
const memoryOf = (entries: readonly SessionLine[]) =>
  entries.filter(({ customType }) => String(customType).startsWith("om."));

describe("a session that is kept in memory alone", { timeout: 60_000 }, () => {
  const memory = onlyObserver(500);

  it("pays for no worker", async () => {
    await withProgram({ script: { agent }, memory, inMemory: true, prompts: 3 }, async (program) => {
      await waitFor(() => program.output.includes("settled"), "the agent to settle", { timeoutMs: 30_000 });
      program.dispose();
      await waitFor(() => program.code !== undefined, "the program to end", { timeoutMs: 5000 });
      expect(program.model.by("agent")).toHaveLength(3);
      expect(program.model.by("observer")).toEqual([]);
    });
  });

  it("does where the settings say so", async () => {
    const settings = { ...memory, subagents: "on" };
    await withProgram({ script: { agent }, memory: settings, inMemory: true }, async (program) => {
      await waitFor(() => program.model.by("observer").length > 0, "the observer's request", {
        timeoutMs: 30_000,
      });
    });
  });
});

describe("a session that is disposed of", { timeout: 60_000 }, () => {
  it("lets go of a worker's request, asks nothing more, and the program ends by itself", async () => {
    const script: Script = { agent, observer: () => ({ kind: "hang" }) };
    await withProgram({ script, memory: onlyObserver(500) }, async (program) => {
      const { model } = program;
      await waitFor(() => model.by("observer").length > 0, "the observer's request", { timeoutMs: 30_000 });
      program.dispose();
      await waitFor(() => model.by("observer")[0]?.aborted === true, "the request to be aborted", {
        timeoutMs: 5000,
      });
      await waitFor(() => program.code !== undefined, "the program to end", { timeoutMs: 5000 });
      expect(program.code).toBe(0);
      expect(program.output).toBe("settled\ndisposed\n");
      expect(model.by("observer")).toHaveLength(1);
      expect(memoryOf(program.kept())).toEqual([]);
    });
  });

  it("sends what it has told OpenTelemetry of before the program ends", async () => {
    const receiver = await startOtlpReceiver();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
    try {
      await withProgram({ script: { agent }, memory: onlyObserver(500), env }, async (program) => {
        await waitFor(() => memoryOf(program.kept()).length > 0, "the observer to record", {
          timeoutMs: 30_000,
        });
        program.dispose();
        await waitFor(() => program.code !== undefined, "the program to end");
        expect(program.output).toBe("settled\ndisposed\n");
      });
      expect(receiver.spans.map(({ name }) => name)).toContain("invoke_agent observer");
      expect(sumOf(receiver, "memory_lanes.runs")).toBe(1);
    } finally {
      await receiver.close();
    }
  });

  it("is not written to by a run whose second request would come after its end", async () => {
    const gate = Promise.withResolvers<void>();
    const script: Script = {
      agent,
      observer: async () => {
        await gate.promise;
        // Words and no record: the run would ask again for what was refused.
        return {
          toolCalls: [{ name: "record_observations", arguments: { observations: [{ content: "" }] } }],
        };
      },
    };
    await withProgram({ script, memory: onlyObserver(500) }, async (program) => {
      const { model } = program;
      await waitFor(() => model.by("observer").length > 0, "the observer's request", { timeoutMs: 30_000 });
      program.dispose();
      await waitFor(() => program.output.includes("disposed"), "the program to dispose");
      gate.resolve();
      await waitFor(() => program.code !== undefined, "the program to end", { timeoutMs: 5000 });
      expect(program.code).toBe(0);
      expect(model.by("observer")).toHaveLength(1);
      expect(memoryOf(program.kept())).toEqual([]);
    });
  });
});
