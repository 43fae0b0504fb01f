import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Step } from "../../../src/machines/engine.ts";
import { createEngine } from "../../../src/machines/engine.ts";
import { explainLane, whyLane } from "../../../src/machines/recording/explain.ts";
import { LANES, type LaneName } from "../../../src/reducers/engine/lane-names.ts";
import type { Settings } from "../../../src/reducers/settings.ts";
import { type Act, actedSession, anyAct } from "../../support/engine/engine-acts.ts";
import { type Schedule, schedule } from "../../support/engine/schedule.ts";
import { fact, finished, MEMORY } from "../../support/sessions/builders.ts";

const settings = { observeAfterTokens: 1000, reflectAfterTokens: 2000, compactAfterTokens: 5000 };

/** A record of an observer's entry */

/** What is said of a lane after the latest event, `later` milliseconds on. */
function explain(s: Schedule, lane: LaneName, later = 0): string {
  const step = s.steps.at(-1);
  if (!step) throw new Error("nothing has happened");
  return explainLane(lane, { ...step, at: Date.parse(step.event.at) + later });
}

/** A session in which all this has happened. */
function acted(acts: readonly Act[]) {
  const session = actedSession();
  const { step } = createEngine();
  const steps: Step[] = [];
  const act = (one: Act) => {
    for (const event of session.eventsOf(one)) {
      const made = step(event);
      steps.push(made);
      session.hear(made.commands);
    }
  };
  act({ do: "open", isSame: true });
  acts.forEach(act);
  return {
    steps,
    /** Says so many tokens and gives where the lanes stand then. */
    say(tokens: number): Step["snapshot"]["states"] {
      act({ do: "say", tokens, by: "user" });
      const last = steps.at(-1);
      if (!last) throw new Error("nothing has happened");
      return last.snapshot.states;
    },
  };
}

describe("explaining a cold prompt cache", () => {
  const remembering = (changes: Partial<Settings>) => {
    const s = schedule({
      ...settings,
      ...{ observeAfterTokens: 1_000_000, compactAfterTokens: 1_000_000 },
      ...changes,
    });
    s.tell({ type: "branch.extended", entries: [...MEMORY] });
    for (let n = 0; n < 5; n++) s.turn(10_000);
    s.tell({
      type: "branch.extended",
      entries: [fact.recorded("observer", "seen", s.tip, "0000000000aa:40")],
    });
    s.settle();
    return s;
  };
  const expire = (s: Schedule, usdPerMillion?: number) =>
    s.tell({
      ...{ type: "cache.expired", reason: "lifetime", contextTokens: 60_000, keepTokens: 20_000 },
      ...(usdPerMillion !== undefined && { usdPerMillion }),
    });

  it.each<[Partial<Settings>, number | undefined, RegExp]>([
    [
      { idleCompaction: "auto" },
      5,
      /requested.*; the prompt cache has run out, so the next request reads 60,000 tokens anew for \$0\.3000, 30,\d{3} for \$0\.15\d\d after a compaction; at least \$0\.0500 and 25 % less, which is worth it; if the agent/,
    ],
    [{ idleCompaction: "auto" }, 1, /is idle.*; not \$0\.0500 and 25 % less, so it is not worth it$/],
    [
      { idleCompaction: "auto" },
      undefined,
      /anew, 30,\d{3} after a compaction; without a known price nothing is done$/,
    ],
    [{}, 5, /is idle.*; at least \$0\.0500 and 25 % less, which is worth it, but idleCompaction is off$/],
  ])("gives the figures and what is made of them: %o at %o", (changes, price, words) => {
    const s = remembering(changes);
    expire(s, price);
    expect(explain(s, "compaction")).toMatch(words);
  });
});

