import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { defaultObserver } from "../../../demo/model/scripted-model.ts";
import { parseRecordingLine } from "../../../src/machines/recording/recording-line.ts";
import { FOLDED } from "../../../src/reducers/ledger/records.ts";
import { runReplay } from "../../support/programs/run-replay.ts";
import { agent, expectNoErrors, status, warnings } from "../faults/outcome.ts";
import { type HostOptions, lanesAtRest, NEVER, type PiHost, waitFor, withPi } from "../support/harness.ts";

const OTHER = join(import.meta.dirname, "../extensions/compaction-answer.ts");
const OPTIONS: HostOptions = {
  memory: { ...NEVER, observeAfterTokens: 1000, compactAfterTokens: 2500, debugLog: true },
  piSettings: { compaction: { keepRecentTokens: 500 } },
  script: { agent },
};

async function talk({ pi }: PiHost, bays: number): Promise<void> {
  for (let bay = 1; bay <= bays; bay++) {
    await pi.prompt(`What is in bay ${bay}?`);
    await lanesAtRest(pi);
  }
}

async function compactions({ pi }: PiHost) {
  return (await pi.entries()).filter(({ type }) => type === "compaction");
}

async function view({ pi }: PiHost): Promise<string> {
  return (await pi.command("/om:view")).join("\n");
}

/** The compactions that a recording tells of, and whether it verifies. */
function recorded(host: PiHost) {
  const folder = join(host.pi.dirs.agent, "observational-memory", "debug");
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
    await withPi({ ...OPTIONS, moreExtensions: [OTHER] }, async (host) => {
      await talk(host, 8);
      const count = (await compactions(host)).length;
      expect(count).toBeGreaterThan(1);
      expect(host.model.by("summariser").length).toBeGreaterThan(0);
      expect(warnings(host)).toEqual([
        expect.stringMatching(
          /does not see its memory.*answered after Memory Lanes.*is paid for.*Load Memory/,
        ),
      ]);
      const said = await status(host);
      expect(said).toMatch(/note +the latest compaction was not ours: the agent sees that summary/);
      expect(said).toContain(`${count} folds not used, the last at `);
      expect(await view(host)).toMatch(
        /The latest compaction was not ours.*\n.*no compaction has folded memory.* active observations? .*recorded/,
      );
      await host.pi.command("/test:reload");
      expect(await status(host)).toContain(`${count} folds not used`);
      await host.pi.prompt("What is in bay 9?");
      await host.pi.compact();
      await lanesAtRest(host.pi);
      expect(warnings(host)).toHaveLength(1);
      expectNoErrors(host);
      await host.pi.stop();
      const { finished, replacedFolds } = recorded(host);
      expect(finished.length).toBeGreaterThan(count);
      for (const event of finished) {
        expect(event).toMatchObject({ folded: false, offered: true, fromExtension: false });
      }
      expect(replacedFolds).toMatchObject({ count: finished.length, by: "pi" });
    });
  });

  it("with a summary of its own: the same, and the memory of an earlier fold is said to be out of sight", async () => {
    await withPi({ ...OPTIONS, earlierExtensions: [OTHER] }, async (host) => {
      await talk(host, 5);
      expect((await compactions(host)).map(({ details }) => details)).toMatchObject([{ type: FOLDED }]);
      expect(await view(host)).not.toContain("not ours");
      const session = await host.pi.sessionFile();
      await host.pi.stop();
      const extensions = [...(host.launch.extensions ?? []).slice(1), OTHER];
      await host.restart({ session, extensions });
      await host.pi.command("/test:answer own");
      await talk(host, 5);
      expect((await compactions(host)).at(-1)?.summary).toBe("What another extension says.");
      expect(warnings(host)).toEqual([expect.stringContaining("with a summary of its own")]);
      expect(await view(host)).toMatch(/The latest compaction was not ours.*\n[\s\S]*Observations \(\d+\)/);
      expectNoErrors(host);
    });
  });
});

describe("another extension that answers compactions before us", { timeout: 60_000 }, () => {
  it.each(["nothing", "own"])("with %s: our fold stands, and nobody hears a word", async (how) => {
    await withPi({ ...OPTIONS, earlierExtensions: [OTHER] }, async (host) => {
      await host.pi.command(`/test:answer ${how}`);
      await talk(host, 5);
      const all = await compactions(host);
      expect(all.length).toBeGreaterThan(0);
      for (const { details } of all) expect(details).toMatchObject({ type: FOLDED });
      expect(host.model.by("summariser")).toEqual([]);
      expect(warnings(host)).toEqual([]);
      expect(await status(host)).not.toContain("not used");
      expectNoErrors(host);
      await host.pi.stop();
      for (const event of recorded(host).finished) {
        expect(event).toMatchObject({ folded: true, offered: true, fromExtension: true });
      }
    });
  });
});

describe("an extension that hears of memory and waits for it, as docs/other-extensions.md has it", {
  timeout: 60_000,
}, () => {
  /** The page's example as a file that Pi can load. */
  function example(dir: string): string {
    const page = readFileSync(join(import.meta.dirname, "../../../docs/other-extensions.md"), "utf8");
    const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
    const file = join(dir, "memory-news.ts");
    writeFileSync(file, code);
    return file;
  }

  const dir = mkdtempSync(join(tmpdir(), "memory-news-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it("hears what was recorded, pending and folded, and waits until the observer is done", async () => {
    const extensions = [example(dir), join(import.meta.dirname, "../extensions/event-thrower.ts")];
    const gate = Promise.withResolvers<void>();
    await withPi({ ...OPTIONS, earlierExtensions: extensions }, async (host) => {
      const { pi, model } = host;
      const [early = ""] = await pi.command("/memory-news");
      expect(early).toBe("");
      model.use({
        observer: async (request) => {
          await gate.promise;
          return defaultObserver(request);
        },
      });
      await pi.prompt("What is in bay 1?");
      await pi.prompt("What is in bay 2?");
      await waitFor(() => model.by("observer").length > 0, "the observer's request");
      // Nobody has observed anything yet; the compaction waits until somebody has.
      const compacted = pi.compact();
      const news = pi.command("/memory-news");
      const first = await Promise.race([compacted, news, pi.command("/om:status")]);
      expect(JSON.stringify(first)).toContain("running");
      gate.resolve();
      await compacted;
      expect((await news).join("\n")).toMatch(/^observer \d+$/m);
      expect((await compactions(host)).at(-1)?.details).toMatchObject({ type: FOLDED });
      expect(model.by("summariser")).toEqual([]);

      await talk(host, 6);
      const said = (await pi.command("/memory-news")).join("\n");
      const [last] = (await compactions(host)).slice(-1);
      expect(said).toMatch(/compaction due\n(.*\n)*compaction requested\n(.*\n)*folded by/);
      expect(said).toContain(`folded by ${last?.id}`);
      expect(said).not.toContain("undefined");
      expect(warnings(host)).toEqual([]);
      const errors = pi.events.filter(({ type }) => type === "extension_error");
      // Old versions of Pi tell of it on standard error only.
      expect(JSON.stringify(errors) + pi.stderr).toContain("event-thrower");
      for (const { extensionPath } of errors) expect(extensionPath).toContain("event-thrower");
    });
  });
});
