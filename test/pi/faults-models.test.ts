import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultObserver, freshToolResults } from "../../demo/model/scripted-model.ts";
import { startPi } from "../../demo/pi/pi-process.ts";
import {
  agent,
  expectNoErrors,
  laneStands,
  observations,
  runNow,
  status,
  warnings,
} from "./faults-support.ts";
import { onlyObserver, openWorld, requestAt, type World, waitFor } from "./harness.ts";
import { KEY_FILE, STREAMED } from "./other-providers.ts";

const MEMORY = onlyObserver(600);

let world: World;

beforeAll(async () => {
  world = await openWorld({
    memory: MEMORY,
    script: { agent },
    moreExtensions: [join(import.meta.dirname, "other-providers.ts")],
  });
}, 60_000);
afterAll(() => world.close());

/** Another Pi, in a new session, whose workers use this model. */
async function restartWith(provider: string, id: string): Promise<void> {
  if (world.pi.exit === undefined) await world.pi.stop();
  const settings = {
    ...world.launch.settings,
    "observational-memory": { ...MEMORY, model: { provider, id } },
  };
  await world.restart({ settings });
}

describe("the workers' model", { timeout: 60_000 }, () => {
  it("stays a run's own when the session's is switched in mid-run, and the next run has the new one", async () => {
    const gate = Promise.withResolvers<void>();
    world.model.use({
      observer: async (request) => {
        if (freshToolResults(request).length === 0) await gate.promise;
        return defaultObserver(request);
      },
    });
    await world.pi.prompt("What is in bay 1?");
    await waitFor(() => world.model.by("observer").length === 1, "the observer's request");
    await world.pi.send("set_model", { provider: "second", modelId: "second-model" });
    gate.resolve();
    await waitFor(async () => (await observations(world)).length === 1, "the run to record");
    expect(world.model.by("observer").map(({ body }) => body.model)).toEqual(["scripted", "scripted"]);

    await world.pi.prompt("What is in bay 2?");
    await waitFor(async () => (await observations(world)).length === 2, "the next run to record");
    expect(requestAt(world.model, "observer", -1).model).toBe("second-model");
    expect(world.model.by("observer").at(-1)?.headers["x-test-provider"]).toBe("second");
    expect(warnings(world)).toEqual([]);
    expectNoErrors(world);
  });

  it("may be of a provider that another extension registered with a stream of its own", async () => {
    await restartWith("streamed", "streamed-model");
    await world.pi.prompt("What is in bay 3?");
    await waitFor(async () => (await observations(world)).length === 1, "the run to record");
    expect((await observations(world))[0]?.observations[0]?.content).toBe("Streamed in process.");
    const said = readFileSync(join(world.pi.dirs.agent, STREAMED), "utf8").trimEnd().split("\n");
    expect(said).toHaveLength(2);
    for (const line of said) {
      expect(JSON.parse(line)).toEqual({
        systemPrompt: expect.stringMatching(/observ/i),
        tools: ["record_observations"],
        apiKey: "no-secret",
        hasSignal: true,
      });
    }
    expect(await status(world)).toMatch(/cost so far +\$0\.5000 \(2 requests/);
    expectNoErrors(world);
  });

  it("may be missing: one warning, and all is well when it is there", async () => {
    await restartWith("second", "second-model");
    await world.pi.command("/test:provider off second");
    for (const bay of [4, 5, 6]) await world.pi.prompt(`What is in bay ${bay}?`);
    await laneStands(world, "observer", "backingOff");
    expect(warnings(world)).toEqual([
      expect.stringContaining("the model second/second-model of the settings is not known to Pi"),
    ]);
    expect(await status(world)).toMatch(/observer failed at .*\(no-model\)/);
    await world.pi.command("/test:provider on second");
    expect(await runNow(world, "observer")).toMatch(/recorded/);
    await world.pi.prompt("What is in bay 7?");
    await laneStands(world, "observer", "idle");
    expect(warnings(world)).toHaveLength(1);
    expectNoErrors(world);
  });

  it("may lack credentials: one warning, and all is well when they appear", async () => {
    await restartWith("locked", "locked-model");
    const before = world.model.by("observer").length;
    for (const bay of [8, 9, 10]) await world.pi.prompt(`What is in bay ${bay}?`);
    await laneStands(world, "observer", "backingOff");
    expect(world.model.by("observer")).toHaveLength(before);
    expect(warnings(world)).toHaveLength(1);
    expect(await status(world)).toMatch(/observer failed at .*\(auth\)/);
    writeFileSync(join(world.pi.dirs.agent, KEY_FILE), "key-from-a-file\n");
    expect(await runNow(world, "observer")).toMatch(/recorded/);
    expect(world.model.by("observer").at(-1)?.headers.authorization).toBe("Bearer key-from-a-file");
    await world.pi.prompt("What is in bay 11?");
    await laneStands(world, "observer", "idle");
    expect(warnings(world)).toHaveLength(1);
    expectNoErrors(world);
  });

  it("may be none at all, as in a session without one: then nothing is asked, and it is told", async () => {
    await world.pi.stop();
    await world.restart({
      settings: { ...world.launch.settings, "observational-memory": onlyObserver(100_000) },
    });
    await world.pi.prompt("What is in bay 12?");
    const session = await world.pi.sessionFile();
    await world.pi.stop();
    const models = join(world.pi.dirs.agent, "models.json");
    const [text, asked] = [readFileSync(models, "utf8"), world.model.requests.length];
    rmSync(models);
    const { modelUrl: _, extensions = [], ...launch } = world.launch;
    const pi = await startPi({ ...launch, session, extensions: extensions.slice(0, 2), model: "" });
    try {
      await pi.command("/om:run observer");
      await waitFor(
        () => pi.uiRequests.some(({ message }) => message?.includes("(no-model): the session has no model")),
        "the words for it",
      );
      expect((await pi.command("/om:status")).join("\n")).toMatch(/observer +backingOff/);
      expect(pi.events.filter(({ type }) => type === "extension_error")).toEqual([]);
    } finally {
      await pi.stop();
    }
    expect(world.model.requests).toHaveLength(asked);

    writeFileSync(models, text);
    await world.restart({ session });
    expect(await runNow(world, "observer")).toMatch(/recorded/);
    expectNoErrors(world);
  });
});
