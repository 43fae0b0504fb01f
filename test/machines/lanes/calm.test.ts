import { describe, expect, it } from "vitest";
import { type Calm, calmAfter, isCalm } from "../../../src/machines/lanes/calm.ts";
import { isOpenTo } from "../../../src/machines/lanes/gate.ts";
import { type LaneEvent, OPENINGS } from "../../../src/machines/lanes/lane-openings.ts";
import { laneInputs } from "../../../src/machines/lanes/lanes.ts";
import type { Wake } from "../../../src/machines/scheduler.ts";
import type { EngineState } from "../../../src/reducers/engine/engine-state.ts";
import type { Settings } from "../../../src/reducers/settings.ts";
import { fact, type Schedule, schedule } from "../../support/schedule.ts";

const settings = { observeAfterTokens: 1000, reflectAfterTokens: 2000, compactAfterTokens: 5000 };
const reading: Wake = { type: "wake", lane: "observer", as: "reading" };

/** What is known of a schedule that has come to rest. */
function calmOf({ engine: { state, snapshot } }: Schedule): Calm | undefined {
  return calmAfter(state, snapshot, laneInputs(state, snapshot.states, 0));
}

function talk(more: Partial<Settings> = {}) {
  const s = schedule({ ...settings, ...more });
  s.say(300);
  const calm = calmOf(s);
  if (!calm) throw new Error("expected calm");
  const staysSo = (change: Partial<EngineState> = {}, wakes: readonly Wake[] = [reading]) =>
    isCalm(calm, { ...s.engine.state, ...change }, wakes);
  return { s, calm, staysSo };
}

describe("calm", () => {
  it("lasts until the branch has grown to the nearest threshold", () => {
    const { s, calm, staysSo } = talk();
    expect(calm.until).toBe(1000);
    expect(talk({ observeAfterTokens: 8000 }).calm.until).toBe(2000);
    s.say(699);
    expect(staysSo()).toBe(true);
    s.say(1);
    expect(staysSo()).toBe(false);
  });

  it("counts from what is covered and cut already, not from the start", () => {
    const s = schedule({ ...settings, observeAfterTokens: 500 });
    s.turn(700);
    s.finish("recorded");
    expect(calmOf(s)?.until).toBe(1200);
    s.say(100);
    s.compact("e3");
    // The compaction lane cools down: it is no nearer than the others.
    expect(calmOf(s)?.until).toBe(1200);
  });

  it("is not known while a lane is at its threshold or would move below it", () => {
    const due = schedule(settings);
    due.say(1000);
    expect(calmOf(due)?.until).not.toBe(1000);
    const { engine } = talk().s;
    const readings = laneInputs(engine.state, engine.snapshot.states, 0);
    const passive = { ...readings, observer: { ...readings.observer, passive: true } };
    expect(calmAfter(engine.state, engine.snapshot, passive)).toBeUndefined();
    const atThreshold = { ...readings, observer: { ...readings.observer, clock: 1000 } };
    expect(calmAfter(engine.state, engine.snapshot, atThreshold)).toBeUndefined();
  });

  it("lasts whether the agent is at work or not, since no lane asks for that below its threshold", () => {
    const { s, staysSo } = talk();
    expect(staysSo({ agentIdle: true })).toBe(true);
    expect(staysSo({ agentIdle: false })).toBe(true);
    const { compaction } = laneInputs(s.engine.state, s.engine.snapshot.states, 0);
    const context = s.engine.snapshot.contexts.compaction;
    for (const triggered of [false, true]) {
      for (const openings of OPENINGS.compaction.values()) {
        const [idle, busy] = [true, false].map((agentIdle) =>
          isOpenTo(openings, { ...context, triggered }, {
            type: "reading",
            reading: { ...compaction, agentIdle },
          } as LaneEvent),
        );
        expect(idle).toBe(busy);
      }
    }
  });

  it("leaves lanes aside that listen to no reading", () => {
    const s = schedule(settings);
    s.turn(1500);
    expect(s.engine.lanes.observer).toBe("running");
    expect(calmOf(s)?.until).toBe(2000);
  });

  it("ends with anything but more conversation", () => {
    const { s, staysSo } = talk();
    const { state } = s.engine;
    expect(staysSo()).toBe(true);
    expect(staysSo({ settings: { ...state.settings } })).toBe(false);
    expect(staysSo({ contextWindow: 1000 })).toBe(false);
    const { branch, ledger } = state.session;
    expect(staysSo({ session: { ...state.session, ledger: { ...ledger } } })).toBe(false);
    expect(
      staysSo({ session: { ...state.session, branch: { ...branch, edits: { ...branch.edits } } } }),
    ).toBe(false);
    expect(staysSo({ session: { ...state.session, branch: { ...branch, log: { ...branch.log } } } })).toBe(
      false,
    );
    s.tell({ type: "branch.replaced", branch: [fact("e1", 300)] });
    expect(staysSo()).toBe(false);
  });

  it("is not what a lane makes of another event that it listens to", () => {
    const { staysSo } = talk();
    expect(staysSo({}, [reading, { type: "wake", lane: "compaction", as: "boundary" }])).toBe(true);
    expect(staysSo({}, [reading, { type: "wake", lane: "observer", as: "demand" }])).toBe(false);
    // Asked again of the same plan.
    const plan: Wake[] = [{ type: "wake", lane: "observer", as: "demand" }];
    expect([staysSo({}, plan), staysSo({}, plan)]).toEqual([false, false]);
  });
});
