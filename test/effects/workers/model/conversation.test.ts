import {
  type AssistantMessage,
  type AssistantMessageEventStream,
  createAssistantMessageEventStream,
} from "@earendil-works/pi-ai";
import { firstValueFrom } from "rxjs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type Answer,
  FAULTS,
  freshToolResults,
  type Reply,
  type ScriptedModel,
  startScriptedModel,
  systemText,
  userText,
} from "../../../../demo/model/scripted-model.ts";
import { runWorker, type SpentRun } from "../../../../src/effects/workers/model/conversation.ts";
import {
  type ModelAccess,
  outputBudget,
  type WorkerTool,
} from "../../../../src/effects/workers/model/request.ts";
import { accessTo, limitsOf, modelAt } from "../model-access.ts";

const SYSTEM = "You are the worker under test.";
const USER = "Do the work.";

let model: ScriptedModel;
let calls: unknown[];
let tool: WorkerTool;

beforeEach(async () => {
  model = await startScriptedModel();
  calls = [];
  tool = {
    name: "record_observations",
    description: "Records",
    parameters: { type: "object", properties: {} },
    accept(args) {
      calls.push(args);
      return { text: `accepted ${calls.length}`, isError: false };
    },
  };
});

afterEach(async () => {
  await model.close();
  expect(model.scriptErrors).toEqual([]);
});

const DONE: Answer = { text: "done" };
const CALL: Answer = { toolCalls: [{ name: "record_observations", arguments: { n: 1 } }] };

/** The model's replies in turn; the last one for ever. */
function replies(...list: Reply[]): void {
  model.use({ observer: (_request, nth) => list[Math.min(nth, list.length) - 1] ?? DONE });
}

function run(changes: Parameters<typeof limitsOf>[0] = {}): Promise<SpentRun> {
  return firstValueFrom(run$(changes));
}

/** The same, still to be subscribed to. */
function run$(changes: Parameters<typeof limitsOf>[0] = {}) {
  return runWorker({ systemPrompt: SYSTEM, userPrompt: USER, tool }, accessTo(model.url), limitsOf(changes));
}

/** For a run of which nothing may be heard any more. */
const NOBODY = {
  next: () => expect.unreachable("a run that was unsubscribed from told how it ended"),
  error: () => expect.unreachable("a run errored"),
};

async function until(holds: () => boolean): Promise<void> {
  await vi.waitFor(() => expect(holds()).toBe(true), { timeout: 5000, interval: 5 });
}

describe("what is on the wire", () => {
  it("has the system prompt, the user prompt and the tool in every request, and the output budget", async () => {
    replies(CALL, DONE);
    await run({ maxTokens: 777 });
    expect(model.requests).toHaveLength(2);
    for (const { body } of model.requests) {
      expect(systemText(body)).toBe(SYSTEM);
      expect(userText(body)).toBe(USER);
      expect(body.tools?.map((offered) => offered.function?.name)).toEqual(["record_observations"]);
      expect(body.max_completion_tokens ?? body.max_tokens).toBe(777);
    }
  });

  it("asks for no reasoning", async () => {
    replies(DONE);
    await run();
    expect(model.requests[0]?.body).not.toHaveProperty("reasoning_effort");
  });

  it("answers each tool call in its turn", async () => {
    replies({ toolCalls: [CALL, CALL].flatMap(({ toolCalls = [] }) => toolCalls) }, DONE);
    const report = await run();
    expect(report).toMatchObject({ failure: null, turns: 2, requests: 2, capped: false });
    expect(model.requests[1] && freshToolResults(model.requests[1].body)).toEqual([
      "accepted 1",
      "accepted 2",
    ]);
  });

  it("tells of a tool that there is not, and runs nothing", async () => {
    replies({ toolCalls: [{ name: "rm_rf", arguments: {} }] }, DONE);
    await run();
    expect(calls).toEqual([]);
    expect(model.requests[1] && freshToolResults(model.requests[1].body)).toEqual([
      "There is no tool rm_rf; the only one is record_observations.",
    ]);
  });

  it("hands arguments that are no JSON object to the tool as the text that was sent", async () => {
    const list = (text: string): Answer => ({
      toolCalls: [{ name: "record_observations", arguments: text }],
    });
    replies(list('[{"content":"x"}]'), list("{broken"), DONE);
    await run();
    expect(calls).toEqual(['[{"content":"x"}]', "{broken"]);
  });
});

