import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { defaultObserver, freshToolResults } from "../../demo/model/scripted-model.ts";
import { FOLDED } from "../../src/reducers/ledger/records.ts";
import {
  agent,
  expectNoErrors,
  laneStands,
  laneState,
  notices,
  runNow,
  status,
  warnings,
} from "./faults-support.ts";
import { lanesAtRest, NEVER, openWorld, prose, type World, waitFor, withPi } from "./harness.ts";

const THRESHOLD = 2500;

async function compactions(world: World) {
  return (await world.pi.entries()).filter(({ type }) => type === "compaction");
}

describe("a retained tail above compactAfterTokens", { timeout: 60_000 }, () => {
  it("is compacted once, and again only after a whole threshold of new tokens", async () => {
    const memory = { ...NEVER, observeAfterTokens: 1000, compactAfterTokens: THRESHOLD };
    // Pi keeps more than the threshold.
    const piSettings = { compaction: { keepRecentTokens: 4000 } };
    await withPi({ memory, piSettings, script: { agent } }, async (world) => {
      for (let bay = 1; (await compactions(world)).length === 0; bay++) {
        expect(bay).toBeLessThan(20);
        await world.pi.prompt(`What is in bay ${bay}?`);
        await lanesAtRest(world.pi);
      }
      expect(await status(world)).toMatch(/compact +[4-9],\d{3} of 2,500/);
      for (const bay of [21, 22, 23]) {
        await world.pi.prompt(`What is in bay ${bay}?`);
        await lanesAtRest(world.pi);
        expect(await compactions(world)).toHaveLength(1);
        expect(await laneState(world, "compaction")).toBe("coolingDown");
      }
      await world.pi.prompt("What is in bay 24?");
      await lanesAtRest(world.pi);
      expect(await compactions(world)).toHaveLength(2);
      // The first try came when there was less than Pi keeps.
      expect(warnings(world)).toEqual([expect.stringContaining("Nothing to compact")]);
      expectNoErrors(world);
    });
  });
});

