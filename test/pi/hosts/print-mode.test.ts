import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultObserver, type Script } from "../../../demo/model/scripted-model.ts";
import { runPi } from "../../../demo/pi/pi-launch.ts";
import { readSessionFile } from "../../../demo/pi/session-file.ts";
import { agent } from "../faults/outcome.ts";
import { type MemorySettings, NEVER, onlyObserver, type PiHost, withPi } from "../support/harness.ts";

const MODES = [["-p"], ["--mode", "json"]];
const PROMPT = "The ferry in bay 4 must never leave before 4:30.";

/** Runs Pi once, in print or JSON mode, in a new session; what of memory is in it afterwards. */
async function printed(host: PiHost, mode: readonly string[], memory: MemorySettings) {
  const sessions = join(host.dir, "sessions");
  const before = new Set(readdirSync(sessions));
  const settings = { ...host.launch.settings, "observational-memory": memory };
  const run = await runPi({ ...host.launch, settings }, [...mode, PROMPT]);
  expect(run).toMatchObject({ code: 0, stderr: "" });
  return readdirSync(sessions)
    .filter((name) => !before.has(name))
    .flatMap((name) => readSessionFile(join(sessions, name)))
    .flatMap(({ customType }) => (String(customType).startsWith("om.") ? [customType] : []));
}

function unanswered({ model }: PiHost): number {
  return model.requests.filter(({ answered }) => !answered).length;
}

describe.each(MODES)("pi %s", (...mode) => {
  const slow: Script = {
    agent,
    observer: (request) => ({ ...defaultObserver(request), delayMs: 800 }),
  };

  it("waits for the request of a worker, and records what was paid for", { timeout: 60_000 }, async () => {
    await withPi({ script: slow, memory: NEVER }, async (host) => {
      expect(await printed(host, mode, onlyObserver(500))).toEqual(["om.observations.recorded", "om.cost"]);
      expect(host.model.by("observer")).not.toEqual([]);
      expect(unanswered(host)).toBe(0);
    });
  });

  it("begins nothing at its end that it would have to abort", { timeout: 60_000 }, async () => {
    await withPi({ script: slow, memory: NEVER }, async (host) => {
      // The reflector is due, and held back by the observer until it has recorded.
      const memory = { ...NEVER, observeAfterTokens: 500, reflectAfterTokens: 500 };
      expect(await printed(host, mode, memory)).toEqual(["om.observations.recorded", "om.cost"]);
      expect(host.model.by("reflector")).toEqual([]);
      expect(unanswered(host)).toBe(0);
    });
  });

  it("waits no longer than it is told to", { timeout: 60_000 }, async () => {
    await withPi({ script: { agent, observer: () => ({ kind: "hang" }) }, memory: NEVER }, async (host) => {
      const memory = { ...onlyObserver(500), printWaitMs: 300 };
      expect(await printed(host, mode, memory)).toEqual([]);
      expect(host.model.by("observer").map(({ aborted }) => aborted)).toEqual([true]);
    });
  });

  it("runs no worker when it is not to wait", { timeout: 60_000 }, async () => {
    await withPi({ script: slow, memory: NEVER }, async (host) => {
      expect(await printed(host, mode, { ...onlyObserver(500), printWaitMs: 0 })).toEqual([]);
      expect(host.model.by("observer")).toEqual([]);
    });
  });
});