describe("explaining any lane", () => {
  it("says so when no session is open", () => {
    const s = schedule(settings);
    s.turn(6000);
    s.tell({ type: "session.closed", reason: "quit" });
    for (const lane of LANES) expect(explain(s, lane)).toMatch(/; no session is open, so nothing starts$/);
  });

  it("says that proactive work is off where that is all that a lane is about to find out", () => {
    const s = schedule({ ...settings, passive: true });
    s.say(100);
    s.tell({ type: "compaction.started", reason: "manual" });
    expect(explain(s, "compaction")).toMatch(/; a compaction is in progress, and its end moves the lane$/);
    s.settle();
    expect(explain(s, "compaction")).toMatch(
      /^compaction is backing off .*; proactive work is off \(passive: true\)$/,
    );
    expect(s.say(1).snapshot.states.compaction).toBe("passive");
  });

  it("says that the next event will do it when proactive work was just put on", () => {
    const s = schedule({ ...settings, passive: true });
    s.say(1000);
    const observed = fact.observed("o", s.tip, "0123456789ab:5");
    s.say(5000);
    s.tell({ type: "branch.extended", entries: [observed] });
    s.tell({
      type: "session.opened",
      reason: "reload",
      sessionId: "test",
      settings: { ...s.engine.state.settings, passive: false },
      branch: [fact.user("e1", 1000), fact.user("e2", 5000), observed],
    });
    expect(LANES.map((lane) => explain(s, lane))).toEqual([
      "observer is idle since #5: 5,000 of 1,000 tokens; due at the next event",
      "reflect/drop is idle since #5: 6,000 of 2,000 tokens; due at the next event",
      "compaction is idle since #5: 6,000 of 5,000 tokens; due at the next event",
    ]);
  });

  it("is right about how many more tokens make a lane due, wherever it stands", () => {
    let [tried, checked] = [0, 0];
    fc.assert(
      fc.property(
        fc.array(anyAct, { maxLength: 60, size: "max" }),
        fc.constantFrom(...LANES),
        (acts, lane) => {
          tried++;
          const [one, other] = [acted(acts), acted(acts)];
          const last = one.steps.at(-1);
          if (!last) return;
          const why = whyLane(lane, { ...last, at: Date.parse(last.event.at) });
          const [, number] = /(?:^|[;,] )([\d,]+) more(?: tokens? makes? it due$|, or)/.exec(why) ?? [];
          if (number === undefined || /but not within/.test(why)) return;
          checked++;
          const missing = Number(number.replaceAll(",", ""));
          const isWaiting = { idle: true, coolingDown: true, backingOff: true } as Record<string, boolean>;
          expect(isWaiting[one.say(missing - 1)[lane]]).toBe(true);
          expect(isWaiting[other.say(missing)[lane]]).toBeUndefined();
        },
      ),
      { numRuns: 1000 },
    );
    expect(checked / tried).toBeGreaterThan(0.1);
  });
});

