import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { defaultObserver, freshToolResults } from "../../../demo/model/scripted-model.ts";
import { FOLDED } from "../../../src/reducers/ledger/records.ts";
import { lanesAtRest, NEVER, openHost, type PiHost, prose, waitFor, withPi } from "../support/harness.ts";
import {
  agent,
  expectNoErrors,
  laneStands,
  laneState,
  notices,
  runNow,
  status,
  warnings,
} from "./outcome.ts";

const THRESHOLD = 2500;

async function compactions(host: PiHost) {
  return (await host.pi.entries()).filter(({ type }) => type === "compaction");
}

describe("a retained tail above compactAfterTokens", { timeout: 60_000 }, () => {
  it("is compacted once, and again only after a whole threshold of new tokens", async () => {
    const memory = { ...NEVER, observeAfterTokens: 1000, compactAfterTokens: THRESHOLD };
    // Pi keeps more than the threshold.
    const piSettings = { compaction: { keepRecentTokens: 4000 } };
    await withPi({ memory, piSettings, script: { agent } }, async (host) => {
      for (let bay = 1; (await compactions(host)).length === 0; bay++) {
        expect(bay).toBeLessThan(20);
        await host.pi.prompt(`What is in bay ${bay}?`);
        await lanesAtRest(host.pi);
      }
      expect(await status(host)).toMatch(/compact +[4-9],\d{3} of 2,500/);
      for (const bay of [21, 22, 23]) {
        await host.pi.prompt(`What is in bay ${bay}?`);
        await lanesAtRest(host.pi);
        expect(await compactions(host)).toHaveLength(1);
        expect(await laneState(host, "compaction")).toBe("cooling down");
      }
      await host.pi.prompt("What is in bay 24?");
      await lanesAtRest(host.pi);
      expect(await compactions(host)).toHaveLength(2);
      // The first try came when there was less than Pi keeps.
      expect(warnings(host)).toEqual([expect.stringContaining("Nothing to compact")]);
      expectNoErrors(host);
    });
  });
});