describe("a session of which nothing is remembered yet", { timeout: 60_000 }, () => {
  it("is not compacted by us, says why, and is once there is something to fold", async () => {
    const memory = { ...NEVER, compactAfterTokens: THRESHOLD };
    const piSettings = { compaction: { keepRecentTokens: 500 } };
    await withPi({ memory, piSettings, script: { agent } }, async (world) => {
      for (let bay = 1; bay <= 8; bay++) await world.pi.prompt(`What is in bay ${bay}?`);
      await world.pi.idle();
      expect(await compactions(world)).toEqual([]);
      expect(world.model.by("summariser")).toEqual([]);
      expect(await laneState(world, "compaction")).toBe("idle");
      expect((await world.pi.command("/om:lanes")).join("\n")).toContain("nothing to fold yet");
      expect(await status(world)).toMatch(/compaction +idle \(nothing to fold yet, .*Pi's own limit\)/);

      await runNow(world, "observer");
      expect(await laneState(world, "compaction")).toBe("due");
      await world.pi.prompt("What is in bay 9?");
      await lanesAtRest(world.pi);
      expect((await compactions(world)).map(({ details }) => details)).toMatchObject([{ type: FOLDED }]);
      expect(world.model.by("summariser")).toEqual([]);
      expect(warnings(world)).toEqual([]);
      expectNoErrors(world);
    });
  });
});

describe("compactions that do not happen", { timeout: 60_000 }, () => {
  let world: World;
  const attempts = () =>
    world.pi.events.filter(({ type, reason }) => type === "compaction_start" && reason === "manual").length;

  beforeAll(async () => {
    world = await openWorld({
      memory: { ...NEVER, observeAfterTokens: 1000, compactAfterTokens: THRESHOLD },
      // There is never anything to cut.
      piSettings: { compaction: { keepRecentTokens: 1_000_000 } },
      script: { agent },
    });
  }, 60_000);
  afterAll(() => world.close());

  it('because there is "Nothing to compact" are not tried again without new tokens, and warned of once', async () => {
    for (const bay of [1, 2, 3, 4]) {
      await world.pi.prompt(`What is in bay ${bay}?`);
      await lanesAtRest(world.pi);
    }
    await laneStands(world, "compaction", "backingOff");
    expect(attempts()).toBe(1);
    expect(warnings(world)).toHaveLength(1);
    expect(warnings(world)[0]).toMatch(/^Memory: compaction did not happen \(.*Nothing to compact.*\)/);
    // Neither commands nor reloads are new tokens.
    await world.pi.command("/test:reload");
    await world.pi.command("/om:status");
    await sleep(100);
    expect(attempts()).toBe(1);

    for (const bay of [5, 6, 7, 8, 9]) {
      await world.pi.prompt(`What is in bay ${bay}?`);
      await world.pi.idle();
    }
    // After the second failure in a row a sixteenth of the threshold, then an eighth, …: less than once a turn.
    expect(attempts()).toBeLessThanOrEqual(5);
    expect(warnings(world)).toHaveLength(1);
    expectNoErrors(world);
  });

  it("leave no flag behind: when there is something to compact it is compacted", async () => {
    const session = await world.pi.sessionFile();
    await world.pi.stop();
    const settings = { ...world.launch.settings, compaction: { keepRecentTokens: 1000 } };
    await world.restart({ session, settings });
    await world.pi.prompt("And in bay 10?");
    await waitFor(async () => (await compactions(world)).length === 1, "the compaction");
    await lanesAtRest(world.pi);
    expect(await laneState(world, "compaction")).toMatch(/coolingDown|idle/);
    expectNoErrors(world);
  });
});

describe("a compaction cancelled by another extension", { timeout: 60_000 }, () => {
  let world: World;

  beforeAll(async () => {
    world = await openWorld({
      memory: { ...NEVER, observeAfterTokens: 1000, compactAfterTokens: THRESHOLD },
      piSettings: { compaction: { keepRecentTokens: 500 } },
      script: { agent },
      moreExtensions: [new URL("./compaction-veto.ts", import.meta.url).pathname],
    });
  }, 60_000);
  afterAll(() => world.close());
  afterEach(() => expectNoErrors(world));

  it("is not repeated on the same tokens, and warned of once", async () => {
    const cancelled = () =>
      world.pi.events.filter(({ type, aborted }) => type === "compaction_end" && aborted).length;
    for (const bay of [1, 2, 3, 4]) {
      await world.pi.prompt(`What is in bay ${bay}?`);
      await lanesAtRest(world.pi);
    }
    await laneStands(world, "compaction", "backingOff");
    const tried = cancelled();
    expect(tried).toBe(1);
    await world.pi.command("/test:reload");
    await sleep(100);
    expect(cancelled()).toBe(tried);
    expect(warnings(world)).toEqual([expect.stringMatching(/compaction did not happen/)]);
    expect(await compactions(world)).toEqual([]);
  });

  it("works again when it is cancelled no more, and a manual one counts like ours", async () => {
    await world.pi.command("/test:veto off");
    await world.pi.prompt("What is in bay 5?");
    await lanesAtRest(world.pi);
    expect(await compactions(world)).toHaveLength(1);
    expect(await laneState(world, "compaction")).not.toBe("backingOff");
    for (const bay of [6, 7]) await world.pi.prompt(`What is in bay ${bay}?`);
    await world.pi.compact();
    await lanesAtRest(world.pi);
    const last = (await compactions(world)).at(-1);
    expect(last?.details).toMatchObject({ type: FOLDED });
    expect(await laneState(world, "compaction")).toBe("coolingDown");
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
    await withPi({ memory, piSettings, script, contextWindow: 20_000 }, async (world) => {
      await world.pi.prompt("Look into every bay.");
      await lanesAtRest(world.pi);
      const [first] = await compactions(world);
      expect(first?.details).toMatchObject({ type: FOLDED });
      expect(
        world.pi.events.some(({ type, reason }) => type === "compaction_start" && reason !== "manual"),
      ).toBe(true);
      expect(world.model.by("agent").length).toBeGreaterThan(TOOL_TURNS);
      expect(await laneState(world, "compaction")).toBe("coolingDown");
      expect(warnings(world)).toEqual([]);
      expectNoErrors(world);
    });
  });

  it("while a worker is running leaves the run alone, and its result stands", async () => {
    const gate = Promise.withResolvers<void>();
    const observer: typeof defaultObserver = defaultObserver;
    const memory = { ...NEVER, observeAfterTokens: 600 };
    await withPi(
      { memory, piSettings: { compaction: { keepRecentTokens: 500 } }, script: { agent } },
      async (world) => {
        await world.pi.prompt("What is in bay 1?");
        await lanesAtRest(world.pi);
        world.model.use({
          observer: async (request) => {
            if (freshToolResults(request).length === 0) await gate.promise;
            return observer(request);
          },
        });
        const before = world.model.by("observer").length;
        await world.pi.prompt("What is in bay 2?");
        await waitFor(() => world.model.by("observer").length > before, "the observer's request");
        await world.pi.prompt("What is in bay 3?");
        await world.pi.compact();
        expect(world.model.by("observer").at(-1)?.aborted).toBe(false);
        gate.resolve();
        await laneStands(world, "observer", /idle|due/);
        await runNow(world, "observer");
        expect(await status(world)).toMatch(/observe +0 of/);
        expect(notices(world).filter((words) => /stale|failed/.test(words))).toEqual([]);
        expectNoErrors(world);
      },
    );
  });
});
