import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { recordingsDir } from "../../src/host/pi/recording/session-recorder.ts";
import { parseRecordingLine } from "../../src/machines/recording/recording-line.ts";
import { createReplay } from "../../src/machines/recording/replay.ts";
import { isSourceAt, positionOf } from "../../src/reducers/branch.ts";
import type { EntryLike } from "../../src/reducers/entries/entry.ts";
import { OBSERVATIONS_RECORDED } from "../../src/reducers/ledger/records.ts";
import { sessionOfEntries } from "../../src/reducers/memory.ts";
import { clocksOfSession } from "../../src/reducers/session.ts";
import { type FakePi, fakePi, ticks } from "../support/programs/fake-pi.ts";
import type { FakeRequest } from "../support/programs/fake-request.ts";

/** What is said, by whom, or what the session file gets otherwise. */
const piece = fc.record({
  do: fc.constant("append" as const),
  kind: fc.constantFrom("user", "assistant", "toolResult", "custom_message", "system", "edit", "junk"),
  tokens: fc.constantFrom(0, 40, 400, 400, 900),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
});
const act = fc.oneof(
  { weight: 8, arbitrary: piece },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom("turn" as const, "turn", "settle", "wait", "reload", "refuseCompaction"),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      how: fc.constantFrom("record" as const, "record", "record", "nothing", "fail", "nonsense"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("tree" as const), back: fc.nat(4), isAnywhere: fc.boolean() }),
  },
);
type Act = typeof act extends fc.Arbitrary<infer A> ? A : never;

const SETTINGS = {
  observeAfterTokens: 300,
  reflectAfterTokens: 700,
  compactAfterTokens: 1500,
  observationsPoolMaxTokens: 60,
  observerChunkMaxTokens: 600,
  compactionGapMaxTokens: 400,
  debugLog: true,
};

