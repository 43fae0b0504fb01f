import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EngineEventOf, EVENT_VERSION } from "../../../src/reducers/engine/events.ts";
import { WORKERS } from "../../../src/reducers/engine/lane-names.ts";
import {
  failuresAfter,
  isOfTheModel,
  type ModelFailures,
  modelsToAsk,
  standing,
  workerModels,
} from "../../../src/reducers/engine/worker-models.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../../src/reducers/settings.ts";

const T0 = Date.parse("2026-01-15T09:00:00.000Z");
const model = (name: string) => ({ provider: "p", id: name });
const settingsWith = (changes: Partial<Settings>): Settings => ({ ...DEFAULT_SETTINGS, ...changes });

/** `name (origin)` of each, in order */
function namesOf(settings: Partial<Settings>, session = "s/own"): string[] {
  return workerModels("observer", settingsWith(settings), session).map(
    ({ name, origin }) => `${name} ${origin}`,
  );
}

describe("the models of a worker", () => {
  const own = { observer: { model: model("o") } };
  it.each<[string, Partial<Settings>, string[]]>([
    ["nothing set", {}, ["s/own session"]],
    ["nothing but a fallback", { fallbackModels: [model("f")] }, ["s/own session", "p/f fallback"]],
    ["one for all", { model: model("m") }, ["p/m model"]],
    ["one of its own", { model: model("m"), workers: own }, ["p/o own"]],
    ["one of another worker", { workers: { dropper: { model: model("d") } } }, ["s/own session"]],
    [
      "fallbacks in order, each once",
      { model: model("m"), fallbackModels: [model("f"), model("m"), model("g"), model("f")] },
      ["p/m model", "p/f fallback", "p/g fallback"],
    ],
    [
      "the session's own last",
      { model: model("m"), fallbackModels: [model("f")], sessionFallback: true },
      ["p/m model", "p/f fallback", "s/own sessionFallback"],
    ],
    ["the session's own as the first and only", { sessionFallback: true }, ["s/own session"]],
    [
      "the session's own named",
      { model: model("m"), fallbackModels: [{ provider: "s", id: "own" }] },
      ["p/m model", "s/own fallback"],
    ],
  ])("%s", (_what, settings, names) => {
    expect(namesOf(settings)).toEqual(names);
  });

  it("are none of the session's where it has none", () => {
    expect(namesOf({ model: model("m"), sessionFallback: true }, "")).toEqual(["p/m model"]);
  });
});

const delayOf = (failures: number) => failures * 1000;
const failure = (failures: number, after = 0) => ({
  failures,
  at: new Date(T0 + after).toISOString(),
  kind: "overloaded",
  message: "",
});

describe("the models to ask", () => {
  const models = workerModels(
    "observer",
    settingsWith({ model: model("a"), fallbackModels: [model("b"), model("c")] }),
    "s/own",
  );
  it.each<[string, ModelFailures, number, string[]]>([
    ["all, with no failure", {}, 0, ["p/a", "p/b", "p/c"]],
    ["those that do not rest", { "p/a": failure(2) }, 1999, ["p/b", "p/c"]],
    ["one again that has rested", { "p/a": failure(2) }, 2000, ["p/a", "p/b", "p/c"]],
    ["not the failures of others", { "x/y": failure(9) }, 0, ["p/a", "p/b", "p/c"]],
    [
      "the one that comes back first while all rest",
      { "p/a": failure(9), "p/b": failure(3), "p/c": failure(3, 500) },
      600,
      ["p/b"],
    ],
  ])("are %s", (_what, failed, at, names) => {
    expect(modelsToAsk(standing(models, failed, T0 + at, delayOf)).map(({ name }) => name)).toEqual(names);
  });

  const setting = fc.record({
    provider: fc.constantFrom("p", "s"),
    id: fc.constantFrom("a", "b", "c", "own"),
  });
  const settings = fc.record({
    model: fc.option(setting, { nil: undefined }),
    fallbackModels: fc.array(setting, { maxLength: 4 }),
    sessionFallback: fc.boolean(),
    workers: fc.option(
      fc.record({
        observer: fc.option(
          setting.map((one) => ({ model: one })),
          { nil: undefined },
        ),
      }),
      { nil: undefined },
    ),
  });
  const failed = fc.dictionary(
    fc.constantFrom("p/a", "p/b", "s/own", "s/a"),
    fc.tuple(fc.nat(5), fc.nat(5000)).map(([row, after]) => failure(row + 1, after)),
  );

  it("are never the session's own where a model is set, it is not named, and nobody allowed it; and are never none", () => {
    fc.assert(
      fc.property(settings, failed, fc.nat(9000), fc.constantFrom(...WORKERS), (some, rests, at, worker) => {
        const whole = settingsWith(some as Partial<Settings>);
        const asked = modelsToAsk(standing(workerModels(worker, whole, "s/own"), rests, T0 + at, delayOf));
        expect(asked.length).toBeGreaterThan(0);
        expect(new Set(asked.map(({ name }) => name)).size).toBe(asked.length);
        const set = whole.workers?.[worker]?.model ?? whole.model;
        const named = [set, ...whole.fallbackModels].some((one) => one?.provider === "s" && one.id === "own");
        if (set && !whole.sessionFallback && !named) {
          for (const { name, setting: wanted } of asked) {
            expect(name).not.toBe("s/own");
            expect(wanted).toBeDefined();
          }
        }
      }),
    );
  });
});

describe("what is known of models after a run", () => {
  const run = (changes: Partial<EngineEventOf<"run.finished">>): EngineEventOf<"run.finished"> => ({
    ...{ v: EVENT_VERSION, seq: 1, at: new Date(T0).toISOString(), type: "run.finished" },
    ...{ runId: "r", worker: "observer", durationMs: 1, outcome: "recorded", coversUpToId: null },
    ...{ records: 1, rejected: 0, requests: 1, sourceTokens: 1 },
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 },
    ...changes,
  });
  const failedWith = (kind: string, name = "p/a") =>
    run({ outcome: "failed", model: name, failure: { kind, message: "why" } });

  it("counts failures in a row, and forgets them when the model answers", () => {
    let known = failuresAfter({}, failedWith("overloaded"));
    known = failuresAfter(known, failedWith("quota"));
    expect(known).toMatchObject({ "p/a": { failures: 2, kind: "quota" } });
    const passedOver = [{ model: "p/a", failure: { kind: "quota", message: "" } }];
    known = failuresAfter(known, run({ model: "p/b", passedOver }));
    expect(known).toMatchObject({ "p/a": { failures: 3 } });
    expect(failuresAfter(known, run({ model: "p/a" }))).toEqual({});
  });

  it.each(["prompt-too-long", "window-too-small", "cut-off", "bad-response", "other"])(
    "%s is a failure of what was asked, and shows that the model is there",
    (kind) => {
      expect(isOfTheModel(kind)).toBe(false);
      expect(failuresAfter({ "p/a": failure(1) }, failedWith(kind))).toEqual({});
    },
  );

  it("is what it was after a run that was aborted, or of which nothing was said", () => {
    const known = { "p/a": failure(1) };
    expect(failuresAfter(known, run({ outcome: "aborted" }))).toBe(known);
    expect(failuresAfter(known, run({ outcome: "stale", model: "p/a" }))).toBe(known);
    expect(failuresAfter(known, run({}))).toBe(known);
  });
});
