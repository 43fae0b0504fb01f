import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { defaultObserver, type Handler } from "../../demo/model/scripted-model.ts";
import { startPi } from "../../demo/pi/pi-process.ts";
import { customEntries } from "../../demo/pi/session-file.ts";
import { recordingsDir } from "../../src/host/pi/recording/session-recorder.ts";
import { COST, FOLDED } from "../../src/reducers/ledger/records.ts";
import { start } from "../support/programs/run-cli.ts";
import { agent, expectNoErrors, laneState, notices, status, warnings } from "./faults/outcome.ts";
import { lanesAtRest, onlyObserver, type PiHost, waitFor, withPi } from "./support/harness.ts";

/** Each request of a worker costs a dollar and a bit, whatever it says. */
const PRICE = { input: 0, output: 1000 };
const observer: Handler = (request) => ({
  ...defaultObserver(request),
  usage: { prompt: 10, completion: 1000 },
});
const MEMORY = onlyObserver(300);

/** Prompts until nothing is asked of the worker's model any more; its requests. */
async function untilOver(host: PiHost): Promise<number> {
  for (let turn = 1; turn <= 6; turn++) {
    await host.pi.prompt(`Turn ${turn}: which ferry leaves from bay ${turn}?`);
    await lanesAtRest(host.pi);
  }
  return host.model.by("observer").length;
}

it("a session's budget stops its workers, says so once, and leaves recall and folding", {
  timeout: 120_000,
}, async () => {
  const memory = { ...MEMORY, budget: { sessionUsd: 2.4 } };
  await withPi({ memory, cost: PRICE, script: { agent, observer } }, async (host) => {
    expect(await untilOver(host)).toBe(3);
    expect(await laneState(host, "observer")).toBe("over budget");
    expect(await status(host)).toContain("$3.0000 of this session's $2.4000, used up");
    const said = warnings(host).filter((words) => words.includes("budget"));
    expect(said).toEqual([
      expect.stringMatching(/nearly used: \$2\.0000 of this session's \$2\.4000/),
      expect.stringMatching(/over budget: \$3\.0000 of this session's.*still work/),
    ]);

    await host.pi.command("/om:run observer");
    expect(notices(host).at(-1)).toMatch(/over budget.*The observer does not run.*budget\.sessionUsd/);

    await host.pi.compact();
    const session = await host.pi.sessionFile();
    expect((await host.pi.entries()).find(({ type }) => type === "compaction")?.details).toMatchObject({
      type: FOLDED,
    });

    await host.pi.stop();
    await host.restart({ session });
    expect(await untilOver(host)).toBe(3);
    expect(warnings(host)).toEqual([]);

    await host.pi.stop();
    const raised = { ...MEMORY, budget: { sessionUsd: 3.5 } };
    await host.restart({ session, settings: { ...host.launch.settings, "observational-memory": raised } });
    expect(await untilOver(host)).toBe(4);
    expectNoErrors(host);
  });
});

it("two Pis at once stop at the day's budget together, within one request", {
  timeout: 120_000,
}, async () => {
  const memory = { ...MEMORY, budget: { dayUsd: 3 }, debugLog: true };
  await withPi({ memory, cost: PRICE, script: { agent, observer } }, async (host) => {
    const dir = join(host.dir, "second");
    mkdirSync(dir);
    const second = await startPi({
      ...host.launch,
      dir,
      agentDir: host.pi.dirs.agent,
      env: { PI_OFFLINE: "1" },
    });
    try {
      const other: PiHost = { ...host, pi: second };
      await Promise.all([untilOver(host), untilOver(other)]);
      expect(host.model.by("observer")).toHaveLength(3);
      for (const one of [host, other]) {
        await one.pi.prompt("And now?");
        await waitFor(
          async () => (await laneState(one, "observer")) === "over budget",
          "both to be over budget",
        );
        expect(await status(one)).toContain("$3.0000 of today's $3.0000, used up");
      }
      const costs = [...(await host.pi.entries()), ...(await second.entries())];
      expect(customEntries(costs, COST)).toHaveLength(3);
    } finally {
      await second.stop();
    }
    await host.pi.stop();
    const recordings = recordingsDir(host.pi.dirs.agent);
    for (const name of readdirSync(recordings))
      expect(start(["replay", join(recordings, name)]).code).toBe(0);
    expectNoErrors(host);
  });
});
