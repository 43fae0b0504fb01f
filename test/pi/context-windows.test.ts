import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  type ChatRequest,
  defaultObserver,
  FAULTS,
  type Handler,
  type Reply,
} from "../../demo/model/scripted-model.ts";
import { memoryId } from "../../src/reducers/ledger/memory-id.ts";
import { FOLDED } from "../../src/reducers/ledger/records.ts";
import { SMALL_WINDOW } from "./extensions/small-model.ts";
import { agent, assistantMessage, expectNoErrors, status, warnings, writeSession } from "./faults/outcome.ts";
import { lanesAtRest, NEVER, type PiHost, prose, withPi } from "./support/harness.ts";

/** Answers as a server does that has such a window: it refuses what is longer. */
function served(window: number, answer: Handler): Handler {
  return (request, nth) => (tokensOf(request) > window ? FAULTS.promptTooLong() : answer(request, nth));
}

function tokensOf(request: ChatRequest): number {
  return JSON.stringify(request.messages).length / 4;
}

async function compactionsOf({ pi }: PiHost) {
  return (await pi.entries()).filter(({ type }) => type === "compaction");
}

/** A session of so many talks of a thousand tokens, and a ledger of so many observations of eighty tokens about it. */
function writeRemembered(
  host: PiHost,
  { talks, observations }: { talks: number; observations: number },
): string {
  const messages = Array.from({ length: talks }, (_, n) => [
    { role: "user", content: `What is in bay ${n}?` },
    assistantMessage([{ type: "text", text: prose(1000, n + 1) }]),
  ]).flat();
  const path = writeSession(host, "remembered", messages);
  const last = JSON.parse(readFileSync(path, "utf8").trimEnd().split("\n").at(-1) ?? "") as { id: string };
  const records = Array.from({ length: observations }, (_, n) => {
    const content = `Bay ${n}: ${prose(75, n + 1)}`;
    const relevance = ["low", "medium", "high", "critical"][n % 4];
    return {
      ...{ id: memoryId(content), content, timestamp: "2026-01-15 09:00", relevance },
      ...{ sourceEntryIds: ["00000001"], tokenCount: 80 },
    };
  });
  const entry = {
    ...{ type: "custom", id: "0000f00d", parentId: last.id, timestamp: "2026-01-15T09:30:00.000Z" },
    ...{ customType: "om.observations.recorded", data: { observations: records, coversUpToId: last.id } },
  };
  writeFileSync(path, `${JSON.stringify(entry)}\n`, { flag: "a" });
  return path;
}

describe("a memory larger than the session model's window", { timeout: 90_000 }, () => {
  it("is folded into what the window has room for, and the session goes on", async () => {
    const window = 32_000;
    const piSettings = { compaction: { reserveTokens: 8000, keepRecentTokens: 8000 } };
    const script = { agent: served(window, agent) };
    await withPi({ memory: NEVER, piSettings, contextWindow: window, script }, async (host) => {
      await host.pi.switchSession(writeRemembered(host, { talks: 14, observations: 400 }));
      await host.pi.send("compact", { customInstructions: "Keep the numbers of the bays." });
      for (const bay of [90, 91, 92]) {
        await host.pi.prompt(`What is in bay ${bay}?`);
        await host.pi.idle();
      }
      const [compaction] = (await compactionsOf(host)) as unknown[];
      const { summary, details } = compaction as {
        summary: string;
        details: { type: string; observations: { relevance: string }[] };
      };
      expect(details.type).toBe(FOLDED);
      expect(summary.length / 4).toBeLessThan(10_000);
      expect(summary).toContain("The user asked of this compaction: Keep the numbers of the bays.");
      expect(summary).toMatch(/\d+ lines of memory had no room here/);
      // All but critical ones have left, and of those the oldest.
      expect(new Set(details.observations.map(({ relevance }) => relevance))).toEqual(new Set(["critical"]));
      expect(details.observations.length).toBeGreaterThan(50);
      const replies = (await host.pi.entries()).filter(
        ({ message }) => (message as { role?: string })?.role === "assistant",
      );
      expect(replies.slice(-3).map(({ message }) => (message as { stopReason?: string }).stopReason)).toEqual(
        [...["stop", "stop", "stop"]],
      );
      expectNoErrors(host);
    });
  });
});

