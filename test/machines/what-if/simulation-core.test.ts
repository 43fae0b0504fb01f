import { describe, expect, it } from "vitest";
import type { ReplayStep } from "../../../src/machines/recording/replay-step.ts";
import {
  type Answer,
  createSimulation,
  type SimulationOptions,
  type TimelineItem,
} from "../../../src/machines/what-if/simulation.ts";
import { DEFAULT_MODEL } from "../../../src/machines/what-if/workload.ts";
import type { Unstamped } from "../../../src/reducers/engine/events.ts";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../../src/reducers/settings.ts";
import { schedule } from "../../support/engine/schedule.ts";
import { fact, finished, MEMORY, opened, stamped } from "../../support/sessions/builders.ts";

const settings: Settings = {
  ...DEFAULT_SETTINGS,
  observeAfterTokens: 1000,
  reflectAfterTokens: 100_000,
  compactAfterTokens: 5000,
};
const observer = { ...DEFAULT_MODEL.observer, recordsPerUnit: 1 / 500, durationMs: 10_000 };
const START = Date.parse("2026-01-15T09:00:00.000Z");

/** Tells a simulation what happened, at seconds after the start. */
function simulate(options: Partial<SimulationOptions> & { answers?: Answer["type"] } = {}) {
  const { answers = "modelled", ...given } = options;
  const simulation = createSimulation({
    patch: {},
    model: { ...DEFAULT_MODEL, observer, keepTokens: 2000 },
    answer: () => (answers === "recorded" ? { type: answers, resultOf: "result" } : { type: answers }),
    ...given,
  });
  let seq = 0;
  const steps: ReplayStep[] = [];
  const at = (seconds: number, event: Unstamped, resultOf?: string) => {
    const item: TimelineItem = { event: stamped(event, ++seq, START + seconds * 1000) };
    steps.push(...simulation.take(resultOf === undefined ? item : { ...item, resultOf }));
  };
  const open = (seconds = 0, branch: EntryFact[] = []) => at(seconds, opened(branch, settings));
  const say = (seconds: number, id: string, tokens: number) =>
    at(seconds, { type: "branch.extended", entries: [fact.user(id, tokens)] });
  return { simulation, steps, at, open, say };
}

/** The same, with an observer run under way since the second second. */
function running(options: Parameters<typeof simulate>[0] = {}) {
  const s = simulate(options);
  s.open();
  s.say(1, "a", 1000);
  s.at(2, { type: "turn.ended" });
  return s;
}

type Simulated = ReturnType<typeof simulate>;

/** What happened, with `~` for what was modelled. */
const told = ({ steps }: Simulated) =>
  steps.map(({ event, modelled }) => {
    const what = event.type === "run.finished" ? `${event.runId} ${event.outcome}` : event.type;
    return `${modelled ? "~" : ""}${what} @${(Date.parse(event.at) - START) / 1000}`;
  });
const idsOf = ({ steps }: Simulated) => {
  const { log, length } = steps.at(-1)?.state.session.branch ?? { log: { rows: [] }, length: 0 };
  return log.rows
    .slice(0, length)
    .map(({ id }) => id)
    .join(" ");
};

