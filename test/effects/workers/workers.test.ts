import { firstValueFrom } from "rxjs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type ChatRequest,
  FAULTS,
  freshToolResults,
  type Reply,
  type Role,
  type ScriptedModel,
  startScriptedModel,
  systemText,
  userText,
} from "../../../demo/model/scripted-model.ts";
import { type DropperInput, runDropper } from "../../../src/effects/workers/dropper.ts";
import { type ObserverInput, runObserver } from "../../../src/effects/workers/observer.ts";
import type { PoolInput } from "../../../src/effects/workers/pool-slices.ts";
import { DROPPER_SYSTEM_PROMPT } from "../../../src/effects/workers/prompts/dropper-prompt.ts";
import { OBSERVER_SYSTEM_PROMPT } from "../../../src/effects/workers/prompts/observer-prompt.ts";
import { REFLECTOR_SYSTEM_PROMPT } from "../../../src/effects/workers/prompts/reflector-prompt.ts";
import { type ReflectorInput, runReflector } from "../../../src/effects/workers/reflector.ts";
import { estimateTextTokens } from "../../../src/reducers/entries/tokens.ts";
import { memoryId } from "../../../src/reducers/ledger/memory-id.ts";
import { observationOf, reflectionOf } from "../../support/sessions/builders.ts";
import { accessTo, limitsOf } from "./model-access.ts";

let model: ScriptedModel;
beforeEach(async () => {
  model = await startScriptedModel();
});
afterEach(async () => {
  await model.close();
  expect(model.scriptErrors).toEqual([]);
});

const DONE: Reply = { text: "done" };

function calling(name: string, list: string, records: readonly unknown[]): Reply {
  return { toolCalls: [{ name, arguments: { [list]: records } }] };
}
const recording = (...records: unknown[]) => calling("record_observations", "observations", records);
const reflecting = (...records: unknown[]) => calling("record_reflections", "reflections", records);
const dropping = (...ids: string[]) => calling("drop_observations", "observationIds", ids);

function script(role: Role, ...replies: Reply[]): void {
  model.use({ [role]: (_request: ChatRequest, nth: number) => replies[nth - 1] ?? DONE });
}

const GOOD = { content: "User likes tabs.", relevance: "high", sourceEntryIds: ["e1"] };
const BAD = { content: "Made up.", relevance: "high", sourceEntryIds: ["e9"] };

function chunk(changes: Partial<ObserverInput> = {}): ObserverInput {
  return {
    chunk: "[Source entry id: e1]\n[User @ 2026-01-15 14:30]\nTabs, please.",
    sources: new Map([["e1", 0]]),
    statusOf: () => "unknown",
    priorObservations: [],
    priorReflections: [],
    priorShare: 1,
    largestChunk: 4000,
    ...changes,
  };
}