describe("the end of a run", () => {
  it("is the reply without a tool call", async () => {
    replies(DONE);
    expect(await run()).toMatchObject({ failure: null, turns: 1, requests: 1, capped: false });
  });

  it("ends when its conversation leaves no room for another reply in the window, with what it has", async () => {
    const long: Answer = {
      toolCalls: [{ name: "record_observations", arguments: { text: "one more of the words ".repeat(150) } }],
    };
    replies(long);
    const report = await firstValueFrom(
      runWorker(
        { systemPrompt: SYSTEM, userPrompt: USER, tool },
        accessTo(model.url, { contextWindow: 4000 + 4096 }),
        limitsOf({ maxTokens: 1000 }),
      ),
    );
    expect(report).toMatchObject({ failure: null, capped: true });
    expect(calls).toHaveLength(report.turns);
    // Each call is of some 750 tokens.
    expect(report.turns).toBeGreaterThanOrEqual(3);
    expect(report.turns).toBeLessThanOrEqual(5);
  });

  it("is the turn cap for a model that calls its tool for ever, which is no failure", async () => {
    replies(CALL);
    const report = await run({ maxTurns: 4 });
    expect(report).toMatchObject({ failure: null, turns: 4, requests: 4, capped: true });
    expect(report.failure).toBeNull();
    expect(model.requests).toHaveLength(4);
    expect(calls).toHaveLength(4);
  });

  it("sums the usage of all replies", async () => {
    const usage = { prompt: 100, completion: 10 };
    replies({ ...CALL, usage }, { ...CALL, usage }, { ...DONE, usage });
    const { usage: sum } = await run();
    expect(sum).toMatchObject({ input: 300, output: 30, cacheRead: 0, cacheWrite: 0 });
    expect(sum.cost).toBeCloseTo((300 * 1 + 30 * 10) / 1e6);
  });

  it("is a call that is the last, without another request", async () => {
    tool.accept = () => ({ text: "accepted", isError: false, isLast: true });
    replies(CALL);
    expect(await run()).toMatchObject({ failure: null, turns: 1, requests: 1, capped: false });
  });

  it("is not a last call beside which another was refused", async () => {
    const both: Answer = { toolCalls: [CALL, CALL].flatMap(({ toolCalls = [] }) => toolCalls) };
    const answers = [
      { text: "accepted", isError: false, isLast: true },
      { text: "refused", isError: true },
    ];
    tool.accept = () => answers.pop() ?? { text: "accepted", isError: false };
    replies(both, DONE);
    expect(await run()).toMatchObject({ failure: null, turns: 2, requests: 2 });
  });

  it("is a failure when the output was cut off, and the cut call is not carried out", async () => {
    replies({ kind: "cutOff", toolCalls: CALL.toolCalls ?? [] });
    const report = await run();
    expect(report).toMatchObject({ failure: { kind: "cut-off" }, turns: 1, requests: 1 });
    expect(report.usage.input).toBeGreaterThan(0);
    expect(calls).toEqual([]);
  });

  it("is a failure when the first reply says nothing at all", async () => {
    replies({ text: "" });
    expect(await run()).toMatchObject({
      failure: { kind: "bad-response", message: "the model's reply was empty" },
    });
  });

  it("is a silent reply after a tool call", async () => {
    replies(CALL, { text: "" });
    expect(await run()).toMatchObject({ failure: null, turns: 2 });
  });

  it("is a failure when the tool breaks", async () => {
    replies(CALL);
    tool.accept = () => {
      throw new Error("a fault of ours");
    };
    expect(await run()).toMatchObject({
      failure: { kind: "other", message: "a fault of ours" },
    });
  });
});

