import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseRecordingLine } from "../../src/machines/recording/recording-line.ts";
import { FOLDED } from "../../src/reducers/ledger/records.ts";
import { runReplay } from "../support/run-replay.ts";
import { agent, expectNoErrors, status, warnings } from "./faults-support.ts";
import { lanesAtRest, NEVER, type World, type WorldOptions, withPi } from "./harness.ts";

const OTHER = join(import.meta.dirname, "compaction-answer.ts");
const OPTIONS: WorldOptions = {
  memory: { ...NEVER, observeAfterTokens: 1000, compactAfterTokens: 2500, debugLog: true },
  piSettings: { compaction: { keepRecentTokens: 500 } },
  script: { agent },
};

async function talk({ pi }: World, bays: number): Promise<void> {
  for (let bay = 1; bay <= bays; bay++) {
    await pi.prompt(`What is in bay ${bay}?`);
    await lanesAtRest(pi);
  }
}

async function compactions({ pi }: World) {
  return (await pi.entries()).filter(({ type }) => type === "compaction");
}

async function view({ pi }: World): Promise<string> {
  return (await pi.command("/om:view")).join("\n");
}

/** The compactions that a recording tells of, and whether it verifies. */
function recorded(world: World) {
  const folder = join(world.pi.dirs.agent, "observational-memory", "debug");
  const [file = ""] = readdirSync(folder);
  const lines = readFileSync(join(folder, file), "utf8").trimEnd().split("\n").map(parseRecordingLine);
  const { report, steps } = runReplay(lines);
  expect(report.verification.difference).toBeUndefined();
  return {
    finished: lines.filter((line) => line.type === "compaction.finished"),
    replacedFolds: steps.at(-1)?.state.replacedFolds,
  };
}

describe("another extension that answers compactions after us", { timeout: 60_000 }, () => {
  it("with nothing: that our folds are not used is said once, in status and in the view, and recorded", async () => {
    await withPi({ ...OPTIONS, moreExtensions: [OTHER] }, async (world) => {
      await talk(world, 8);
      const count = (await compactions(world)).length;
      expect(count).toBeGreaterThan(1);
      expect(world.model.by("summariser").length).toBeGreaterThan(0);
      expect(warnings(world)).toEqual([
        expect.stringMatching(
          /does not see its memory.*answered after Memory Lanes.*is paid for.*Load Memory/,
        ),
      ]);
      const said = await status(world);
      expect(said).toMatch(/note +the latest compaction was not ours: the agent sees that summary/);
      expect(said).toContain(`${count} folds not used, the last at `);
      expect(await view(world)).toMatch(
        /The latest compaction was not ours.*\n.*no compaction has folded memory.* active observations? .*recorded/,
      );
      await world.pi.command("/test:reload");
      expect(await status(world)).toContain(`${count} folds not used`);
      await world.pi.prompt("What is in bay 9?");
      await world.pi.compact();
      await lanesAtRest(world.pi);
      expect(warnings(world)).toHaveLength(1);
      expectNoErrors(world);
      await world.pi.stop();
      const { finished, replacedFolds } = recorded(world);
      expect(finished.length).toBeGreaterThan(count);
      for (const event of finished) {
        expect(event).toMatchObject({ folded: false, offered: true, fromExtension: false });
      }
      expect(replacedFolds).toMatchObject({ count: finished.length, by: "pi" });
    });
  });

  it("with a summary of its own: the same, and the memory of an earlier fold is said to be out of sight", async () => {
    await withPi({ ...OPTIONS, earlierExtensions: [OTHER] }, async (world) => {
      await talk(world, 5);
      expect((await compactions(world)).map(({ details }) => details)).toMatchObject([{ type: FOLDED }]);
      expect(await view(world)).not.toContain("not ours");
      const session = await world.pi.sessionFile();
      await world.pi.stop();
      const extensions = [...(world.launch.extensions ?? []).slice(1), OTHER];
      await world.restart({ session, extensions });
      await world.pi.command("/test:answer own");
      await talk(world, 5);
      expect((await compactions(world)).at(-1)?.summary).toBe("What another extension says.");
      expect(warnings(world)).toEqual([expect.stringContaining("with a summary of its own")]);
      expect(await view(world)).toMatch(/The latest compaction was not ours.*\n[\s\S]*Observations \(\d+\)/);
      expectNoErrors(world);
    });
  });
});

describe("another extension that answers compactions before us", { timeout: 60_000 }, () => {
  it.each(["nothing", "own"])("with %s: our fold stands, and nobody hears a word", async (how) => {
    await withPi({ ...OPTIONS, earlierExtensions: [OTHER] }, async (world) => {
      await world.pi.command(`/test:answer ${how}`);
      await talk(world, 5);
      const all = await compactions(world);
      expect(all.length).toBeGreaterThan(0);
      for (const { details } of all) expect(details).toMatchObject({ type: FOLDED });
      expect(world.model.by("summariser")).toEqual([]);
      expect(warnings(world)).toEqual([]);
      expect(await status(world)).not.toContain("not used");
      expectNoErrors(world);
      await world.pi.stop();
      for (const event of recorded(world).finished) {
        expect(event).toMatchObject({ folded: true, offered: true, fromExtension: true });
      }
    });
  });
});