describe("explaining the observer", () => {
  it("idle: how much is missing", () => {
    const s = schedule(settings);
    s.say(250);
    expect(explain(s, "observer")).toBe("observer is idle: 250 of 1,000 tokens; 750 more tokens make it due");
  });

  it("due: since when, and what it waits for", () => {
    const s = schedule(settings);
    s.say(250);
    s.say(1000);
    s.say(10);
    expect(explain(s, "observer")).toBe(
      "observer is due since #3: 1,260 of 1,000 tokens; waiting for the agent's next turn to end, or its next prompt",
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
      /its run at 1,200 tokens found nothing to record; due again at 2,200, 700 more, or when its watermark moves$/,
    );
  });

  it("backingOff: how often it failed, why, and when it tries again", () => {
    const s = schedule(settings);
    s.turn(1200);
    s.finish("failed");
    expect(explain(s, "observer")).toMatch(
      /1 failure \(other\); it tries again 30 s from now, when a turn ends or a prompt comes$/,
    );
    expect(explain(s, "observer", 31_000)).toMatch(
      /the delay is over, waiting for the agent's next turn to end, or its next prompt$/,
    );
  });

  it("backingOff: how often, once it has failed again, and for how long", () => {
    const s = schedule(settings);
    s.turn(1200);
    s.finish("failed");
    s.wait(30_000);
    s.turn();
    s.finish("failed");
    expect(explain(s, "observer")).toMatch(
      /; 2 failures in a row \(other\); it tries again 60 s from now, when a turn ends or a prompt comes$/,
    );
    expect(explain(s, "observer", 60_000)).toMatch(/the delay is over/);
  });

  it("backingOff: that it failed, when nothing is known of why", () => {
    const s = schedule(settings);
    s.turn(1200);
    const failed = finished("observer-1", "observer", "failed", s.tip);
    s.tell({ ...failed, failure: undefined } as typeof failed);
    expect(explain(s, "observer")).toMatch(/tokens; 1 failure; it tries again/);
  });

  it("idle after a failure, on a branch with less: that the delay stands", () => {
    const s = schedule(settings);
    s.turn(1200);
    s.tell({ type: "branch.replaced", branch: [fact.user("other", 400)] });
    s.tell(finished("observer-1", "observer", "failed", "other"));
    expect(explain(s, "observer")).toMatch(
      /^observer is idle .*; 1 failure \(other\); 600 more tokens make it due, but not within 30 s$/,
    );
    expect(explain(s, "observer", 30_000)).toMatch(
      /^observer is idle .* tokens; 600 more tokens make it due$/,
    );
  });

  it("takes a delay for over when the computer's clock was set back, as the lane does", () => {
    const s = schedule(settings);
    s.turn(1200);
    s.finish("failed");
    s.wait(-3_600_000);
    s.say(1);
    expect(explain(s, "observer")).toMatch(
      /; the delay is over, waiting for the agent's next turn to end, or its next prompt$/,
    );
    expect(s.turn().snapshot.states.observer).toBe("running");
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

  it("idle: how much is missing, and whether that is enough", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1500 });
    s.say(500);
    expect(explain(s, "reflectDrop")).toMatch(
      /; 1,500 more tokens make it due, once the observer has recorded something new$/,
    );
    s.turn(1000);
    s.finish("recorded");
    expect(explain(s, "reflectDrop")).toMatch(/; 500 more tokens make it due$/);
    s.say(499);
    expect(explain(s, "reflectDrop")).toMatch(/; 1 more token makes it due$/);
  });

  it("idle at its threshold without new observations: that more tokens are no help", () => {
    const s = schedule({ ...settings, observeAfterTokens: 10_000 });
    s.say(2000);
    expect(explain(s, "reflectDrop")).toMatch(
      /; no observation is newer than the last reflection, so it waits for the observer to record$/,
    );
  });

  it("due, and not held back", () => {
    const s = schedule({ ...settings, observeAfterTokens: 1500 });
    s.turn(1500);
    s.finish("recorded");
    s.say(500);
    expect(explain(s, "reflectDrop")).toMatch(
      /; waiting for the agent's next turn to end, or its next prompt$/,
    );
  });

  it("backingOff: which of its workers failed, and why", () => {
    const s = schedule(settings);
    s.turn(2000);
    s.finish("recorded");
    s.turn();
    expect(s.inFlight.map(({ worker }) => worker)).toEqual(["reflector"]);
    s.finish("failed");
    expect(explain(s, "reflectDrop")).toMatch(/; 1 failure \(other\); it tries again/);
    expect(explain(s, "observer")).not.toMatch(/other/);
  });

  it("due, held back by the observer", () => {
    const s = schedule(settings);
    s.turn(1000);
    s.finish("recorded");
    s.say(1100);
    expect(explain(s, "reflectDrop")).toBe(
      "reflect/drop is due since #6: 2,100 of 2,000 tokens; held back because observer is due, waiting for the next turn to end",
    );
    s.turn();
    expect(explain(s, "reflectDrop")).toMatch(
      /held back because observer is running, starts as soon as that has ended, or after 2 more turns$/,
    );
    s.finish("empty");
    expect(explain(s, "reflectDrop")).toMatch(
      /^reflect\/drop is reflecting since #8: .*the dropper follows$/,
    );
  });
});