describe("a simulation", () => {
  it("lets modelled runs happen when they end, in between what was recorded", () => {
    const s = running();
    s.say(5, "b", 10);
    s.say(12, "c", 10);
    expect(told(s)).toEqual([
      "session.opened @0",
      "branch.extended @1",
      "turn.ended @2",
      "branch.extended @5",
      "~branch.extended @12",
      "~observer-1 recorded @12",
      "branch.extended @12",
    ]);
    expect(s.steps.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(s.steps.map(({ event }) => event.seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(s.simulation.counts.observer).toEqual({ recorded: 0, modelled: 1, noTrace: 0 });
    expect(idsOf(s)).toBe("a b modelled-1 c");
  });

  it("lets what is under way end after the last event, and no sooner", () => {
    const s = running();
    s.say(11.9, "b", 10);
    expect(told(s).at(-1)).toBe("branch.extended @11.9");
    expect(s.simulation.finish().map(({ event }) => event.type)).toEqual(["branch.extended", "run.finished"]);
    expect(s.simulation.finish()).toEqual([]);
  });

  it("does not go back in time when the recorded clock does", () => {
    const s = simulate();
    s.open();
    s.say(100, "a", 1000);
    s.at(50, { type: "turn.ended" });
    s.say(105, "b", 10);
    expect(told(s)).not.toContain("~observer-1 recorded @60");
    s.say(110, "c", 10);
    expect(told(s)).toContain("~observer-1 recorded @110");
  });

  it("puts the settings that are tried in place of the recorded ones, at each opening", () => {
    const s = simulate({ patch: { observeAfterTokens: 3000 } });
    s.open();
    s.say(1, "a", 2000);
    expect(s.steps.at(-1)?.snapshot.states.observer).toBe("idle");
    s.open(3);
    expect(s.steps.at(-1)?.state.settings).toEqual({ ...settings, observeAfterTokens: 3000 });
  });

  it("gives a run that it starts the recorded result, under its own name and with its own time", () => {
    const s = running({ answers: "recorded" });
    const records = [{ id: "000000000001", tokens: 5, relevance: "low" as const, sources: ["a"], index: 0 }];
    const ledger = { type: "observations" as const, coversUpToId: "a", records };
    const result: Unstamped = {
      ...finished("observer-7", "observer", "recorded", "a"),
      durationMs: 0,
    } as Unstamped;
    s.at(6, { type: "branch.extended", entries: [fact.ledger("o", ledger)] }, "result");
    s.at(6, result, "result");
    expect(told(s).slice(3)).toEqual(["branch.extended @6", "observer-1 recorded @6"]);
    expect(s.steps.at(-1)?.event).toMatchObject({ runId: "observer-1", durationMs: 4000 });
    expect(s.steps.at(-1)?.snapshot.states.observer).toBe("idle");
    // It was taken over once; a second result of that name is nobody's.
    s.at(7, result, "result");
    expect(told(s)).toHaveLength(5);
    expect(s.simulation.counts.observer).toEqual({ recorded: 1, modelled: 0, noTrace: 0 });
  });

  it("keeps the time that a recorded run took, and what nobody asked for as it was", () => {
    const s = simulate({ answers: "recorded" });
    s.open();
    s.at(1, { ...finished("observer-9", "observer", "stale", null), durationMs: 123 } as Unstamped);
    expect(s.steps.at(-1)?.event).toMatchObject({ runId: "observer-9", durationMs: 123 });
  });

  it("leaves out recorded results that it did not take over, here and on every branch to come", () => {
    const s = simulate();
    s.open();
    s.say(1, "a", 100);
    s.at(2, { type: "branch.extended", entries: [{ id: "o", kind: "ledger", tokens: 0 }] }, "result");
    s.at(2, finished("observer-1", "observer", "recorded", "a"), "result");
    s.say(3, "b", 100);
    expect(told(s)).toEqual(["session.opened @0", "branch.extended @1", "branch.extended @3"]);
    s.at(4, {
      type: "branch.replaced",
      branch: [fact.user("a", 100), { id: "o", kind: "ledger", tokens: 0 }, fact.user("c", 1)],
    });
    expect(idsOf(s)).toBe("a c");
    s.open(5, [fact.user("a", 100), { id: "o", kind: "ledger", tokens: 0 }]);
    expect(idsOf(s)).toBe("a");
  });

  it("has modelled entries on the branches that hold what came before them", () => {
    const s = running();
    s.say(20, "b", 10);
    s.at(21, {
      type: "branch.replaced",
      branch: [fact.user("a", 1000), fact.user("b", 10), fact.user("c", 1)],
    });
    expect(idsOf(s)).toBe("a modelled-1 b c");
    s.open(22, [fact.user("a", 1000), fact.user("b", 10)]);
    expect(idsOf(s)).toBe("a modelled-1 b");
  });

  it("lets a modelled run end stale when its branch was left", () => {
    const s = running();
    s.at(3, { type: "branch.replaced", branch: [fact.user("x", 10)] });
    s.say(20, "y", 10);
    expect(told(s).slice(-2)).toEqual(["~observer-1 stale @12", "branch.extended @20"]);
    expect(s.steps.at(-2)?.event).toMatchObject({ records: 0 });
  });

  it("aborts what is under way when the session closes, and nothing else", () => {
    const s = running();
    s.at(5, { type: "session.closed", reason: "quit" });
    expect(told(s).slice(-2)).toEqual(["session.closed @5", "~observer-1 aborted @5"]);
    expect(s.steps.at(-1)?.event).toMatchObject({ records: 0, usage: { input: 0, output: 0 } });
    expect(s.simulation.finish()).toEqual([]);
  });

  it("forgets what is under way when another engine begins, but goes on with that of a keyframe", () => {
    const s = running({ answers: "recorded" });
    s.simulation.open();
    s.open(3, [fact.user("a", 1000)]);
    s.at(4, finished("observer-1", "observer", "empty", "a"), "result");
    expect(told(s).at(-1)).toBe("session.opened @3");

    const live = schedule({ observeAfterTokens: 1000 });
    live.turn(1000);
    s.simulation.open(live.engine.keyframe());
    s.open(5, [fact.user("a", 1000)]);
    s.at(
      9,
      { ...finished("observer-1", "observer", "empty", "a"), durationMs: 0 } as Unstamped,
      "observer-1",
    );
    expect(told(s).at(-1)).toBe("observer-1 empty @9");
    expect(s.steps.at(-1)?.snapshot.states.observer).toBe("coolingDown");
  });

  it("takes a run without a trace for one that found nothing", () => {
    const s = running({ answers: "noTrace" });
    s.say(20, "b", 1);
    expect(told(s)).toContain("~observer-1 empty @12");
    expect(s.simulation.counts.observer).toEqual({ recorded: 0, modelled: 0, noTrace: 1 });
  });

  it("lets what ends first happen first", () => {
    const patch = { reflectAfterTokens: 2000 };
    const model = {
      ...DEFAULT_MODEL,
      observer: { ...observer, durationMs: 60_000 },
      reflector: { ...DEFAULT_MODEL.reflector, durationMs: 5000, recordsPerUnit: 1 / 100 },
    };
    const s = running({ patch, model });
    s.say(70, "b", 900);
    s.at(70, { type: "run.demanded", lane: "observer" });
    s.at(71, { type: "run.demanded", lane: "reflectDrop" });
    s.say(200, "c", 1);
    const ended = told(s).filter((what) => / recorded /.test(what));
    expect(ended).toEqual([
      "~observer-1 recorded @62",
      "~reflectDrop-1 recorded @76",
      "~observer-2 recorded @130",
    ]);
  });
});

describe("a modelled compaction", () => {
  function compacted(tokens: number[], options: Partial<SimulationOptions> = {}, memory = MEMORY) {
    const s = simulate({ patch: { observeAfterTokens: 1e6, compactionGapMaxTokens: 0 }, ...options });
    s.open(0, [...memory]);
    tokens.forEach((count, index) => {
      s.say(index + 1, `e${index}`, count);
    });
    s.at(100, { type: "agent.settled", aborted: false });
    s.at(101, { type: "turn.ended" });
    return s;
  }
  /** An observer's entry that rests on this one */
  const about = (id: string) => fact.observed("o", id, "0123456789ab:5");
  const entryOf = ({ steps }: Simulated) =>
    steps
      .flatMap(({ event }) => (event.type === "branch.extended" ? event.entries : []))
      .find(({ kind }) => kind === "compaction");

  it("is a full fold the first time, and by the pool alone where that is the policy", () => {
    const fullFold = (foldPolicy: Settings["foldPolicy"]) => {
      const patch = { observeAfterTokens: 1e6, compactionGapMaxTokens: 0, foldPolicy };
      return entryOf(compacted([2500, 1500, 1500], { patch }))?.compaction?.fullFold;
    };
    expect([fullFold("pressure"), fullFold("pool")]).toEqual([true, false]);
  });

  it("keeps what Pi would", () => {
    const s = compacted([2500, 1500, 1500]);
    expect(told(s).slice(-5)).toEqual([
      "agent.settled @100",
      "~compaction.started @100",
      "~branch.extended @100",
      "~compaction.finished @100",
      "turn.ended @101",
    ]);
    expect(s.steps.find(({ event }) => event.type === "compaction.started")?.event).toMatchObject({
      reason: "modelled",
    });
    expect(entryOf(s)).toEqual({
      ...{ id: "modelled-1", kind: "compaction", tokens: 0 },
      compaction: { firstKeptEntryId: "e1", folded: true, fullFold: true },
    });
    expect(s.steps.find(({ event }) => event.type === "compaction.finished")?.event).toMatchObject({
      folded: true,
    });
    expect(s.simulation.counts.compaction).toEqual({ recorded: 0, modelled: 1, noTrace: 0 });
  });

  it("is not asked for while there is no memory", () => {
    const s = compacted([2500, 1500, 1500], {}, []);
    expect(told(s).slice(-2)).toEqual(["agent.settled @100", "turn.ended @101"]);
  });

  it("is Pi's own when all memory lies in what is kept", () => {
    const s = compacted([2500, 1500, 1500], {}, []);
    s.at(102, { type: "branch.extended", entries: [about("e2")] });
    s.at(103, { type: "agent.settled", aborted: false });
    s.at(104, { type: "turn.ended" });
    expect(entryOf(s)?.compaction).toEqual({ firstKeptEntryId: "e1", folded: false, fullFold: false });
  });

  it("folds the memory that there is, all of it where that is the policy", () => {
    const observing = { observeAfterTokens: 2000, foldPolicy: "always" as const };
    const s = simulate({ patch: observing });
    s.open();
    s.say(1, "e0", 2500);
    s.at(2, { type: "turn.ended" });
    s.say(30, "e1", 1500);
    s.say(31, "e2", 1500);
    s.at(100, { type: "agent.settled", aborted: false });
    s.at(101, { type: "turn.ended" });
    expect(entryOf(s)?.compaction).toEqual({ firstKeptEntryId: "e1", folded: true, fullFold: true });
    expect(s.steps.find(({ event }) => event.type === "compaction.finished")?.event).toMatchObject({
      folded: true,
    });
  });

  it("fails, as Pi says, when there is nothing to compact", () => {
    const s = compacted([6000], {}, []);
    s.at(102, { type: "branch.extended", entries: [about("e0")] });
    s.at(103, { type: "agent.settled", aborted: false });
    s.at(104, { type: "turn.ended" });
    expect(told(s).slice(-2)).toEqual(["~compaction.failed @103", "turn.ended @104"]);
    const failure = s.steps.at(-2)?.event;
    expect(failure).toMatchObject({ failure: { kind: "refused", message: "" } });
    expect(s.steps.at(-2)?.snapshot.states.compaction).toBe("backingOff");
  });

  it("does not come when it left no trace", () => {
    const s = compacted([2500, 1500, 1500], { answer: () => ({ type: "noTrace" }) });
    expect(told(s).slice(-2)).toEqual(["agent.settled @100", "turn.ended @101"]);
  });
});
