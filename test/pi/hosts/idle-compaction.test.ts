import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { recordingsDir } from "../../../src/host/pi/recording/session-recorder.ts";
import type { EngineEventOf } from "../../../src/reducers/engine/events.ts";
import { agent, expectNoErrors, laneStands, observations, status } from "../faults/outcome.ts";
import { type HostOptions, NEVER, type PiHost, prose, waitFor, withPi } from "../support/harness.ts";

/** No compaction is due by the clock; the cache of the model, which is dear, lives for a second. */
const IDLE: HostOptions = {
  memory: { ...NEVER, observeAfterTokens: 600, idleCompaction: "auto", debugLog: true },
  script: { agent },
  cost: { input: 100, output: 100 },
  promptCacheSeconds: 1,
};
const question = (n: number) => `Question ${n}. ${prose(300, n + 50)}`;

/** What the recording says of the cache when it last ran out. */
function lastExpiry({ pi }: PiHost): EngineEventOf<"cache.expired"> | undefined {
  const dir = recordingsDir(pi.dirs.agent);
  const lines = readdirSync(dir).flatMap((file) => readFileSync(join(dir, file), "utf8").split("\n"));
  const last = lines.findLast((line) => line.includes('"cache.expired"'));
  return last === undefined ? undefined : JSON.parse(last);
}

const compactions = ({ pi }: PiHost) => pi.events.filter(({ type }) => type === "compaction_end");

async function talk(host: PiHost, prompts: number): Promise<void> {
  for (let n = 0; n < prompts; n++) {
    const before = (await observations(host)).length;
    await host.pi.prompt(question(n));
    await waitFor(async () => (await observations(host)).length > before, "the run to record");
  }
}

describe("a session that lies idle until its prompt cache has run out", { timeout: 60_000 }, () => {
  it("is compacted, without a model, and says why", async () => {
    await withPi(IDLE, async (host) => {
      await talk(host, 6);
      await waitFor(() => compactions(host).length === 1, "the compaction");
      expect(compactions(host)[0]).toMatchObject({ aborted: false });
      await laneStands(host, "compaction", "cooling down");
      expect(host.model.by("summariser")).toEqual([]);
      // What the agent then reads is the summary and what was kept.
      await host.pi.prompt("And now?");
      expect(JSON.stringify(host.model.by("agent").at(-1)?.body)).toContain("Observations");
      expectNoErrors(host);
    });
  });

  it.each<[string, HostOptions]>([
    ["the setting is off", { ...IDLE, memory: { ...IDLE.memory, idleCompaction: "off" } }],
    ["it saves less than the margin", { ...IDLE, cost: { input: 1, output: 1 } }],
  ])("is left as it is where %s", async (_what, options) => {
    await withPi(options, async (host) => {
      await talk(host, 6);
      const figures = await waitFor(() => lastExpiry(host), "the cache to run out");
      expect(figures).toMatchObject({ reason: "lifetime", keepTokens: 2000 });
      expect(compactions(host)).toEqual([]);
      expect(await status(host)).toMatch(/compaction +idle/);
      expectNoErrors(host);
    });
  });

  it("answers every prompt that comes at the very moment of a compaction, unrefused and in order", async () => {
    await withPi({ ...IDLE, promptCacheSeconds: 2 }, async (host) => {
      const { pi, model } = host;
      let asked = 0;
      let said = 0;
      let isTalking = false;
      let refused: unknown;
      const stop = pi.on(({ type }) => {
        // As early as a client can know of it; on a slow machine a cache may run out in the middle of a talk, too.
        if (type !== "compaction_start" || isTalking) return;
        asked++;
        pi.send("prompt", { message: question(100 + asked) }).catch((error: unknown) => {
          refused = error;
        });
      });
      for (let round = 0; round < 8 && asked < 3; round++) {
        const before = asked;
        isTalking = true;
        await talk(host, 6);
        said += 6;
        isTalking = false;
        await waitFor(() => asked > before, "a compaction", { timeoutMs: 5000 }).catch(() => {});
        await pi.idle();
      }
      stop();
      expect(refused).toBeUndefined();
      expect(asked).toBe(3);
      expect(compactions(host).filter(({ aborted, errorMessage }) => aborted || errorMessage)).toEqual([]);
      await waitFor(() => model.by("agent").length === said + asked, "every prompt's answer");
      expectNoErrors(host);
    });
  }, 120_000);

  it("is left alone once another extension has taken its time over a compaction", async () => {
    const slow = join(import.meta.dirname, "../extensions/slow-compaction.ts");
    await withPi({ ...IDLE, moreExtensions: [slow] }, async (host) => {
      await talk(host, 6);
      await waitFor(() => compactions(host).length === 1, "the first compaction");
      await talk(host, 8);
      // Nothing is said of the cache from then on, so there is nothing to wait for but the time it lives.
      await sleep(1500);
      expect(compactions(host)).toHaveLength(1);
      expectNoErrors(host);
    });
  });
});