describe("explaining compaction", () => {
  const quiet = { ...settings, observeAfterTokens: 1e6, reflectAfterTokens: 1e6 };
  const remembering = (under: Partial<Settings>) => {
    const s = schedule(under);
    s.tell({ type: "branch.extended", entries: [...MEMORY] });
    return s;
  };

  it("idle, coolingDown: that there is nothing to fold, once nothing else is missing", () => {
    const s = schedule(quiet);
    s.say(4000);
    expect(explain(s, "compaction")).toMatch(
      /; 1,000 more tokens make it due, once there is something to fold$/,
    );
    s.say(1000);
    expect(explain(s, "compaction")).toBe(
      "compaction is idle: 5,000 of 5,000 tokens; nothing to fold yet, so compacting is left to Pi's own limit",
    );
    s.compact("e2");
    s.say(4000);
    expect(explain(s, "compaction")).toMatch(
      /^compaction is cooling down .*kept 1,000 tokens; nothing to fold yet, so .* Pi's own limit$/,
    );
    s.tell({ type: "branch.extended", entries: [...MEMORY] });
    expect(explain(s, "compaction")).toMatch(/^compaction is due .*; waiting until the agent is at rest/);
  });

  it("due, then requested, then lost", () => {
    const s = remembering(quiet);
    s.tell({ type: "agent.started" });
    s.turn(5100);
    expect(explain(s, "compaction")).toMatch(
      /; waiting until the agent is at rest, so that it interrupts nobody$/,
    );
    s.settle();
    expect(explain(s, "compaction")).toMatch(/Pi was asked to compact \(compaction-1\) and has not begun/);
    s.settle();
    expect(explain(s, "compaction")).toMatch(/; 1 failure; 1 more token makes it due$/);
  });

  it("due, held back because a cut would lose what the observer is about to read", () => {
    const s = remembering({ ...settings, reflectAfterTokens: 1e6, compactionGapMaxTokens: 100 });
    s.tell({ type: "agent.started" });
    s.turn(5100);
    s.settle();
    expect(explain(s, "compaction")).toMatch(
      /held back because observer is running and a cut now would lose 5,100 unobserved tokens, goes ahead as soon as it has caught up, or after 2 more prompts$/,
    );
  });

  it("due, held back, and nobody has asked yet", () => {
    const s = remembering({ ...settings, reflectAfterTokens: 1e6, compactionGapMaxTokens: 100 });
    s.tell({ type: "agent.started" });
    s.turn(5100);
    expect(explain(s, "compaction")).toMatch(/5,100 unobserved tokens, waiting until the agent is at rest$/);
  });

  it("compacting: that its end is waited for", () => {
    const s = remembering(quiet);
    s.tell({ type: "compaction.started", reason: "manual" });
    expect(explain(s, "compaction")).toMatch(/; a compaction is in progress, and its end moves the lane$/);
  });

  it("backingOff: how often it failed, and that it is below its threshold too", () => {
    const s = remembering(quiet);
    s.say(4000);
    const failed = { type: "compaction.failed", failure: { kind: "refused", message: "" } } as const;
    for (let i = 0; i < 2; i++) {
      s.tell({ type: "compaction.started", reason: "manual" });
      s.tell(failed);
    }
    expect(explain(s, "compaction")).toMatch(/^compaction is idle .*; 1,000 more tokens make it due$/);
    s.say(900);
    s.tell({ type: "compaction.started", reason: "manual" });
    s.tell(failed);
    // A sixteenth of the threshold is doubled at the third failure.
    expect(explain(s, "compaction")).toMatch(
      /^compaction is idle .*; 3 failures in a row; 625 more tokens make it due$/,
    );
  });

  it("idle at its threshold after a failure: how many new tokens that takes", () => {
    const s = remembering(quiet);
    s.say(5000);
    s.tell({ type: "compaction.failed", failure: { kind: "refused", message: "" } });
    expect(explain(s, "compaction")).toMatch(
      /^compaction is backing off .*; 1 failure; 1 more token makes it due$/,
    );
  });

  it("counts past the tokens of the last failure, on a branch that has fewer", () => {
    const s = remembering(quiet);
    s.say(5000);
    const failed = { type: "compaction.failed", failure: { kind: "refused", message: "" } } as const;
    for (let i = 0; i < 3; i++) {
      s.tell({ type: "compaction.started", reason: "manual" });
      s.tell(failed);
    }
    s.tell({ type: "branch.replaced", branch: [...MEMORY, fact.user("other", 4900)] });
    // At 5,000 it would be the same again; a third failure asks for 625 tokens beyond it.
    expect(explain(s, "compaction")).toMatch(/; 3 failures in a row; 725 more tokens make it due$/);
    expect(s.say(724).snapshot.states.compaction).toBe("idle");
    expect(s.say(1).snapshot.states.compaction).toBe("due");
  });

  it("coolingDown: what was kept, and how much must come", () => {
    const s = remembering(quiet);
    s.say(3000);
    s.say(2000);
    s.compact("e2");
    s.say(500);
    expect(explain(s, "compaction")).toMatch(
      /the last compaction kept 2,000 tokens; 2,500 more tokens make it due$/,
    );
    s.compact("e1");
    expect(explain(s, "compaction")).toMatch(/kept 5,500 tokens; 5,000 more tokens make it due$/);
  });
});