describe("faults of the provider", () => {
  it.each<[name: string, kind: string, fault: () => Reply]>([
    ["429", "rate-limit", () => FAULTS.rateLimited()],
    ["429 that wants an hour", "rate-limit", () => FAULTS.rateLimited(3600)],
    ["503", "overloaded", () => FAULTS.unavailable()],
    ["a 502 page of HTML", "overloaded", () => FAULTS.htmlPage(502)],
    ["a dropped connection", "connection", () => ({ kind: "drop" })],
    ["a connection dropped in mid-stream", "connection", () => ({ kind: "drop", afterText: "Let me" })],
  ])("%s is retried twice, and then is %s", async (_name, kind, fault) => {
    replies(fault());
    const report = await run();
    expect(report).toMatchObject({ failure: { kind }, turns: 0, requests: 3 });
    expect(model.requests).toHaveLength(3);

    model.use({ observer: (_request, nth) => (nth <= 5 ? fault() : DONE) });
    expect(await run()).toMatchObject({ failure: null, turns: 1, requests: 3, capped: false });
  });

  it.each<[name: string, kind: string, fault: Reply]>([
    ["too long a prompt", "prompt-too-long", FAULTS.promptTooLong()],
    ["401", "auth", FAULTS.unauthorised()],
    ["403", "auth", { kind: "status", status: 403, body: "Forbidden" }],
    ["404", "no-model", { kind: "status", status: 404, body: { error: { message: "model 'x' not found" } } }],
    ["400", "other", { kind: "status", status: 400, body: { error: { message: "connection: bad value" } } }],
    ["a stream that is no JSON", "bad-response", { kind: "garbage" }],
  ])("%s is not retried, and is %s", async (_name, kind, fault) => {
    replies(fault);
    const report = await run();
    expect(report).toMatchObject({ failure: { kind }, requests: 1, turns: 0 });
    expect(report.failure?.message).not.toMatch(/[{}<>\n]/);
  });

  it("makes an HTML page with status 200 a failure, not an empty result", async () => {
    replies({ kind: "status", status: 200, body: "<html><body>Sign in</body></html>" });
    expect(await run()).toMatchObject({ failure: expect.anything(), turns: 0 });
  });

  it("counts tries that were not answered as requests, not as turns", async () => {
    replies(CALL, FAULTS.unavailable(), CALL, FAULTS.unavailable(), DONE);
    expect(await run({ maxTurns: 3 })).toMatchObject({
      failure: null,
      turns: 3,
      requests: 5,
      capped: false,
    });
  });

  it("makes a run that breaks half-way a failure as a whole", async () => {
    replies(CALL, FAULTS.promptTooLong());
    const report = await run();
    expect(report).toMatchObject({
      failure: { kind: "prompt-too-long" },
      turns: 1,
      requests: 2,
    });
    expect(report.usage.input).toBeGreaterThan(0);
  });
});

describe("a run that is stopped", () => {
  it("ends at the deadline when nothing answers, and lets go of the request", async () => {
    replies({ kind: "hang" });
    const before = performance.now();
    const report = await run({ timeoutMs: 150 });
    expect(performance.now() - before).toBeLessThan(2000);
    expect(report).toMatchObject({
      failure: { kind: "timeout", message: "no result within 150 ms" },
      turns: 0,
      requests: 1,
    });
    await until(() => model.requests[0]?.aborted === true);
  });

  it("ends at the deadline in mid-stream too", async () => {
    replies({ kind: "hang", afterText: "Let me think" });
    expect(await run({ timeoutMs: 150 })).toMatchObject({ failure: { kind: "timeout" } });
    await until(() => model.requests[0]?.aborted === true);
  });

  it("aborts its request when it is unsubscribed from in mid-stream, and no tool runs afterwards", async () => {
    replies({ kind: "hang", afterText: "Let me think" });
    const running = run$().subscribe(NOBODY);
    await until(() => model.requests.length === 1);
    running.unsubscribe();
    await until(() => model.requests[0]?.aborted === true);
    expect(calls).toEqual([]);
  });

  it("makes no request before it is subscribed to", async () => {
    replies({ kind: "hang", afterText: "Let me think" });
    run$();
    const running = run$().subscribe(NOBODY);
    // Had the one that nobody subscribes to asked, it would have asked first.
    await until(() => model.requests.length > 0);
    expect(model.requests).toHaveLength(1);
    running.unsubscribe();
  });
});

