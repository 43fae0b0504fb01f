import { describe, expect, it } from "vitest";
import { createRunMaker, type StartRun } from "../../../src/machines/what-if/simulated-runs.ts";
import { DEFAULT_MODEL, type RunModel, type Workload } from "../../../src/machines/what-if/workload.ts";
import type { Worker } from "../../../src/reducers/engine/lane-names.ts";
import type { EntryFact, LedgerFact } from "../../../src/reducers/entries/entry-fact.ts";
import { isMemoryId } from "../../../src/reducers/ledger/records.ts";
import { type Schedule, schedule } from "../../support/engine/schedule.ts";
import { fact } from "../../support/sessions/builders.ts";

const settings = { passive: true, observationsPoolTargetTokens: 100, observerChunkMaxTokens: 2000 };

function modelWith(worker: Worker, model: Partial<RunModel>): Workload {
  return { ...DEFAULT_MODEL, [worker]: { ...DEFAULT_MODEL[worker], ...model } };
}

const start = (worker: Worker, more: Partial<StartRun> = {}): StartRun => ({
  type: "startRun",
  runId: `${worker}-1`,
  worker,
  failures: 0,
  emptyUpToId: null,
  ...more,
});

/** A session whose observations of 50 tokens each have these relevances, and cover all that was said. */
function remembering(...relevances: ("low" | "medium" | "high")[]): Schedule {
  const s = schedule(settings);
  s.say(1000);
  const records = relevances.map((relevance, index) => ({
    ...{ id: `${index}`.padStart(12, "0"), tokens: 50, relevance, index },
    sources: [s.tip],
  }));
  const ledger: LedgerFact = { type: "observations", coversUpToId: s.tip, records };
  s.tell({ type: "branch.extended", entries: [fact.ledger("o", ledger)] });
  return s;
}

const stateOf = (s: Schedule) => s.engine.state;
const ledgerOf = (made: { fact?: EntryFact } | undefined) => made?.fact?.ledger;

describe("a modelled observer run", () => {
  it("reads what is unobserved, and records as many as the model has for that", () => {
    const s = schedule(settings);
    const ids = [600, 600, 600].map((tokens) => s.say(tokens) && s.tip);
    s.tell({ type: "branch.extended", entries: [{ id: "label", kind: "other", tokens: 0 }] });
    const model = modelWith("observer", { recordsPerUnit: 1 / 900, tokensPerRecord: 40 });
    const { make } = createRunMaker(model, { input: 1, output: 10 });
    const made = make(start("observer"), stateOf(s));
    const { requests, durationMs, overheadPerRequest, outputPerRequest } = DEFAULT_MODEL.observer;
    const input = requests * (overheadPerRequest + 1800);
    const output = requests * outputPerRequest;
    expect(made.finished).toEqual({
      ...{ type: "run.finished", runId: "observer-1", worker: "observer", outcome: "recorded" },
      ...{ coversUpToId: ids[2], records: 2, rejected: 0, requests, sourceTokens: 1800, durationMs },
      usage: { input, output, cacheRead: 0, cacheWrite: 0, cost: (input + 10 * output) / 1e6 },
    });
    expect(made.fact).toMatchObject({ id: "modelled-1", kind: "ledger", tokens: 0 });
    const ledger = ledgerOf(made);
    if (ledger?.type !== "observations") throw new Error("no observations");
    expect(ledger.coversUpToId).toBe(ids[2]);
    expect(ledger.records.map(({ sources, tokens, index }) => ({ sources, tokens, index }))).toEqual([
      { sources: [ids[0]], tokens: 40, index: 0 },
      { sources: [ids[1]], tokens: 40, index: 1 },
    ]);
    expect(ledger.records.map(({ id }) => isMemoryId(id))).toEqual([true, true]);
  });

  it("stops at its chunk's budget, shows one entry at least, and halves the budget after each failure", () => {
    const s = schedule(settings);
    const ids = [900, 1100, 1, 3000].map((tokens) => s.say(tokens) && s.tip);
    const { make } = createRunMaker(DEFAULT_MODEL, undefined);
    const through = (failures: number) =>
      make(start("observer", { failures }), stateOf(s)).finished.coversUpToId;
    expect([0, 1, 2, 9].map(through)).toEqual([ids[1], ids[0], ids[0], ids[0]]);
    const alone = schedule(settings);
    alone.say(5000);
    const { finished } = make(start("observer"), stateOf(alone));
    expect(finished).toMatchObject({ coversUpToId: alone.tip, sourceTokens: 5000, usage: { cost: 0 } });
  });

  it("gives each record and each entry an id of its own", () => {
    const s = schedule(settings);
    s.say(2000);
    const { make, nextEntryId } = createRunMaker(
      modelWith("observer", { recordsPerUnit: 1 / 20 }),
      undefined,
    );
    const [one, other] = [make(start("observer"), stateOf(s)), make(start("observer"), stateOf(s))];
    const ids = [one, other].flatMap((made) => {
      const ledger = ledgerOf(made);
      return ledger?.type === "observations" ? ledger.records.map(({ id }) => id) : [];
    });
    expect(new Set(ids).size).toBe(200);
    expect(ids.every(isMemoryId)).toBe(true);
    expect([one.fact?.id, other.fact?.id, nextEntryId()]).toEqual(["modelled-1", "modelled-2", "modelled-3"]);
  });

  it("carries parts of records over, and is empty while they make no whole one", () => {
    const s = schedule(settings);
    s.say(500);
    const { make } = createRunMaker(modelWith("observer", { recordsPerUnit: 1 / 2000 }), undefined);
    const outcomes = Array.from({ length: 8 }, () => make(start("observer"), stateOf(s)).finished.outcome);
    const empty = ["empty", "empty", "empty"];
    expect(outcomes).toEqual([...empty, "recorded", ...empty, "recorded"]);
  });

  it("is empty as often as the model has it, and the others make up for that", () => {
    const s = schedule(settings);
    s.say(1000);
    const { make } = createRunMaker(
      modelWith("observer", { emptyShare: 0.5, recordsPerUnit: 1 / 1000 }),
      undefined,
    );
    const made = Array.from({ length: 6 }, () => make(start("observer"), stateOf(s)).finished.records);
    expect(made).toEqual([2, 0, 2, 0, 2, 0]);
  });

  it("asks nobody when there is nothing to read", () => {
    const { make } = createRunMaker(DEFAULT_MODEL, undefined);
    const { finished, fact: recorded } = make(start("observer"), stateOf(schedule(settings)));
    expect(finished).toMatchObject({
      outcome: "empty",
      coversUpToId: null,
      requests: 0,
      durationMs: 0,
      records: 0,
    });
    expect(finished.usage.input).toBe(0);
    expect(recorded).toBeUndefined();
  });

  it("that left no trace has read, and found nothing", () => {
    const s = schedule(settings);
    s.say(1000);
    const made = createRunMaker(DEFAULT_MODEL, undefined).makeEmpty(start("observer"), stateOf(s));
    expect(made).toMatchObject({
      finished: { outcome: "empty", coversUpToId: s.tip, sourceTokens: 1000, records: 0, requests: 1 },
    });
    expect(made.fact).toBeUndefined();
  });

  it("goes on behind a range that was judged empty when both do not fit", () => {
    const s = schedule(settings);
    const [first, second] = [1500, 1500].map((tokens) => s.say(tokens) && s.tip);
    const { make } = createRunMaker(DEFAULT_MODEL, undefined);
    const { finished } = make(start("observer", { emptyUpToId: first ?? null }), stateOf(s));
    expect(finished).toMatchObject({ coversUpToId: second, sourceTokens: 1500 });
  });
});

