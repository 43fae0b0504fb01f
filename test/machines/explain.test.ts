import { describe, expect, it } from "vitest";
import { explainLane } from "../../src/machines/explain.ts";
import type { LaneName } from "../../src/machines/readings.ts";
import { type Schedule, schedule } from "../support/schedule.ts";

const settings = { observeAfterTokens: 1000, reflectAfterTokens: 2000, compactAfterTokens: 5000 };

/** What is said of a lane after the latest event, `later` milliseconds on. */
function explain(s: Schedule, lane: LaneName, later = 0): string {
  const step = s.steps.at(-1);
  if (!step) throw new Error("nothing has happened");
  return explainLane(lane, { ...step, at: Date.parse(step.event.at) + later });
}

describe("explaining the observer", () => {
  it("idle: how much is missing", () => {
    const s = schedule(settings);
    s.say(250);
    expect(explain(s, "observer")).toBe("observer is idle: 250 of 1,000 tokens; 750 more make it due");
  });

  it("due: since when, and what it waits for", () => {
    const s = schedule(settings);
    s.say(250);
    s.say(1000);
    s.say(10);
    expect(explain(s, "observer")).toBe(
      "observer is due since #3: 1,260 of 1,000 tokens; waiting for the next turn_end or agent_start",
    );
  });

  it("running: which run, and by when it ends", () => {
    const s = schedule(settings);
    s.turn(1200);
    s.say(300);
    expect(explain(s, "observer")).toBe(
      "observer is running since #3: 1,500 of 1,000 tokens; run observer-1, started at 1,200, is in flight and ends within 3 min",
    );
  });

  it("coolingDown: at how many tokens it is due again", () => {
    const s = schedule(settings);
    s.turn(1200);
    s.finish("empty");
    s.say(300);
    expect(explain(s, "observer")).toMatch(
      /its run at 1,200 tokens found nothing to record; due again at 2,200, 700 more, or when coverage moves$/,
    );
  });

  it("backingOff: how often it failed, why, and when it tries again", () => {
    const s = schedule(settings);
    s.turn(1200);
    s.finish("failed");
    expect(explain(s, "observer")).toMatch(
      /1 failure \(other\); it tries again at the first turn_end or agent_start after 30 s$/,
    );
    expect(explain(s, "observer", 31_000)).toMatch(
      /the delay is over, waiting for the next turn_end or agent_start$/,
    );
  });

  it("passive: that it is off", () => {
    const s = schedule({ ...settings, passive: true });
    expect(explain(s, "observer")).toBe(
      "observer is passive since #1: 0 of 1,000 tokens; proactive work is off (passive: true)",
    );
  });
});

describe("explaining reflect/drop", () => {
  it("idle without new observations: what it waits for", () => {
    const s = schedule({ ...settings, observeAfterTokens: 10_000 });
    s.say(2500);
    expect(explain(s, "reflectDrop")).toMatch(/no observation is newer than the last reflection/);
  });

  it("due, held back by the observer", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.finish("recorded");
    s.say(1100);
    expect(explain(s, "reflectDrop")).toBe(
      "reflect/drop is due since #6: 2,100 of 2,000 tokens; held back because observer is due, waiting for the next turn_end",
    );
    s.turn();
    expect(explain(s, "reflectDrop")).toMatch(
      /held back because observer is running, starts as soon as that has ended$/,
    );
    s.finish("empty");
    expect(explain(s, "reflectDrop")).toMatch(
      /^reflect\/drop is running.reflecting since #8: .*the dropper follows$/,
    );
  });
});

describe("explaining compaction", () => {
  const quiet = { ...settings, observeAfterTokens: 1e6, reflectAfterTokens: 1e6 };

  it("due, then requested, then lost", () => {
    const s = schedule(quiet);
    s.tell({ type: "agent.started" });
    s.turn(5100);
    expect(explain(s, "compaction")).toMatch(/waiting for agent_settled/);
    s.settle();
    expect(explain(s, "compaction")).toMatch(/Pi was asked to compact \(compaction-1\) and has not begun/);
    s.settle();
    expect(explain(s, "compaction")).toMatch(/1 failure; due again after 1 new token, 0 so far$/);
  });

  it("due, held back because a cut would lose what the observer is about to read", () => {
    const s = schedule({ ...settings, reflectAfterTokens: 1e6, compactionGapMaxTokens: 100 });
    s.tell({ type: "agent.started" });
    s.turn(5100);
    s.settle();
    expect(explain(s, "compaction")).toMatch(
      /held back because observer is running and a cut now would lose 5,100 unobserved tokens, goes ahead as soon as it has caught up$/,
    );
  });

  it("coolingDown: what was kept, and how much must come", () => {
    const s = schedule(quiet);
    s.say(3000);
    s.say(2000);
    s.compact("e2");
    s.say(500);
    expect(explain(s, "compaction")).toMatch(
      /the last compaction kept 2,000 tokens; 2,500 more new ones make it due$/,
    );
    s.compact("e1");
    expect(explain(s, "compaction")).toMatch(/kept 5,500 tokens; 5,000 more new ones make it due$/);
  });
});
