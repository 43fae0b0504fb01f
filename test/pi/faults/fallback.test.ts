import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { defaultObserver, FAULTS, type Reply } from "../../../demo/model/scripted-model.ts";
import { customEntries } from "../../../demo/pi/session-file.ts";
import { COST, type CostRecorded } from "../../../src/reducers/ledger/records.ts";
import { KEY_FILE } from "../extensions/other-providers.ts";
import { onlyObserver, openHost, type PiHost, waitFor } from "../support/harness.ts";
import { agent, expectNoErrors, observations, status, warnings } from "./outcome.ts";

const extension = (name: string) => join(import.meta.dirname, `../extensions/${name}.ts`);

let host: PiHost;

beforeAll(async () => {
  host = await openHost({
    memory: {
      ...onlyObserver(600),
      model: { provider: "second", id: "second-model" },
      fallbackModels: [{ provider: "locked", id: "locked-model" }],
    },
    script: { agent },
    moreExtensions: [extension("other-providers"), extension("clock")],
  });
  writeFileSync(join(host.pi.dirs.agent, KEY_FILE), "no-secret");
}, 60_000);
afterAll(() => host.close());

/** What the workers' first model answers from now on; the others work. */
function secondAnswers(fault?: Reply): void {
  host.model.use({
    observer: (request) => (fault && request.model === "second-model" ? fault : defaultObserver(request)),
  });
}

/** A turn, and the models that the observer asked after it until it had recorded. */
async function turn(words: string): Promise<unknown[]> {
  const before = (await observations(host)).length;
  const from = host.model.by("observer").length;
  await host.pi.prompt(words);
  await waitFor(async () => (await observations(host)).length > before, "the run to record", {
    timeoutMs: 30_000,
  });
  const asked = host.model.by("observer").slice(from);
  return asked.map(({ body }) => body.model);
}

const OUT_OF_QUOTA: Reply = {
  kind: "status",
  status: 429,
  body: {
    error: {
      message: "You exceeded your current quota, please check your plan and billing details.",
      type: "insufficient_quota",
      code: "insufficient_quota",
    },
  },
};

it("a fallback takes over from a provider that dies in mid-session, and gives back when that has rested", async () => {
  secondAnswers();
  expect(await turn("What is in bay 1?")).toEqual(["second-model"]);

  secondAnswers(OUT_OF_QUOTA);
  expect(await turn("What is in bay 2?")).toEqual(["second-model", "locked-model"]);
  expect(await turn("What is in bay 3?")).toEqual(["locked-model"]);
  expect(warnings(host)).toEqual([
    expect.stringMatching(
      /^Memory: the observer asked locked\/locked-model instead: second\/second-model failed \(quota\)/,
    ),
  ]);
  expect(await status(host)).toMatch(
    /model +observer: locked\/locked-model \(a fallback; second\/second-model rests until [\d:]+: 429: You exceeded|model +locked\/locked-model \(a fallback; second\/second-model rests until [\d:]+: 429/,
  );

  secondAnswers();
  await host.pi.command("/test:later 61");
  expect(await turn("What is in bay 4?")).toEqual(["second-model"]);
  expect(await status(host)).toMatch(/model +second\/second-model \(set for the workers\)/);

  // An outage may be over in a moment: it is asked three times first.
  secondAnswers(FAULTS.unavailable());
  const asked = await turn("What is in bay 5?");
  expect(asked).toEqual(["second-model", "second-model", "second-model", "locked-model"]);

  const costs = customEntries<CostRecorded>(await host.pi.entries(), COST).map(({ data }) => data.model);
  const [second, locked] = ["second/second-model", "locked/locked-model"];
  expect(costs).toEqual([second, locked, locked, second, locked]);
  expectNoErrors(host);
}, 90_000);