describe("a session of real entries", () => {
  beforeAll(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
  });
  afterAll(() => {
    vi.useRealTimers();
  });

  it("has no source entry that coverage skips or an observer reads twice, and every run ends once", {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 45, size: "max" }), async (acts) => {
        vi.setSystemTime(Date.parse("2026-01-15T09:00:00.000Z"));
        const pi = fakePi(SETTINGS);
        try {
          const session = watched(pi);
          for (const one of acts) await session.take(one);
          await session.finish();
        } finally {
          await pi.dispose();
        }
        expect(pi.staleUses).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

/** A session whose every request and every ledger entry is checked when it comes. */
function watched(pi: FakePi) {
  /** Entries that a run has read and found nothing in */
  const empty = new Set<string>();
  /** What the run had read that appended an entry, by its id */
  const readFor = new Map<string, readonly string[]>();
  let lastRead: readonly string[] = [];
  const shown = new Map<FakeRequest, string[]>();
  let looked = 0;
  let checkedEntries = 0;
  let facts = 0;

  function look(): void {
    for (; looked < pi.requests.length; looked++) {
      const request = pi.requests[looked];
      if (request?.tool !== "record_observations" || !request.isFirst) continue;
      const ids = [...request.prompt.matchAll(/^\[Source entry id: (\w+)\]$/gm)].map(([, id]) => id ?? "");
      shown.set(request, ids);
      checkChunk(ids);
    }
    for (; checkedEntries < pi.entries.size; checkedEntries++) {
      const entry = [...pi.entries.values()][checkedEntries];
      const { id, customType, data } = entry as EntryLike & {
        customType?: string;
        data?: { coversUpToId: string };
      };
      if (customType !== OBSERVATIONS_RECORDED || !data) continue;
      readFor.set(id, lastRead);
      checkCoverage(data.coversUpToId);
    }
  }

  /** What an observer is shown stands on the branch in this order, without a gap, behind what is covered. */
  function checkChunk(ids: readonly string[]): void {
    const { session } = sessionOfEntries(pi.branch());
    const positions = ids.map((id) => positionOf(session.branch, id));
    expect(positions.length).toBeGreaterThan(0);
    const [first = -1] = positions;
    expect(first).toBeGreaterThan(session.ledger.watermarks.observe);
    const sources: number[] = [];
    for (let at = first; at <= (positions.at(-1) ?? -1); at++)
      if (isSourceAt(session.branch, at)) sources.push(at);
    expect(positions).toEqual(sources);
  }

  /** Whatever is covered was read for an entry of this branch, or found empty. */
  function checkCoverage(coversUpToId: string): void {
    const branch = pi.branch();
    const { session } = sessionOfEntries(branch);
    const covered = positionOf(session.branch, coversUpToId);
    const read = new Set(branch.flatMap(({ id }) => readFor.get(id) ?? []));
    const skipped = branch.filter(
      ({ id }, at) => at <= covered && isSourceAt(session.branch, at) && !read.has(id) && !empty.has(id),
    );
    expect(skipped.map(({ id }) => id)).toEqual([]);
  }

  async function answer(how: "record" | "nothing" | "fail" | "nonsense"): Promise<void> {
    const request = pi.requests.find((one) => one.isFirst && !one.answered && !one.aborted);
    if (!request) return;
    const ids = shown.get(request) ?? [];
    if (how === "fail") request.fail("400: no");
    else if (how === "nothing") request.say("Nothing.");
    else {
      request.call(how === "nonsense" ? { nothing: 1 } : argumentsFor(request, ids));
      await ticks(2);
      lastRead = ids;
      pi.requests.findLast((one) => one.tool === request.tool && !one.answered)?.say("Done.");
    }
    if (how === "nothing") for (const id of ids) empty.add(id);
    await ticks(3);
  }

  function argumentsFor({ tool, prompt }: FakeRequest, ids: readonly string[]) {
    if (tool === "record_observations") {
      const content = `Fact ${++facts} of this session, which is long enough to weigh something.`;
      return { observations: [{ content, relevance: "medium", sourceEntryIds: ids.slice(0, 1) }] };
    }
    const observations = [...prompt.matchAll(/^\[([0-9a-f]{12})\]/gm)].map(([, id]) => id ?? "");
    return tool === "record_reflections"
      ? {
          reflections: [
            { content: `Conclusion ${++facts}.`, supportingObservationIds: observations.slice(-1) },
          ],
        }
      : { observationIds: observations.slice(0, 1) };
  }

  function append(what: Extract<Act, { do: "append" }>): void {
    const text = "word ".repeat(Math.ceil((what.tokens * 4) / 5));
    const message = (role: string, more: object = {}) => ({
      type: "message",
      message: { role, content: [{ type: "text", text }], timestamp: 0, ...more },
    });
    switch (what.kind) {
      case "user":
      case "assistant":
      case "system":
        pi.append(message(what.kind));
        break;
      case "toolResult":
        pi.append(message("toolResult", { toolName: "read", toolCallId: "1" }));
        break;
      case "custom_message":
        pi.append({ type: "custom_message", customType: "note", content: text, display: true });
        break;
      case "edit": {
        // What is covered already stays covered: an edit takes back what is not.
        const { session } = sessionOfEntries(pi.branch());
        const open = pi.branch().slice(session.ledger.watermarks.observe + 1);
        const targetId = open[Math.floor(what.share * open.length)]?.id;
        if (targetId) pi.append({ type: "context_edit", targetId, replacement: null });
        break;
      }
      default:
        pi.append({ type: "usage", tokens: 3 });
    }
  }

  return {
    async take(one: Act): Promise<void> {
      switch (one.do) {
        case "append":
          append(one);
          break;
        case "turn":
          pi.memory.turnEnded();
          break;
        case "settle":
          pi.memory.agentSettled(false);
          break;
        case "wait":
          vi.setSystemTime(Date.now() + 60_000);
          break;
        case "reload":
          await pi.reopen("reload");
          break;
        case "refuseCompaction":
          pi.compactions.at(-1)?.(new Error("Nothing to compact"));
          break;
        case "tree": {
          // Mostly a few entries back, as users do.
          const places = one.isAnywhere ? [...pi.entries.keys()] : pi.branch().map(({ id }) => id);
          pi.moveTo(places.at(-1 - one.back) ?? null);
          break;
        }
        case "answer":
          await answer(one.how);
          break;
      }
      await ticks(2);
      look();
    },

    /** The clocks agree with a cold reading, and the recording with a replay and with itself. */
    async finish(): Promise<void> {
      const clocks = clocksOfSession(sessionOfEntries(pi.branch()).session);
      const said = (await pi.lanes()).replaceAll(",", "");
      for (const clock of [clocks.observe, clocks.reflect, clocks.compact]) {
        expect(said).toContain(` ${clock} of `);
      }
      await pi.close("quit");
      const lines = readFileSync(join(recordingsDir(pi.dir), `${pi.sessionId}.ndjson`), "utf8");
      const replay = createReplay();
      const running = new Set<string>();
      for (const line of lines.trimEnd().split("\n").map(parseRecordingLine)) {
        replay.take(line);
        if (line.type === "decision") {
          for (const command of line.commands) if (command.type === "startRun") running.add(command.runId);
        } else if (line.type === "run.finished") expect(running.delete(line.runId)).toBe(true);
      }
      expect([...running]).toEqual([]);
      expect(replay.end().verification.difference).toBeUndefined();
    },
  };
}