describe("the observer", () => {
  const observe = (input = chunk(), changes = {}) =>
    firstValueFrom(runObserver(input, accessTo(model.url), limitsOf(changes)));

  it("records what it is told, and has its system prompt on the wire", async () => {
    script("observer", recording(GOOD), DONE);
    const result = await observe();
    expect(result).toMatchObject({ outcome: "recorded", rejected: 0, turns: 2, requests: 2 });
    expect(result.records).toMatchObject([{ id: memoryId("User likes tabs."), content: "User likes tabs." }]);
    for (const { body } of model.requests) expect(systemText(body)).toBe(OBSERVER_SYSTEM_PROMPT);
  });

  it("is one request when the model says that it is done, and more only when it has not or was refused", async () => {
    const done = (isDone: unknown, ...observations: unknown[]): Reply => ({
      toolCalls: [{ name: "record_observations", arguments: { observations, done: isDone } }],
    });
    script("observer", done(true, GOOD));
    expect(await observe()).toMatchObject({ outcome: "recorded", turns: 1, requests: 1 });
    model.use({ observer: () => done("true", GOOD) });
    expect(await observe()).toMatchObject({ outcome: "recorded", requests: 1 });
    model.use({ observer: () => done(true) });
    expect(await observe()).toMatchObject({ outcome: "empty", requests: 1 });
    const inTurn = (...replies: Reply[]) => model.use({ observer: () => replies.shift() ?? DONE });
    inTurn(done(false, GOOD), done(true, { ...GOOD, content: "User likes tea." }));
    expect(await observe()).toMatchObject({ records: [{}, {}], requests: 2 });
    inTurn(done(true, BAD, GOOD), done(true, { ...BAD, sourceEntryIds: ["e1"] }));
    expect(await observe()).toMatchObject({ records: [{}, {}], rejected: 1, requests: 2 });
  });

  it("finds a range empty when the model records nothing, or only what is known", async () => {
    script("observer", DONE);
    expect(await observe()).toMatchObject({ outcome: "empty", records: [], rejected: 0 });
    model.use({ observer: (request) => (freshToolResults(request).length > 0 ? DONE : recording(GOOD)) });
    expect(await observe(chunk({ statusOf: () => "active" }))).toMatchObject({
      outcome: "empty",
      rejected: 0,
    });
  });

  it("lets the model mend a refused record in the same run", async () => {
    script("observer", recording(BAD), recording({ ...BAD, sourceEntryIds: ["e1"] }), DONE);
    expect(await observe()).toMatchObject({
      outcome: "recorded",
      rejected: 1,
      records: [{ content: "Made up." }],
    });
    expect(model.requests[1] && freshToolResults(model.requests[1].body)[0]).toContain(
      "observations[0]: refused, unknown ids in sourceEntryIds: e9",
    );
  });

  it("has failed, and not found the range empty, when everything was refused", async () => {
    script("observer", recording(BAD, { ...BAD, content: "b" }, { content: "x" }), DONE);
    const result = await observe();
    expect(result).toMatchObject({ outcome: "failed", records: [], rejected: 3 });
    expect(result.failure).toEqual({
      kind: "bad-response",
      message: "all 3 records were refused (unknown ids in sourceEntryIds)",
    });
  });

  it("keeps what was accepted when the cap ends the run", async () => {
    model.use({ observer: (_request, nth) => recording({ ...GOOD, content: `Fact ${nth}.` }) });
    const result = await observe(chunk(), { maxTurns: 3 });
    expect(result).toMatchObject({ outcome: "recorded", turns: 3, capped: true });
    expect(result.records).toHaveLength(3);
  });

  it("keeps nothing of a run that breaks half-way", async () => {
    script("observer", recording(GOOD), FAULTS.promptTooLong());
    expect(await observe()).toMatchObject({
      outcome: "failed",
      records: [],
      failure: { kind: "prompt-too-long" },
      requests: 2,
    });
  });

  it("tells nothing of a run that is unsubscribed from", async () => {
    script("observer", recording(GOOD), { kind: "hang" });
    const told = vi.fn();
    const running = runObserver(chunk(), accessTo(model.url), limitsOf()).subscribe(told);
    await vi.waitFor(() => expect(model.requests).toHaveLength(2));
    running.unsubscribe();
    await vi.waitFor(() => expect(model.requests[1]?.aborted).toBe(true));
    expect(told).not.toHaveBeenCalled();
  });

  it("shows prior memory, the newest of it when it is much, and the chunk in whole", async () => {
    script("observer", DONE);
    const priorObservations = Array.from({ length: 2000 }, (_, n) =>
      observationOf(`Something happened, number ${n}.`),
    );
    const priorReflections = Array.from({ length: 2000 }, (_, n) =>
      reflectionOf(`Something holds, number ${n}.`),
    );
    const input = chunk({ priorObservations, priorReflections });
    await firstValueFrom(runObserver(input, accessTo(model.url, { contextWindow: 16_000 }), limitsOf()));
    const prompt = userText(model.requests[0]?.body ?? { model: "", messages: [] });
    expect(prompt).toContain(input.chunk);
    expect(prompt).toContain("number 1999.");
    expect(prompt).not.toContain("number 0.");
    expect(prompt.match(/\(\d+ older lines are left out here\)/g)).toHaveLength(2);
    expect(estimateTextTokens(OBSERVER_SYSTEM_PROMPT + prompt) + 1000).toBeLessThan(16_000);
  });
});

const POOL = Array.from({ length: 120 }, (_, n) =>
  observationOf(
    `Observation ${n}: the build of package ${n} took ${n * 17} seconds and passed all of its tests.`,
  ),
);
const IDS = POOL.map(({ id }) => id);

function pool(changes: Partial<PoolInput> = {}): PoolInput {
  return { observations: POOL, coverage: new Map(), reflections: [], ...changes };
}

const ID = /^\[([0-9a-f]{12})\] \d{4}/gm;
const shownIn = (request: ChatRequest) => [...userText(request).matchAll(ID)].flatMap(([, id]) => id ?? []);

/** A window so small that the pool takes several slices. */
const NARROW = { contextWindow: 6000 + 4096 };