describe("an observer that stays silent in a small window", { timeout: 120_000 }, () => {
  it("makes Pi compact at most twice as often as it would alone", async () => {
    const window = 32_000;
    const silent = {
      observer: (): Reply => ({ text: "Nothing worth noting." }),
      agent: served(window, agent),
    };
    const piSettings = { compaction: { reserveTokens: 8000, keepRecentTokens: 8000 } };
    const memory = { ...NEVER, observeAfterTokens: 3000 };
    await withPi({ memory, piSettings, contextWindow: window, script: silent }, async (host) => {
      await host.pi.switchSession(writeRemembered(host, { talks: 8, observations: 3 }));
      for (let bay = 0; bay < 40; bay++) await host.pi.prompt(`What is in bay ${bay}?`);
      await host.pi.idle();
      // Forty turns of 700 tokens beside 8,000 that are there: alone Pi compacts at 24,000, to 8,000 and a summary.
      expect((await compactionsOf(host)).length).toBeLessThanOrEqual(4);
      expectNoErrors(host);
    });
  });
});

describe("a worker in a small window", { timeout: 90_000 }, () => {
  it("is asked with room to answer in, or does not run and says why", async () => {
    for (const [contextWindow, runs] of [
      [SMALL_WINDOW, true],
      [4096, false],
    ] as const) {
      const piSettings = { compaction: { enabled: false } };
      await withPi(
        { memory: { ...NEVER, observeAfterTokens: 600 }, piSettings, contextWindow, script: { agent } },
        async (host) => {
          for (const bay of [1, 2, 3]) await host.pi.prompt(`What is in bay ${bay}?`);
          await lanesAtRest(host.pi);
          const asked = host.model
            .by("observer")
            .map(({ body }) => body.max_completion_tokens ?? body.max_tokens ?? 0);
          expect(asked.length > 0).toBe(runs);
          for (const tokens of asked) expect(tokens).toBeGreaterThanOrEqual(512);
          if (!runs) {
            expect(await status(host)).toMatch(
              /observer failed .*window of scripted leaves 0 tokens.*larger window.*\(window-too-small\)/,
            );
            expect(warnings(host)).toHaveLength(1);
          }
          expectNoErrors(host);
        },
      );
    }
  });

  it("believes the window that a refusal names, and is refused no second time", async () => {
    const observer = served(SMALL_WINDOW, defaultObserver);
    const script = { agent: (_request: ChatRequest, nth: number) => ({ text: prose(4500, nth) }), observer };
    await withPi({ memory: { ...NEVER, observeAfterTokens: 12_000 }, script }, async (host) => {
      const asked = () => host.model.by("observer");
      for (let bay = 0; asked().length === 0; bay++) await host.pi.prompt(`What is in bay ${bay}?`);
      await lanesAtRest(host.pi);
      expect(asked()).toHaveLength(1);
      await host.pi.command("/om:run observer");
      await lanesAtRest(host.pi);
      expect(asked().length).toBeGreaterThan(3);
      for (const { body } of asked().slice(1)) expect(tokensOf(body)).toBeLessThan(SMALL_WINDOW);
      expect(warnings(host)).toEqual([expect.stringContaining("maximum context length is 8192 tokens")]);
      expectNoErrors(host);
    });
  });

  it("catches up with a session of a large window, and stops nobody", async () => {
    const memory = {
      ...{ observeAfterTokens: 3000, reflectAfterTokens: 9000, compactAfterTokens: 1_000_000 },
      model: { provider: "small", id: "small-model" },
    };
    const moreExtensions = [join(import.meta.dirname, "extensions/small-model.ts")];
    const script = { agent: (_request: ChatRequest, nth: number) => ({ text: prose(4500, nth) }) };
    await withPi({ memory, moreExtensions, script }, async (host) => {
      for (let bay = 0; bay < 12; bay++) await host.pi.prompt(`What is in bay ${bay}?`);
      await lanesAtRest(host.pi);
      await host.pi.prompt("What is in bay 12?");
      await lanesAtRest(host.pi);
      expect(host.model.by("reflector").length).toBeGreaterThan(0);
      for (const { body } of host.model.by("observer")) {
        const output = body.max_completion_tokens ?? body.max_tokens ?? 0;
        expect(tokensOf(body) + output).toBeLessThanOrEqual(SMALL_WINDOW - 4096);
      }
      const [, unobserved = ""] = /observe +([\d,]+) of/.exec(await status(host)) ?? [];
      expect(Number(unobserved.replace(",", ""))).toBeLessThan(9000);
      expectNoErrors(host);
    });
  });
});
