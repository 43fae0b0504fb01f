import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chunkBlocks, freshToolResults } from "../../../demo/model/scripted-model.ts";
import { startPi } from "../../../demo/pi/pi-process.ts";
import { KEY_FILE, STREAMED } from "../extensions/other-providers.ts";
import { onlyObserver, openHost, type PiHost, requestAt, waitFor } from "../support/harness.ts";
import { agent, expectNoErrors, laneStands, observations, runNow, status, warnings } from "./outcome.ts";

const MEMORY = onlyObserver(600);

let host: PiHost;

beforeAll(async () => {
  host = await openHost({
    memory: MEMORY,
    script: { agent },
    moreExtensions: [join(import.meta.dirname, "../extensions/other-providers.ts")],
  });
}, 60_000);
afterAll(() => host.close());

/** Another Pi, in a new session, whose workers use this model. */
async function restartWith(provider: string, id: string): Promise<void> {
  if (host.pi.exit === undefined) await host.pi.stop();
  const settings = {
    ...host.launch.settings,
    "observational-memory": { ...MEMORY, model: { provider, id } },
  };
  await host.restart({ settings });
}

describe("the workers' model", { timeout: 60_000 }, () => {
  it("stays a run's own when the session's is switched in mid-run, and the next run has the new one", async () => {
    const gate = Promise.withResolvers<void>();
    host.model.use({
      observer: async (request, nth) => {
        if (freshToolResults(request).length > 0) return { text: "done" };
        await gate.promise;
        const sourceEntryIds = chunkBlocks(request).map(({ entryId }) => entryId);
        const observations = [{ content: `Ferries, seen ${nth} times.`, relevance: "high", sourceEntryIds }];
        // It does not say that it is done, so the run asks again.
        return { toolCalls: [{ name: "record_observations", arguments: { observations } }] };
      },
    });
    await host.pi.prompt("What is in bay 1?");
    await waitFor(() => host.model.by("observer").length === 1, "the observer's request");
    await host.pi.send("set_model", { provider: "second", modelId: "second-model" });
    gate.resolve();
    await waitFor(async () => (await observations(host)).length === 1, "the run to record");
    expect(host.model.by("observer").map(({ body }) => body.model)).toEqual(["scripted", "scripted"]);

    await host.pi.prompt("What is in bay 2?");
    await waitFor(async () => (await observations(host)).length === 2, "the next run to record");
    expect(requestAt(host.model, "observer", -1).model).toBe("second-model");
    expect(host.model.by("observer").at(-1)?.headers["x-test-provider"]).toBe("second");
    expect(warnings(host)).toEqual([]);
    expectNoErrors(host);
  });

  it("may be of a provider that another extension registered with a stream of its own", async () => {
    await restartWith("streamed", "streamed-model");
    await host.pi.prompt("What is in bay 3?");
    await waitFor(async () => (await observations(host)).length === 1, "the run to record");
    expect((await observations(host))[0]?.observations[0]?.content).toBe("Streamed in process.");
    const said = readFileSync(join(host.pi.dirs.agent, STREAMED), "utf8").trimEnd().split("\n");
    expect(said).toHaveLength(2);
    for (const line of said) {
      expect(JSON.parse(line)).toEqual({
        systemPrompt: expect.stringMatching(/observ/i),
        tools: ["record_observations"],
        apiKey: "no-secret",
        hasSignal: true,
      });
    }
    expect(await status(host)).toMatch(/cost so far +\$0\.5000 \(1 run, /);
    expectNoErrors(host);
  });

  it("may be missing: one warning, and all is well when it is there", async () => {
    await restartWith("second", "second-model");
    await host.pi.command("/test:provider off second");
    for (const bay of [4, 5, 6]) await host.pi.prompt(`What is in bay ${bay}?`);
    await laneStands(host, "observer", "backing off");
    expect(warnings(host)).toEqual([
      expect.stringContaining("the model second/second-model of the settings is not known to Pi"),
    ]);
    expect(await status(host)).toMatch(/observer failed at .*\(no-model\)/);
    await host.pi.command("/test:provider on second");
    expect(await runNow(host, "observer")).toMatch(/recorded/);
    await host.pi.prompt("What is in bay 7?");
    await laneStands(host, "observer", "idle");
    expect(warnings(host)).toHaveLength(1);
    expectNoErrors(host);
  });

  it("may lack credentials: one warning, and all is well when they appear", async () => {
    await restartWith("locked", "locked-model");
    const before = host.model.by("observer").length;
    for (const bay of [8, 9, 10]) await host.pi.prompt(`What is in bay ${bay}?`);
    await laneStands(host, "observer", "backing off");
    expect(host.model.by("observer")).toHaveLength(before);
    expect(warnings(host)).toHaveLength(1);
    expect(await status(host)).toMatch(/observer failed at .*\(auth\)/);
    writeFileSync(join(host.pi.dirs.agent, KEY_FILE), "key-from-a-file\n");
    expect(await runNow(host, "observer")).toMatch(/recorded/);
    expect(host.model.by("observer").at(-1)?.headers.authorization).toBe("Bearer key-from-a-file");
    await host.pi.prompt("What is in bay 11?");
    await laneStands(host, "observer", "idle");
    expect(warnings(host)).toHaveLength(1);
    expectNoErrors(host);
  });

  it("may be none at all, as in a session without one: then nothing is asked, and it is told", async () => {
    await host.pi.stop();
    await host.restart({
      settings: { ...host.launch.settings, "observational-memory": onlyObserver(100_000) },
    });
    await host.pi.prompt("What is in bay 12?");
    const session = await host.pi.sessionFile();
    await host.pi.stop();
    const models = join(host.pi.dirs.agent, "models.json");
    const [text, asked] = [readFileSync(models, "utf8"), host.model.requests.length];
    rmSync(models);
    const { modelUrl: _, extensions = [], ...launch } = host.launch;
    const pi = await startPi({ ...launch, session, extensions: extensions.slice(0, 2), model: "" });
    try {
      await pi.command("/om:run observer");
      await waitFor(
        () => pi.uiRequests.some(({ message }) => message?.includes("(no-model): the session has no model")),
        "the words for it",
      );
      expect((await pi.command("/om:status")).join("\n")).toMatch(/observer +backing off/);
      expect(pi.events.filter(({ type }) => type === "extension_error")).toEqual([]);
    } finally {
      await pi.stop();
    }
    expect(host.model.requests).toHaveLength(asked);

    writeFileSync(models, text);
    await host.restart({ session });
    expect(await runNow(host, "observer")).toMatch(/recorded/);
    expectNoErrors(host);
  });
});
