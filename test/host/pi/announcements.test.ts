import { describe, expect, it } from "vitest";
import { announcements, announcementsOf, workersAreIdle } from "../../../src/host/pi/announcements.ts";
import type { Step } from "../../../src/machines/engine.ts";
import { schedule } from "../../support/engine/schedule.ts";
import { fact, MEMORY } from "../../support/sessions/builders.ts";

const settings = { observeAfterTokens: 1000, reflectAfterTokens: 1e6, compactAfterTokens: 3000 };
const told = (steps: readonly Step[]) => steps.flatMap(announcementsOf);

describe("other extensions are told", () => {
  it("what was recorded, by whom and up to where; of other results nothing", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.finish("recorded");
    s.turn(1000);
    s.finish("failed");
    s.wait(1e6);
    s.turn(900);
    s.finish("empty");
    expect(told(s.steps)).toEqual([
      ["memory-lanes:recorded", { sessionId: "test", worker: "observer", records: 1, coversUpToId: "e1" }],
    ]);
  });

  it("that a compaction is due, that Pi is asked, and what was folded", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1e6 });
    s.tell({ type: "branch.extended", entries: [...MEMORY] });
    s.turn(3100);
    const pending = { sessionId: "test", tokens: 3100, threshold: 3000 };
    expect(told(s.steps)).toEqual([["memory-lanes:compaction-pending", { ...pending, stage: "due" }]]);
    expect(announcementsOf(s.settle())).toEqual([
      ["memory-lanes:compaction-pending", { ...pending, stage: "requested" }],
    ]);
    const compact = (id: string, firstKeptEntryId: string, folded: boolean, offered: boolean) => {
      s.tell({ type: "compaction.started", reason: "manual" });
      const compaction = { firstKeptEntryId, folded, fullFold: false };
      s.tell({ type: "branch.extended", entries: [{ id, kind: "compaction", tokens: 0, compaction }] });
      return announcementsOf(s.tell({ type: "compaction.finished", folded, offered, fromExtension: folded }));
    };
    expect(compact("c1", "e1", true, true)).toEqual([
      ["memory-lanes:folded", { sessionId: "test", compactionId: "c1", firstKeptEntryId: "e1" }],
    ]);
    expect(compact("c2", "", true, true)).toEqual([
      ["memory-lanes:folded", { sessionId: "test", compactionId: "c2", firstKeptEntryId: null }],
    ]);
    expect(compact("c3", "e1", false, true)).toEqual([]);
    expect(compact("c4", "e1", true, false)).toEqual([]);
  });

  it("and whatever their event bus throws goes no further", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1e6 });
    let tries = 0;
    const emit = () => {
      tries++;
      throw new Error("stale");
    };
    announcements({ events: { emit } } as never)(s.steps$, {} as never).subscribe({
      error: () => expect.unreachable(),
    });
    s.tell({ type: "branch.extended", entries: [...MEMORY, fact.user("long", 3000)] });
    s.settle();
    expect(tries).toBe(2);
  });
});

describe("waiting for the workers", () => {
  it("takes no time when none runs, and else until the last one has ended", async () => {
    const s = schedule({ ...settings, reflectAfterTokens: 1000 });
    s.tell({ type: "branch.extended", entries: [...MEMORY] });
    let isOver = false;
    await workersAreIdle(s.engine, s.steps$);
    s.turn(1000);
    const idle = workersAreIdle(s.engine, s.steps$).then(() => {
      isOver = true;
    });
    s.finish("recorded");
    await Promise.resolve();
    expect(s.inFlight.map(({ worker }) => worker)).toEqual(["reflector"]);
    expect(isOver).toBe(false);
    s.finish("empty");
    await idle;
  });

  it("does not wait for a compaction", async () => {
    const s = schedule(settings);
    s.tell({ type: "compaction.started", reason: "manual" });
    await workersAreIdle(s.engine, s.steps$);
  });
});