describe("a session of which nothing is remembered yet", { timeout: 60_000 }, () => {
  it("is not compacted by us, says why, and is once there is something to fold", async () => {
    const memory = { ...NEVER, compactAfterTokens: THRESHOLD };
    const piSettings = { compaction: { keepRecentTokens: 500 } };
    await withPi({ memory, piSettings, script: { agent } }, async (host) => {
      for (let bay = 1; bay <= 8; bay++) await host.pi.prompt(`What is in bay ${bay}?`);
      await host.pi.idle();
      expect(await compactions(host)).toEqual([]);
      expect(host.model.by("summariser")).toEqual([]);
      expect(await laneState(host, "compaction")).toBe("idle");
      expect((await host.pi.command("/om:lanes")).join("\n")).toContain("nothing to fold yet");
      expect(await status(host)).toMatch(/compaction +idle \(nothing to fold yet, .*Pi's own limit\)/);

      await runNow(host, "observer");
      expect(await laneState(host, "compaction")).toBe("due");
      await host.pi.prompt("What is in bay 9?");
      await lanesAtRest(host.pi);
      expect((await compactions(host)).map(({ details }) => details)).toMatchObject([{ type: FOLDED }]);
      expect(host.model.by("summariser")).toEqual([]);
      expect(warnings(host)).toEqual([]);
      expectNoErrors(host);
    });
  });
});

describe("compactions that do not happen", { timeout: 60_000 }, () => {
  let host: PiHost;
  const attempts = () =>
    host.pi.events.filter(({ type, reason }) => type === "compaction_start" && reason === "manual").length;

  beforeAll(async () => {
    host = await openHost({
      memory: { ...NEVER, observeAfterTokens: 1000, compactAfterTokens: THRESHOLD },
      // There is never anything to cut.
      piSettings: { compaction: { keepRecentTokens: 1_000_000 } },
      script: { agent },
    });
  }, 60_000);
  afterAll(() => host.close());

  it('because there is "Nothing to compact" are not tried again without new tokens, and warned of once', async () => {
    for (const bay of [1, 2, 3, 4]) {
      await host.pi.prompt(`What is in bay ${bay}?`);
      await lanesAtRest(host.pi);
    }
    await laneStands(host, "compaction", "backing off");
    expect(attempts()).toBe(1);
    expect(warnings(host)).toHaveLength(1);
    expect(warnings(host)[0]).toMatch(/^Memory: compaction did not happen \(.*Nothing to compact.*\)/);
    // Neither commands nor reloads are new tokens.
    await host.pi.command("/test:reload");
    await lanesAtRest(host.pi);
    expect(attempts()).toBe(1);

    for (const bay of [5, 6, 7, 8, 9]) {
      await host.pi.prompt(`What is in bay ${bay}?`);
      await host.pi.idle();
    }
    // After the second failure in a row a sixteenth of the threshold, then an eighth, …: less than once a turn.
    expect(attempts()).toBeLessThanOrEqual(5);
    expect(warnings(host)).toHaveLength(1);
    expectNoErrors(host);
  });

  it("leave no flag behind: when there is something to compact it is compacted", async () => {
    const session = await host.pi.sessionFile();
    await host.pi.stop();
    const settings = { ...host.launch.settings, compaction: { keepRecentTokens: 1000 } };
    await host.restart({ session, settings });
    await host.pi.prompt("And in bay 10?");
    await waitFor(async () => (await compactions(host)).length === 1, "the compaction");
    await lanesAtRest(host.pi);
    expect(await laneState(host, "compaction")).toMatch(/cooling down|idle/);
    expectNoErrors(host);
  });
});

describe("a compaction cancelled by another extension", { timeout: 60_000 }, () => {
  let host: PiHost;

  beforeAll(async () => {
    host = await openHost({
      memory: { ...NEVER, observeAfterTokens: 1000, compactAfterTokens: THRESHOLD },
      piSettings: { compaction: { keepRecentTokens: 500 } },
      script: { agent },
      moreExtensions: [new URL("../extensions/compaction-veto.ts", import.meta.url).pathname],
    });
  }, 60_000);
  afterAll(() => host.close());
  afterEach(() => expectNoErrors(host));

  it("is not repeated on the same tokens, and warned of once", async () => {
    const cancelled = () =>
      host.pi.events.filter(({ type, aborted }) => type === "compaction_end" && aborted).length;
    for (const bay of [1, 2, 3, 4]) {
      await host.pi.prompt(`What is in bay ${bay}?`);
      await lanesAtRest(host.pi);
    }
    await laneStands(host, "compaction", "backing off");
    const tried = cancelled();
    expect(tried).toBe(1);
    await host.pi.command("/test:reload");
    await lanesAtRest(host.pi);
    expect(cancelled()).toBe(tried);
    expect(warnings(host)).toEqual([expect.stringMatching(/compaction did not happen/)]);
    expect(await compactions(host)).toEqual([]);
  });

  it("works again when it is cancelled no more, and a manual one counts like ours", async () => {
    await host.pi.command("/test:veto off");
    await host.pi.prompt("What is in bay 5?");
    await lanesAtRest(host.pi);
    expect(await compactions(host)).toHaveLength(1);
    expect(await laneState(host, "compaction")).not.toBe("backing off");
    for (const bay of [6, 7]) await host.pi.prompt(`What is in bay ${bay}?`);
    await host.pi.compact();
    await lanesAtRest(host.pi);
    const last = (await compactions(host)).at(-1);
    expect(last?.details).toMatchObject({ type: FOLDED });
    expect(await laneState(host, "compaction")).toBe("cooling down");
  });
});

describe("a compaction in the middle of things", { timeout: 60_000 }, () => {
  it("inside a run, by Pi itself, is answered from memory and the run goes on", async () => {
    const TOOL_TURNS = 14;
    const script = {
      agent: (_request: unknown, nth: number) =>
        nth <= TOOL_TURNS
          ? {
              text: prose(600, nth),
              toolCalls: [{ name: "bash", arguments: { command: `echo ${nth}` } }],
              usage: { prompt: nth * 1500, completion: 600 },
            }
          : { text: "All bays are known." },
    };
    const memory = { ...NEVER, observeAfterTokens: 1000 };
    const piSettings = { compaction: { keepRecentTokens: 1500, reserveTokens: 4000 } };
    await withPi({ memory, piSettings, script, contextWindow: 20_000 }, async (host) => {
      await host.pi.prompt("Look into every bay.");
      await lanesAtRest(host.pi);
      const [first] = await compactions(host);
      expect(first?.details).toMatchObject({ type: FOLDED });
      expect(
        host.pi.events.some(({ type, reason }) => type === "compaction_start" && reason !== "manual"),
      ).toBe(true);
      expect(host.model.by("agent").length).toBeGreaterThan(TOOL_TURNS);
      expect(await laneState(host, "compaction")).toBe("cooling down");
      expect(warnings(host)).toEqual([]);
      expectNoErrors(host);
    });
  });

  it("while a worker is running leaves the run alone, and its result stands", async () => {
    const gate = Promise.withResolvers<void>();
    const observer: typeof defaultObserver = defaultObserver;
    const memory = { ...NEVER, observeAfterTokens: 600 };
    await withPi(
      { memory, piSettings: { compaction: { keepRecentTokens: 500 } }, script: { agent } },
      async (host) => {
        await host.pi.prompt("What is in bay 1?");
        await lanesAtRest(host.pi);
        host.model.use({
          observer: async (request) => {
            if (freshToolResults(request).length === 0) await gate.promise;
            return observer(request);
          },
        });
        const before = host.model.by("observer").length;
        await host.pi.prompt("What is in bay 2?");
        await waitFor(() => host.model.by("observer").length > before, "the observer's request");
        await host.pi.prompt("What is in bay 3?");
        await host.pi.compact();
        expect(host.model.by("observer").at(-1)?.aborted).toBe(false);
        gate.resolve();
        // What came in the meantime is due already, so the observer reads on by itself.
        await lanesAtRest(host.pi);
        expect(await status(host)).toMatch(/observe +0 of/);
        expect(notices(host).filter((words) => /stale|failed/.test(words))).toEqual([]);
        expectNoErrors(host);
      },
    );
  });
});
