import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runPi } from "../../../demo/pi/pi-launch.ts";
import { agent, expectNoErrors } from "../faults/outcome.ts";
import { type PiHost, prose, SMALL, withPi } from "../support/harness.ts";

/** A compaction that lasts, so that whoever prompts meanwhile is bound to meet it. */
const SLOW = { moreExtensions: [join(import.meta.dirname, "../extensions/slow-compaction.ts")] };
const OFTEN = { ...SMALL, compactAfterTokens: 3000 };
const PROMPTS = 24;
const question = (n: number) => `Question ${n}. ${prose(300, n + 50)}`;

/** Prompts as soon as Pi says that the agent has settled. */
async function promptOnSettling({ pi }: PiHost): Promise<void> {
  for (let n = 0; n < PROMPTS; n++) await pi.prompt(question(n));
}

/** Prompts as soon as a compaction starts, and where none does when the agent settles. */
async function promptIntoCompactions({ pi }: PiHost): Promise<void> {
  let sent = 0;
  const answered = Promise.withResolvers<void>();
  const send = () => {
    if (sent === PROMPTS) return answered.resolve();
    pi.send("prompt", { message: question(sent++) }).catch(answered.reject);
  };
  let isCompacting = false;
  const stop = pi.on(({ type }) => {
    if (type === "compaction_start") isCompacting = true;
    // The prompt that went into the compaction is answered after it.
    if (type === "compaction_start" || (type === "agent_settled" && !isCompacting)) send();
    if (type === "agent_start") isCompacting = false;
  });
  send();
  await answered.promise;
  stop();
}

describe("a prompt that comes as soon as the agent settles", { timeout: 120_000 }, () => {
  it.each([
    ["at once", promptOnSettling],
    ["while memory compacts", promptIntoCompactions],
  ])("is never refused nor lost: %s", async (_name, promptAll) => {
    await withPi({ memory: OFTEN, script: { agent }, ...SLOW }, async (host) => {
      const { pi, model } = host;
      await promptAll(host);
      await pi.idle();
      const compactions = pi.events.filter((record) => record.type === "compaction_end");
      expect(compactions.length).toBeGreaterThan(4);
      expect(compactions.filter(({ aborted, errorMessage }) => aborted || errorMessage)).toEqual([]);
      const asked = (await pi.entries()).filter(
        ({ message }) => (message as { role?: string } | undefined)?.role === "user",
      );
      expect(asked).toHaveLength(PROMPTS);
      expect(model.by("agent")).toHaveLength(PROMPTS);
      expectNoErrors(host);
    });
  });

  it("is not refused in print mode, where the next one is put at once", async () => {
    await withPi({ memory: OFTEN, script: { agent }, ...SLOW }, async ({ launch, model }) => {
      const prompts = Array.from({ length: 8 }, (_, n) => question(n));
      const run = await runPi(launch, ["-p", ...prompts], { timeoutMs: 60_000 });
      expect(run).toMatchObject({ code: 0, stderr: "" });
      expect(model.by("agent")).toHaveLength(8);
    });
  });
});