describe("the reflector", () => {
  const reflect = (input = pool(), changes = {}, modelChanges = {}, reflected = 0) =>
    firstValueFrom(
      runReflector(
        { ...input, reflected, statusOf: () => "unknown" },
        accessTo(model.url, modelChanges),
        limitsOf(changes),
      ),
    );

  it("records reflections on the pool, with its system prompt and the coverage in sight", async () => {
    script(
      "reflector",
      reflecting({ content: "Builds pass.", supportingObservationIds: IDS.slice(0, 2) }),
      DONE,
    );
    const coverage = new Map([[IDS[0] ?? "", "strong"] as const]);
    const result = await reflect(pool({ coverage, reflections: [reflectionOf("User is patient.")] }));
    expect(result).toMatchObject({ outcome: "recorded", rejected: 0, requests: 2 });
    expect(result.records).toMatchObject([
      { content: "Builds pass.", supportingObservationIds: IDS.slice(0, 2) },
    ]);
    const request = model.requests[0]?.body ?? { model: "", messages: [] };
    expect(systemText(request)).toBe(REFLECTOR_SYSTEM_PROMPT);
    expect(userText(request)).toContain("User is patient.");
    expect(userText(request)).toContain(
      `## Coverage of these observations\n\nstrong: ${IDS[0]}\n\n## Existing`,
    );
  });

  it("is empty without a request when there is nothing to read", async () => {
    expect(await reflect(pool({ observations: [] }))).toMatchObject({
      outcome: "empty",
      requests: 0,
    });
  });

  it("reads a pool larger than the window in slices that fit, each observation once", async () => {
    const reflections = Array.from({ length: 300 }, (_, n) => reflectionOf(`Lasting fact number ${n}.`));
    const result = await reflect(pool({ reflections }), {}, NARROW);
    expect(model.requests.length).toBeGreaterThan(2);
    const first = model.requests.filter(({ body }) => freshToolResults(body).length === 0);
    expect(first.flatMap(({ body }) => shownIn(body))).toEqual(IDS);
    for (const { body } of first) {
      const prompt = estimateTextTokens(systemText(body)) + estimateTextTokens(userText(body));
      expect(prompt + 1000).toBeLessThanOrEqual(NARROW.contextWindow);
      expect(userText(body)).toContain("Lasting fact number 299.");
    }
    expect(result.outcome).toBe("recorded");
  });

  it("lets a reflection rest only on the slice in sight, and shows what an earlier slice recorded", async () => {
    const last = IDS.at(-1) ?? "";
    model.use({
      reflector: (request, nth) => {
        if (freshToolResults(request).length > 0) return DONE;
        const [own = ""] = shownIn(request);
        return reflecting({ content: `Fact ${nth}.`, supportingObservationIds: nth === 1 ? [last] : [own] });
      },
    });
    const result = await reflect(pool(), {}, NARROW);
    const answers = model.requests.flatMap(({ body }) => freshToolResults(body));
    expect(answers[0]).toContain(`refused, unknown ids in supportingObservationIds: ${last}`);
    expect(answers.slice(1).every((answer) => answer.endsWith("recorded"))).toBe(true);
    expect(result).toMatchObject({ outcome: "recorded", rejected: 1 });
    expect(userText(model.requests.at(-1)?.body ?? { model: "", messages: [] })).toContain(
      result.records[0]?.content,
    );
  });

  it("shares its turns among the slices, and lets none use up those of the others", async () => {
    // Without end: every request is answered with a call.
    model.use({
      reflector: (request, nth) =>
        reflecting({ content: `Fact ${nth}.`, supportingObservationIds: shownIn(request).slice(0, 1) }),
    });
    const result = await reflect(pool(), { maxTurns: 12 }, NARROW);
    expect(model.requests).toHaveLength(12);
    expect(result).toMatchObject({ outcome: "recorded", turns: 12, requests: 12, capped: true });
    const seen = new Set(model.requests.flatMap(({ body }) => shownIn(body)));
    expect(seen.size).toBe(POOL.length);
  });

  it("leaves the last slices unread when there are more of them than turns", async () => {
    model.use({ reflector: () => DONE });
    const result = await reflect(pool(), { maxTurns: 2 }, NARROW);
    expect(result).toMatchObject({ outcome: "empty", turns: 2, requests: 2, capped: true });
  });

  it("then reads those first that no run has read", async () => {
    model.use({ reflector: () => DONE });
    await reflect(pool(), { maxTurns: 2 }, NARROW, IDS.length - 3);
    const [first = [], second = []] = model.requests.map(({ body }) => shownIn(body));
    expect(first).toEqual(expect.arrayContaining(IDS.slice(-3)));
    expect(second[0]).toBe(IDS[0]);
  });

  it("has failed as a whole when one slice fails, and sums up what it cost", async () => {
    model.use({
      reflector: (request, nth) => {
        if (nth > 2) return FAULTS.unauthorised();
        return freshToolResults(request).length > 0
          ? DONE
          : reflecting({ content: "Fact.", supportingObservationIds: shownIn(request).slice(0, 1) });
      },
    });
    const result = await reflect(pool(), {}, NARROW);
    expect(result).toMatchObject({
      outcome: "failed",
      records: [],
      failure: { kind: "auth" },
      turns: 2,
      requests: 3,
    });
    expect(result.usage.input).toBeGreaterThan(0);
  });

  it("has one deadline for all slices, and names it in whole", async () => {
    model.use({ reflector: (_request, nth) => (nth === 1 ? { ...DONE, delayMs: 1500 } : { kind: "hang" }) });
    const before = performance.now();
    const result = await reflect(pool(), { timeoutMs: 2000 }, NARROW);
    expect(performance.now() - before).toBeLessThan(3000);
    expect(result).toMatchObject({
      outcome: "failed",
      failure: { kind: "timeout", message: "no result within 2 s" },
      turns: 1,
      requests: 2,
    });
  });

  it("starts no further slice once it is unsubscribed from", async () => {
    const told = vi.fn();
    model.use({
      reflector: () => {
        running.unsubscribe();
        return DONE;
      },
    });
    const input: ReflectorInput = { ...pool(), reflected: 0, statusOf: () => "unknown" };
    const running = runReflector(input, accessTo(model.url, NARROW), limitsOf()).subscribe(told);
    await vi.waitFor(() => expect(model.requests[0]?.aborted || model.requests[0]?.answered).toBe(true));
    expect(running.closed).toBe(true);
    expect(model.requests).toHaveLength(1);
    expect(told).not.toHaveBeenCalled();
  });
});

