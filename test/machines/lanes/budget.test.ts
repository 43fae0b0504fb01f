import { describe, expect, it } from "vitest";
import { createEngine } from "../../../src/machines/engine.ts";
import { explainLane } from "../../../src/machines/recording/explain.ts";
import type { Settings } from "../../../src/reducers/settings.ts";
import {
  agentStarts,
  append,
  close,
  compact,
  demand,
  event,
  given,
  type Happening,
  moveTo,
  runEnds,
  say,
  starts,
  turn,
  wait,
} from "../../support/engine/given.ts";
import { schedule } from "../../support/engine/schedule.ts";
import { fact, opened, stamped } from "../../support/sessions/builders.ts";

const FREE = {
  observeAfterTokens: 1000,
  reflectAfterTokens: 1_000_000,
  compactAfterTokens: 1_000_000,
};
const session = (sessionUsd: number): Partial<Settings> => ({ ...FREE, budget: { sessionUsd } });
const day: Partial<Settings> = { ...FREE, budget: { dayUsd: 1 } };

/** A run on the branch cost so much, in USD, and 120 tokens. */
const paid = (id: string, usd: number): Happening => append(fact.cost(id, "observer", usd));

/** A turn ends, and the host has seen what all sessions have spent on a day. */
const turnOn = (date: string, usd: number): Happening =>
  event({ type: "turn.ended", daySpent: { date, usd } });

describe("over a session's budget", () => {
  it("lanes stand in a state of their own, and nothing begins", () => {
    given(session(0.5), say(2000), paid("c1", 0.4))
      .when(turn())
      .then({ observer: "running", commands: [starts("observer")] });
    given(session(0.5), paid("c1", 0.5))
      .when(say(2000), turn(), agentStarts)
      .then({ observer: "overBudget", reflectDrop: "overBudget", compaction: "idle", commands: [] });
  });

  it("a run that is in flight ends as it would, and none follows it", () => {
    given(session(0.5), turn(1000), turn(3000))
      .when(paid("c1", 0.6), runEnds("recorded", { watermark: "e1" }))
      .then({ observer: "overBudget", inFlight: [] });
  });

  it("no dropper follows the reflector that used it up", () => {
    const settings = { ...session(0.5), reflectAfterTokens: 1000, observationsPoolTargetTokens: 1 };
    given(settings, turn(1000), runEnds("recorded"), turn())
      .when(paid("c1", 0.6), runEnds("recorded"))
      .then({ reflectDrop: "overBudget", inFlight: [] });
    given({ ...settings, budget: {} }, turn(1000), runEnds("recorded"), turn())
      .when(paid("c1", 0.6), runEnds("recorded"))
      .then({ reflectDrop: "running.dropping", inFlight: ["dropper"] });
  });

  it("nobody's demand is met", () => {
    for (const lane of ["observer", "reflectDrop"] as const) {
      given(session(0.5), say(2000), paid("c1", 0.5)).when(demand(lane)).then({ commands: [], inFlight: [] });
    }
  });

  it("counts tokens in and out where the limit is of tokens", () => {
    const tokens = { ...FREE, budget: { sessionTokens: 240 } };
    given(tokens, paid("c1", 0)).when(say(2000)).then({ observer: "due" });
    given(tokens, paid("c1", 0), paid("c2", 0)).when(say(2000)).then({ observer: "overBudget" });
  });

  it("goes on where the branch has spent less, and where the limit was raised", () => {
    given(session(0.5), say(2000), paid("c1", 0.5))
      .when(moveTo(fact.user("u1", 2000)))
      .then({ observer: "idle" })
      .when(turn())
      .then({ observer: "running" });
    const branch = [fact.user("u1", 2000), fact.cost("c1", "observer", 0.5)];
    given(session(0.5), close, event(opened(branch, session(0.5))))
      .when(turn())
      .then({ observer: "overBudget" })
      .when(close, event(opened(branch, session(0.6))), turn())
      .then({ observer: "running" });
  });

  it("keeps no compaction from being asked for, nor from waiting for the observer in vain", () => {
    const settings = { ...session(0.5), compactAfterTokens: 3000, compactionGapMaxTokens: 0 };
    given(settings, turn(1000), runEnds("recorded"), paid("c1", 0.5))
      .when(say(4000), turn(), event({ type: "agent.settled", aborted: false }))
      .then({ observer: "overBudget", compaction: "requested" })
      .when(compact("e3"))
      .then({ compaction: "coolingDown" });
  });

  it("keeps the delay after a failure, and what an empty result stands for", () => {
    given(session(0.5), turn(1000), runEnds("failed"), paid("c1", 0.5))
      .when(say(100))
      .then({ observer: "backingOff" })
      .when(wait(3_600_000), turn())
      .then({ observer: "overBudget", inFlight: [] });
    given(session(0.5), turn(1000), runEnds("empty"), paid("c1", 0.5))
      .when(turn(500))
      .then({ observer: "coolingDown", inFlight: [] })
      .when(turn(500))
      .then({ observer: "overBudget", inFlight: [] });
  });

  it("passive is passive all the same", () => {
    given({ ...session(0.5), passive: true }, paid("c1", 0.5))
      .when(turn(2000))
      .then({ observer: "passive" });
  });
});

describe("over the day's budget", () => {
  it("nothing begins, and with the next day's figure it does", () => {
    given(day, say(2000))
      .when(turnOn("2026-01-15", 1))
      .then({ observer: "overBudget", inFlight: [] })
      .when(turn())
      .then({ observer: "overBudget", inFlight: [] })
      .when(turnOn("2026-01-16", 0), turn())
      .then({ observer: "running" });
  });

  it("a run that found it used up was none: its lane does not back off", () => {
    given(day, turn(2000))
      .when(
        event({
          ...{ type: "run.finished", runId: "observer-1", worker: "observer", outcome: "aborted" },
          ...{ coversUpToId: null, records: 0, rejected: 0, requests: 0, sourceTokens: 0, durationMs: 1 },
          usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 },
          daySpent: { date: "2026-01-15", usd: 1.1 },
        }),
      )
      .then({ observer: "overBudget", contexts: { observer: { failures: 0 } } });
  });

  it("is told with the keyframe's opening, so that a recording that starts there goes on the same", () => {
    const s = schedule(day);
    s.say(2000);
    turnOn("2026-01-15", 1)(s);
    const { daySpent } = s.engine.state;
    const engine = createEngine({ keyframe: s.engine.keyframe() });
    engine.step(stamped({ ...opened([], day), ...(daySpent && { daySpent }) }));
    expect(engine.step(stamped({ type: "turn.ended" }, 2)).snapshot.states.observer).toBe("overBudget");
  });
});

it("is explained in words that say which limit, how much, and what helps", () => {
  const s = schedule(session(0.5));
  s.tell({ type: "branch.extended", entries: [fact.cost("c1", "observer", 0.6)] });
  const moment = { state: s.engine.state, snapshot: s.engine.snapshot, at: 0 };
  expect(explainLane("observer", moment)).toMatch(
    /^observer is over budget since #2: .*; over budget: \$0\.6000 of this session's \$0\.5000; it goes on when budget\.sessionUsd is raised/,
  );
});
