import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { customEntries, readSessionFile } from "../../demo/pi/session-file.ts";
import { parseSession } from "../../src/reducers/entries/session-file.ts";
import { COST, type CostRecorded } from "../../src/reducers/ledger/records.ts";
import { sessionOfEntries } from "../../src/reducers/memory.ts";
import { totalOf } from "../../src/reducers/spend.ts";
import { agent, expectNoErrors } from "./faults/outcome.ts";
import { lanesAtRest, type PiHost, SMALL, withPi } from "./support/harness.ts";

const PRICE = { input: 2, output: 8 };
const WORKERS = ["observer", "reflector", "dropper"] as const;

/** What the model's own server counted of the workers' requests. */
interface Counted {
  prompt: number;
  completion: number;
}

function usd({ prompt, completion }: Counted): number {
  return (prompt * PRICE.input + completion * PRICE.output) / 1_000_000;
}

function costs(file: string) {
  return customEntries<CostRecorded>(readSessionFile(file), COST);
}

function spendOf(file: string) {
  return totalOf(sessionOfEntries(parseSession(readFileSync(file, "utf8"))).session.ledger.spend);
}

async function turns(host: PiHost, count: number): Promise<string> {
  for (let turn = 1; turn <= count; turn++) {
    await host.pi.prompt(`Turn ${turn}: which ferry leaves from bay ${turn}?`);
    await lanesAtRest(host.pi);
  }
  return lanesAtRest(host.pi);
}

it("adds up to the server's own count, reopened twice and forked, and no shared past counts twice", {
  timeout: 120_000,
}, async () => {
  await withPi({ memory: SMALL, script: { agent }, cost: PRICE }, async (host) => {
    const counted: Counted = { prompt: 0, completion: 0 };
    await turns(host, 3);
    const session = await host.pi.sessionFile();
    for (let opening = 1; opening <= 2; opening++) {
      await host.pi.stop();
      await host.restart({ session });
      await turns(host, 2);
    }
    const firstUsers = (await host.pi.entries()).filter(
      ({ message }) => (message as { role?: string } | undefined)?.role === "user",
    );
    await host.pi.fork(firstUsers.at(-1)?.id ?? "");
    const status = await turns(host, 2);
    const fork = await host.pi.sessionFile();
    expect(fork).not.toBe(session);

    for (const { usage } of WORKERS.flatMap((worker) => host.model.by(worker))) {
      counted.prompt += usage?.prompt ?? 0;
      counted.completion += usage?.completion ?? 0;
    }
    // Summed over both files, an entry that the fork has from its past is one entry: it has kept its id.
    const byId = new Map([...costs(session), ...costs(fork)].map((entry) => [entry.id, entry.data]));
    const all = [...byId.values()];
    const sum = (pick: (cost: CostRecorded) => number) => all.reduce((total, cost) => total + pick(cost), 0);
    expect(sum(({ usage }) => usage.input + usage.cacheRead + usage.cacheWrite)).toBe(counted.prompt);
    expect(sum(({ usage }) => usage.output)).toBe(counted.completion);
    expect(sum(({ cost = 0 }) => cost)).toBeCloseTo(usd(counted), 9);
    const shared = costs(fork).filter(({ id }) => costs(session).some((entry) => entry.id === id));
    expect(shared.length).toBeGreaterThan(0);
    expect(costs(fork).length).toBeGreaterThan(shared.length);

    // And what the user sees is that branch's, its past before the fork and the openings included.
    const ofFork = spendOf(fork);
    expect(ofFork.usd).toBeCloseTo(
      costs(fork).reduce((total, { data: { cost = 0 } }) => total + cost, 0),
      9,
    );
    expect(status).toContain(`cost so far   $${ofFork.usd.toFixed(4)} (${ofFork.runs} runs`);
    expectNoErrors(host);
  });
});