describe("the dropper", () => {
  const input = (changes: Partial<DropperInput> = {}): DropperInput => ({
    ...pool(),
    maximum: 3,
    poolTokens: 4000.4,
    targetTokens: 3900,
    ...changes,
  });
  const drop = (changes: Partial<DropperInput> = {}, modelChanges = {}) =>
    firstValueFrom(runDropper(input(changes), accessTo(model.url, modelChanges), limitsOf()));

  it("drops ids, with its system prompt, and shows time, relevance, size and coverage", async () => {
    script("dropper", dropping(...IDS.slice(0, 2)), DONE);
    const reflections = [reflectionOf("Builds pass.")];
    const coverage = new Map([[IDS[0] ?? "", "partial"] as const]);
    const result = await drop({ reflections, coverage });
    expect(result).toMatchObject({ outcome: "recorded", records: IDS.slice(0, 2), rejected: 0 });
    const request = model.requests[0]?.body ?? { model: "", messages: [] };
    expect(systemText(request)).toBe(DROPPER_SYSTEM_PROMPT);
    const [first] = POOL;
    expect(userText(request)).toContain(
      `[${first?.id}] 2026-01-15 14:30 (${first?.tokenCount} tokens) [medium] ${first?.content}\n`,
    );
    expect(userText(request)).toContain(`## Coverage of these observations\n\npartial: ${first?.id}\n\n`);
    expect(userText(request)).toContain("The newest observation of all is of 2026-01-15 14:30.");
    expect(userText(request)).toContain("Builds pass.");
    expect(userText(request)).toContain(
      "about 4000 tokens; the target is 3900. Drop at most 3 observations.",
    );
  });

  it("drops the best of what is proposed in all slices, no more than the maximum, and never the first of them", async () => {
    model.use({
      dropper: (request) =>
        freshToolResults(request).length > 0 ? DONE : dropping(...shownIn(request).slice(0, 2)),
    });
    const coverage = new Map(IDS.slice(40).map((id) => [id, "strong"] as const));
    const result = await drop({ coverage }, NARROW);
    expect(result).toMatchObject({ outcome: "recorded", rejected: 0 });
    expect(result.records).toHaveLength(3);
    const firsts = model.requests.filter(({ body }) => freshToolResults(body).length === 0);
    expect(new Set(firsts.map(({ body }) => /Drop at most (\d+)/.exec(userText(body))?.[1]))).toEqual(
      new Set(["3"]),
    );
    const strong = firsts.flatMap(({ body }) => shownIn(body).slice(0, 2)).filter((id) => coverage.has(id));
    expect(strong.length).toBeGreaterThanOrEqual(3);
    expect(result.records).toEqual(strong.slice(0, 3));
  });

  it("may drop none", async () => {
    script("dropper", DONE);
    expect(await drop()).toMatchObject({ outcome: "empty", records: [], rejected: 0 });
  });

  it("cannot drop what another slice shows", async () => {
    const last = IDS.at(-1) ?? "";
    model.use({ dropper: (_request, nth) => (nth === 1 ? dropping(last) : DONE) });
    expect(await drop({}, NARROW)).toMatchObject({ outcome: "failed", records: [], rejected: 1 });
  });
});
