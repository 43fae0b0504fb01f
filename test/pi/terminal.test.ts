import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Handler, type ScriptedModel, startScriptedModel } from "../../demo/model/scripted-model.ts";
import { defaultObserver } from "../../demo/model/scripted-workers.ts";
import { EXTENSION, type MemorySettings, NEVER, prose, SMALL } from "./support/harness.ts";
import { HAS_TMUX, openTerminal, type PiTerminal } from "./support/terminal.ts";

if (!HAS_TMUX) console.warn("The terminal's tests are skipped: there is no tmux.");

/** Pi in a terminal with a scripted model; the caller closes both. */
async function open(
  memory: MemorySettings,
  observer: Handler = defaultObserver,
  size?: { columns: number; rows: number },
) {
  const dir = mkdtempSync(join(tmpdir(), "memory-lanes-terminal-"));
  const model: ScriptedModel = await startScriptedModel({
    agent: (_request, nth) => ({ text: prose(120, nth) }),
    observer,
  });
  const terminal = openTerminal(
    {
      dir,
      modelUrl: model.url,
      settings: {
        quietStartup: true,
        compaction: { keepRecentTokens: 500 },
        "observational-memory": memory,
      },
      extensions: [EXTENSION],
    },
    size,
  );
  return {
    terminal,
    async close() {
      terminal.close();
      await model.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A command with arguments. Enter would take the completion that is offered for them, so it is sent away first. */
async function run(terminal: PiTerminal, command: string): Promise<void> {
  terminal.type(command);
  await terminal.shows(new RegExp(`${command}[\\s\\S]*\\n→ `));
  terminal.press("Escape");
  await terminal.shows(/^(?![\s\S]*\n→ )/);
  terminal.press("Enter");
}

describe.skipIf(!HAS_TMUX)("in a real terminal", { timeout: 60_000 }, () => {
  let terminal: PiTerminal;
  let close: () => Promise<void>;

  beforeAll(async () => {
    ({ terminal, close } = await open({ ...SMALL, observeAfterTokens: 300 }));
  }, 60_000);
  afterAll(() => close?.());

  it("shows the clocks in the footer, and says the first time what om is", async () => {
    await terminal.shows(/om observe ····· reflect ····· compact ·····/);
    await terminal.shows(/om is short for observational\s+memory/);
  });

  it("shows a quiet line for what was recorded, and all of it when asked to", async () => {
    await terminal.shows(/observe/);
    terminal.type(`The ferry in bay 4 must never leave before 4:30. ${prose(300, 3)}`);
    terminal.press("Enter");
    const screen = await terminal.shows(/◦ Memory: \d observations? recorded \(.*to expand\)/);
    expect(screen).not.toMatch(/\[[0-9a-f]{12}\]/);
    terminal.press("C-o");
    await terminal.shows(/\[[0-9a-f]{12}\]/);
    terminal.press("C-o");
    const quiet = await terminal.shows(/^(?![\s\S]*\[[0-9a-f]{12}\])[\s\S]*to expand/);
    // Once is enough: no notice says the same again.
    expect(quiet.match(/Memory: \d observations? recorded/g)).toHaveLength(1);
  });

  it("runs a lane on request and tells how it went", async () => {
    await run(terminal, "/om:run reflector");
    // The result takes the place of the words that it runs now.
    await terminal.shows(/the reflector recorded 1 reflection \(1 request,/);
    await run(terminal, "/om:run observer");
    await terminal.shows(/the observer (runs now|recorded)|nothing to observe/);
  });

  it("shows the lanes over the transcript until q is pressed", async () => {
    await run(terminal, "/om:lanes");
    const screen = await terminal.shows(/live · esc or q closes/);
    for (const word of ["observer", "reflect/drop", "compaction", "why", "spend", "model", "pool"]) {
      expect(screen).toContain(word);
    }
    terminal.press("q");
    await terminal.shows(/^(?![\s\S]*esc or q closes)/);
  });

  it("says in one line what a fold made of what", async () => {
    const folding = await open({ ...NEVER, observeAfterTokens: 300, compactAfterTokens: 3000 });
    try {
      await folding.terminal.shows(/om observe/);
      for (const seed of [8, 9]) {
        folding.terminal.type(prose(2000, seed));
        folding.terminal.press("Enter");
        await folding.terminal.shows(new RegExp(`note ${seed}[\\s\\S]*◦ Memory: |Memory: folded`));
      }
      await folding.terminal.shows(
        /Memory: folded \d+ observations? and 0 reflections, no model asked:\s+\d+k? to \d+k? tokens/,
      );
    } finally {
      await folding.close();
    }
  });

  it("leaves the footer only where notices are switched off", async () => {
    // The observer answers when its full gauge has been seen.
    const seen = Promise.withResolvers<void>();
    const quiet = await open(
      { ...NEVER, observeAfterTokens: 300, showWorkerNotifications: false },
      async (request) => {
        await seen.promise;
        return defaultObserver(request);
      },
    );
    try {
      await quiet.terminal.shows(/om observe/);
      quiet.terminal.type(prose(400, 5));
      quiet.terminal.press("Enter");
      await quiet.terminal.shows(/om observing… █/);
      seen.resolve();
      await quiet.terminal.shows(/om observe ·{3}/);
      expect(quiet.terminal.screen()).not.toMatch(/recorded/);
    } finally {
      seen.resolve();
      await quiet.close();
    }
  });
});

const SIZES = [
  { columns: 80, rows: 24 },
  { columns: 50, rows: 20 },
  { columns: 40, rows: 12 },
];

describe.skipIf(!HAS_TMUX)("the lanes in a small terminal", { timeout: 60_000 }, () => {
  it.each(SIZES)("are all there at $columns × $rows, within their border", async (size) => {
    const { terminal, close } = await open(NEVER, defaultObserver, size);
    try {
      await terminal.shows(/om observe/);
      await run(terminal, "/om:lanes");
      const first = await terminal.shows(/╭─ Memory lanes ─*╮[\s\S]*q closes *│[^╰]*╰─*╯/);
      const seen: string[] = linesWithin(first);
      for (;;) {
        const [, to = "", of = ""] = /to (\d+) of (\d+)/.exec(terminal.screen()) ?? [];
        if (to === of) break;
        terminal.press("Down");
        const next = await terminal.shows(new RegExp(`to ${Number(to) + 1} of ${of}`));
        seen.push(linesWithin(next).at(-1) ?? "");
      }
      const text = seen.join(" ").replace(/\s+/g, " ");
      for (const words of [
        "observer idle ·········· 0 of 10,000,000",
        "why 10,000,000 more tokens make it due",
        "reflect/drop idle",
        "last 0 compactions on this branch",
        "memory 0 active observations, 0 reflections, 0 dropped; pool 0, target",
        "runs none since this session was opened",
      ]) {
        expect(text).toContain(words);
      }
      expect(text).toMatch(/model \S+ \(the session's own\)$/);
      terminal.press("Home");
      await terminal.shows(/╭─ Memory lanes ─*╮\s+│ observer/);
    } finally {
      await close();
    }
  });
});

describe.skipIf(!HAS_TMUX)("the footer in a terminal of 50 columns", { timeout: 60_000 }, () => {
  it("names what runs", async () => {
    const seen = Promise.withResolvers<void>();
    const { terminal, close } = await open(
      { ...NEVER, observeAfterTokens: 300 },
      async (request) => {
        await seen.promise;
        return defaultObserver(request);
      },
      { columns: 50, rows: 20 },
    );
    try {
      await terminal.shows(/om observe/);
      terminal.type(prose(400, 5));
      terminal.press("Enter");
      await terminal.shows(/om observing… █████ reflect ····· compact ·····/);
    } finally {
      seen.resolve();
      await close();
    }
  });
});

/** What stands between the overlay's borders, all of which must be there, without its last two lines. */
function linesWithin(screen: string): string[] {
  const all = screen.split("\n");
  const top = all.findIndex((line) => line.includes("╭─ Memory lanes"));
  const bottom = all.findIndex((line) => line.includes("╰─"));
  const left = all[top]?.indexOf("╭") ?? -1;
  const right = all[top]?.indexOf("╮") ?? -1;
  expect(all[bottom]?.indexOf("╯")).toBe(right);
  const within = all.slice(top + 1, bottom);
  for (const line of within) expect([line[left], line[right]]).toEqual(["│", "│"]);
  return within.slice(0, -2).map((line) => line.slice(left + 1, right).trim());
}
