import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { chunkBlocks, defaultObserver, FAULTS, type Reply } from "../../../demo/model/scripted-model.ts";
import { onlyObserver, requestAt, waitFor, withPi } from "../support/harness.ts";
import { agent, expectNoErrors, laneStands, observations, runNow, status, warnings } from "./outcome.ts";

/** Three answers make the observer due; its chunk holds about two of them. */
const MEMORY = { ...onlyObserver(2000), observerChunkMaxTokens: 1700 };

const HTML_200: Reply = {
  kind: "status",
  status: 200,
  body: "<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>",
  headers: { "content-type": "text/html" },
};

/** What the model does wrong, what that is called, and how often it is asked before the run has failed. */
const CASES: readonly [name: string, fault: Reply, kind: string, requests: number, words: RegExp][] = [
  ["400, the prompt is too long", FAULTS.promptTooLong(), "prompt-too-long", 1, /too long|context length/],
  ["401", FAULTS.unauthorised(), "auth", 1, /Incorrect API key/],
  ["429", FAULTS.rateLimited(), "rate-limit", 3, /Rate limit/],
  ["503", FAULTS.unavailable(), "overloaded", 3, /overloaded/],
  ["a dropped connection", { kind: "drop", afterText: "Let me" }, "connection", 3, /./],
  ["a stream of garbage", { kind: "garbage" }, "bad-response", 1, /JSON/],
  ["an HTML error page", FAULTS.htmlPage(502), "overloaded", 3, /Bad gateway/],
  ["an HTML page with status 200", HTML_200, "connection", 3, /./],
];

// Most of this is waiting for retries, so the cases wait together.
describe.concurrent("a model that fails with", { timeout: 90_000 }, () => {
  it("anything is asked again by itself at the first turn after the delay of 30 s, and not before", async () => {
    await withPi(
      { memory: onlyObserver(600), script: { agent, observer: () => FAULTS.unauthorised() } },
      async (host) => {
        const { pi, model } = host;
        await pi.prompt("What is in bay 1?");
        await laneStands(host, "observer", "backing off");
        const failedAt = performance.now();
        model.use({ observer: defaultObserver });
        for (let bay = 2; model.by("observer").length === 1; bay++) {
          expect(performance.now() - failedAt).toBeLessThan(45_000);
          await sleep(2000);
          await pi.prompt(`What is in bay ${bay}?`);
        }
        expect(performance.now() - failedAt).toBeGreaterThan(29_000);
        await waitFor(async () => (await observations(host)).length > 0, "the observer to record");
        expect(warnings(host)).toHaveLength(1);
        expectNoErrors(host);
      },
    );
  });

  it.each(CASES)(
    "%s: lane, retries, warning, halved chunk, recovery",
    async (_name, fault, kind, requests, words) => {
      await withPi({ memory: MEMORY, script: { agent, observer: () => fault } }, async (host) => {
        const { pi, model } = host;
        for (const bay of [1, 2, 3]) await pi.prompt(`What is in bay ${bay}?`);
        await waitFor(() => model.by("observer").length > 0, "the observer to start");
        await laneStands(host, "observer", "backing off");
        expect(model.by("observer")).toHaveLength(requests);

        expect(warnings(host)).toHaveLength(1);
        const [warning = ""] = warnings(host);
        expect(warning).toMatch(/^Memory: the observer failed and will be tried again later: /);
        expect(warning).toMatch(words);
        expect(warning.length).toBeLessThan(260);
        expect(warning).not.toMatch(/[<>{}\n]/);
        expect(await status(host)).toMatch(new RegExp(`observer failed at .*\\(${kind}\\)`));

        // Within its delay the lane asks no more, whatever goes on.
        await pi.prompt("And in bay 4?");
        await laneStands(host, "observer", "backing off");
        expect(model.by("observer")).toHaveLength(requests);
        expect(await observations(host)).toEqual([]);

        model.use({ observer: defaultObserver });
        expect(await runNow(host, "observer")).toMatch(/recorded \d/);
        const blocks = (index: number) =>
          chunkBlocks(requestAt(model, "observer", index)).map(({ entryId }) => entryId);
        const failed = blocks(0);
        const halved = blocks(requests);
        expect(halved.length).toBeLessThan(failed.length);
        expect(halved).toEqual(failed.slice(0, halved.length));
        // What is left may be due, and read on at once.
        expect((await observations(host))[0]?.coversUpToId).toBe(halved.at(-1));

        // It goes on by itself, with whole chunks, from where it stood.
        await pi.prompt("And in bay 5?");
        await waitFor(async () => (await observations(host)).length > 1, "the lane to go on by itself");
        const [first, next] = [halved.at(-1), blocks(requests + 1)[0]];
        const ids = (await pi.entries()).map(({ id }) => id);
        expect(ids.indexOf(next ?? "")).toBeGreaterThan(ids.indexOf(first ?? ""));
        expect(blocks(requests + 1).length).toBeGreaterThan(halved.length);
        expect(warnings(host)).toHaveLength(1);
        expect(await status(host)).not.toMatch(/^Problems/m);
        // The OpenAI client itself writes what it could not parse to standard error.
        expectNoErrors(host, fault.kind === "garbage" ? /^Could not parse message into JSON/ : /^$/);
      });
    },
  );
});