/** Streams that a provider of another extension might make: they need not keep any of the rules. */
describe("a provider that keeps no rules", () => {
  const REPLY: AssistantMessage = {
    role: "assistant",
    content: [{ type: "toolCall", id: "1", name: "record_observations", arguments: {} }],
    api: "x",
    provider: "x",
    model: "x",
    usage: {
      input: 1,
      output: 1,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 2,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: "toolUse",
    timestamp: 0,
  };

  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function accessBy(stream: ModelAccess["stream"]): ModelAccess {
    return { model: modelAt("http://127.0.0.1:1"), stream };
  }

  function runWith(stream: ModelAccess["stream"], changes: Parameters<typeof limitsOf>[0] = {}) {
    return firstValueFrom(runWith$(stream, changes));
  }

  function runWith$(stream: ModelAccess["stream"], changes: Parameters<typeof limitsOf>[0] = {}) {
    return runWorker({ systemPrompt: SYSTEM, userPrompt: USER, tool }, accessBy(stream), limitsOf(changes));
  }

  it("cannot keep a run beyond its deadline, nor add to it later", async () => {
    const streams: AssistantMessageEventStream[] = [];
    const running = runWith(
      () => {
        const stream = createAssistantMessageEventStream();
        streams.push(stream);
        return stream;
      },
      { timeoutMs: 500 },
    );
    await vi.advanceTimersByTimeAsync(500);
    const report = await running;
    expect(report).toMatchObject({ failure: { kind: "timeout" }, requests: 1, turns: 0 });
    streams[0]?.push({ type: "done", reason: "toolUse", message: REPLY });
    await vi.advanceTimersByTimeAsync(100);
    expect(calls).toEqual([]);
    expect(report).toMatchObject({ turns: 0, usage: { input: 0 } });
    expect(streams).toHaveLength(1);
  });

  it("cannot make an unhandled rejection of a late error", async () => {
    // vitest fails the run on any unhandled rejection.
    const late = Promise.withResolvers<never>();
    const stream = {
      result: () => late.promise,
      [Symbol.asyncIterator]: () => ({ next: () => late.promise }),
    } as unknown as AssistantMessageEventStream;
    const running = runWith(() => stream, { timeoutMs: 10 });
    await vi.advanceTimersByTimeAsync(10);
    expect(await running).toMatchObject({ failure: { kind: "timeout" } });
    late.reject(new Error("far too late"));
    await vi.advanceTimersByTimeAsync(100);
  });

  it("may throw at once: what will pass is retried, what will not is not", async () => {
    const passing = runWith(() => {
      throw new TypeError("fetch failed");
    });
    await vi.advanceTimersByTimeAsync(1000);
    expect(await passing).toMatchObject({ failure: { kind: "connection" }, requests: 3 });
    const lasting = runWith(() => {
      throw new Error("No API key for provider: x");
    });
    expect(await lasting).toMatchObject({ failure: { kind: "auth" }, requests: 1 });
  });

  it("may end its stream without a reply", async () => {
    const running = runWith(() => {
      const stream = createAssistantMessageEventStream();
      stream.end();
      return stream;
    });
    await vi.advanceTimersByTimeAsync(1000);
    expect(await running).toMatchObject({ failure: { kind: "connection" }, requests: 3 });
  });

  it.each(["many", "12", Number.NaN, -5, null, undefined])("may count its tokens as %j", async (count) => {
    const usage = { ...REPLY.usage, input: count, output: count, cost: { total: count } };
    const report = await runWith(() => {
      const stream = createAssistantMessageEventStream();
      stream.end({ ...REPLY, usage: usage as unknown as AssistantMessage["usage"] });
      return stream;
    });
    const { input, output, cost } = report.usage;
    expect({ input, output, cost }).toEqual({ input: 0, output: 0, cost: 0 });
    expect(report.failure).toBeNull();
  });

  it("may give its reply only as the stream's result", async () => {
    const report = await runWith(() => {
      const stream = createAssistantMessageEventStream();
      stream.end({ ...REPLY, content: [{ type: "text", text: "done" }], stopReason: "stop" });
      return stream;
    });
    expect(report).toMatchObject({ failure: null, turns: 1 });
  });

  it.each(["aborted", "deferred", "pending"] as const)(
    "fails when a reply ends as %s by itself",
    async (reason) => {
      const report = await runWith(() => {
        const stream = createAssistantMessageEventStream();
        stream.end({ ...REPLY, stopReason: reason });
        return stream;
      });
      expect(report).toMatchObject({
        failure: { kind: "other", message: `the request ended with ${reason}` },
        requests: 1,
      });
      expect(calls).toEqual([]);
    },
  );

  it("waits between tries, ever longer and never the same", async () => {
    const at: number[] = [];
    const running = runWith(
      () => {
        at.push(Date.now());
        throw new Error("503 busy");
      },
      { retryAfterMs: 1000 },
    );
    await vi.advanceTimersByTimeAsync(20_000);
    await running;
    const [first = 0, second = 0, third = 0] = at;
    expect(second - first).toBeGreaterThanOrEqual(1000);
    expect(second - first).toBeLessThanOrEqual(2000);
    expect(third - second).toBeGreaterThanOrEqual(3000);
    expect(third - second).toBeLessThanOrEqual(6000);
  });

  it("waits for a time that chance lengthens, so that many sessions do not come back at once", async () => {
    for (const [chance, wait] of [
      [0, 1000],
      [0.5, 1500],
    ] as const) {
      const random = vi.spyOn(Math, "random").mockReturnValue(chance);
      const at: number[] = [];
      const running = runWith(
        () => {
          at.push(Date.now());
          throw new Error("503 busy");
        },
        { retryAfterMs: 1000 },
      );
      await vi.advanceTimersByTimeAsync(20_000);
      await running;
      random.mockRestore();
      const [first = 0, second = 0] = at;
      expect(second - first).toBe(wait);
    }
  });

  it("leaves no timer behind, and aborts what it asked, however the run ends", async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const busy: ModelAccess["stream"] = (_context, { signal }) => {
      signals.push(signal);
      throw new Error("503 busy");
    };
    const done = runWith((_context, { signal }) => {
      signals.push(signal);
      const stream = createAssistantMessageEventStream();
      stream.end({ ...REPLY, content: [{ type: "text", text: "done" }], stopReason: "stop" });
      return stream;
    });
    expect(await done).toMatchObject({ failure: null });
    expect(vi.getTimerCount()).toBe(0);

    const timedOut = runWith(busy, { timeoutMs: 100, retryAfterMs: 60_000 });
    await vi.advanceTimersByTimeAsync(100);
    expect(await timedOut).toMatchObject({ failure: { kind: "timeout" } });
    expect(vi.getTimerCount()).toBe(0);

    const waiting = runWith$(busy, { retryAfterMs: 60_000 }).subscribe(NOBODY);
    await vi.advanceTimersByTimeAsync(100);
    waiting.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);

    const hanging = runWith$((_context, { signal }) => {
      signals.push(signal);
      return createAssistantMessageEventStream();
    }).subscribe(NOBODY);
    await vi.advanceTimersByTimeAsync(100);
    hanging.unsubscribe();
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true, true, true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("has its time also where the limit is longer than a timer can be", async () => {
    const running = runWith(() => createAssistantMessageEventStream(), { timeoutMs: 2 ** 40 });
    await vi.advanceTimersByTimeAsync(60_000);
    const state = await Promise.race([running, Promise.resolve("still running")]);
    expect(state).toBe("still running");
    await vi.advanceTimersByTimeAsync(2 ** 31);
    expect(await running).toMatchObject({ failure: { kind: "timeout" } });
  });
});

describe("the output budget", () => {
  it.each([
    [16_384, undefined, 8192],
    [4096, undefined, 4096],
    [0, undefined, 8192],
    [4096, 32_000, 32_000],
    [16_384, 100, 100],
  ])("of a model with %s, with the setting at %s, is %s", (maxTokens, setting, expected) => {
    expect(outputBudget(modelAt("", { maxTokens }), setting)).toBe(expected);
  });
});