describe("a modelled reflector run", () => {
  it("covers what is observed, and records by what is newly so", () => {
    const s = remembering("high");
    s.say(700);
    const { make } = createRunMaker(
      modelWith("reflector", { recordsPerUnit: 1 / 500, tokensPerRecord: 9 }),
      undefined,
    );
    const made = make(start("reflector"), stateOf(s));
    expect(made.finished).toMatchObject({
      outcome: "recorded",
      coversUpToId: "e1",
      records: 2,
      sourceTokens: 0,
    });
    const ledger = ledgerOf(made);
    if (ledger?.type !== "reflections") throw new Error("no reflections");
    expect(ledger.coversUpToId).toBe("e1");
    expect(ledger.records).toMatchObject([
      { tokens: 9, supports: [], index: 0 },
      { tokens: 9, supports: [], index: 1 },
    ]);
  });

  it("asks nobody before anything was observed, or when all of it was dropped", () => {
    const { make } = createRunMaker(DEFAULT_MODEL, undefined);
    const unobserved = schedule(settings);
    unobserved.say(1000);
    const dropped = remembering("high");
    dropped.tell({ type: "branch.extended", entries: [fact.dropped("d", "e1", "000000000000")] });
    for (const s of [unobserved, dropped]) {
      for (const worker of ["reflector", "dropper"] as const) {
        expect(make(start(worker), stateOf(s)).finished).toMatchObject({ coversUpToId: null, requests: 0 });
      }
    }
  });
});

describe("a modelled dropper run", () => {
  it("drops the least relevant, and no more than brings the pool to its target", () => {
    const s = remembering("high", "low", "medium", "low", "high");
    const { make } = createRunMaker(modelWith("dropper", { recordsPerUnit: 5 }), undefined);
    const made = make(start("dropper"), stateOf(s));
    // Five of 50 tokens are 150 over the target.
    expect(made.finished).toMatchObject({ outcome: "recorded", coversUpToId: "e1", records: 3 });
    expect(ledgerOf(made)).toEqual({
      type: "drops",
      coversUpToId: "e1",
      observationIds: ["000000000001", "000000000003", "000000000002"],
    });
  });

  it("drops as many as the model has it, if that is less", () => {
    const { make } = createRunMaker(modelWith("dropper", { recordsPerUnit: 0.34 }), undefined);
    const made = make(start("dropper"), stateOf(remembering("high", "low", "medium", "low", "high")));
    expect(made.finished.records).toBe(1);
  });

  it("asks nobody when the pool is within its target", () => {
    const { make } = createRunMaker(DEFAULT_MODEL, undefined);
    expect(make(start("dropper"), stateOf(remembering("high", "high"))).finished).toMatchObject({
      coversUpToId: null,
      requests: 0,
    });
  });
});
