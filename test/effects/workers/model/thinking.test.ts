import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Api, clampThinkingLevel, type Model, normalizeContext } from "@earendil-works/pi-ai";
import { streamSimple } from "@earendil-works/pi-ai/api/anthropic-messages";
import fc from "fast-check";
import { firstValueFrom } from "rxjs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ScriptedModel, startScriptedModel } from "../../../../demo/model/scripted-model.ts";
import type { LiveSession } from "../../../../src/effects/live-session.ts";
import { JOBS } from "../../../../src/effects/workers/jobs.ts";
import type { ModelAccess } from "../../../../src/effects/workers/model/request.ts";
import { thinkingFor } from "../../../../src/effects/workers/model/thinking.ts";
import { initialState } from "../../../../src/reducers/engine/engine-state.ts";
import { sessionOfEntries } from "../../../../src/reducers/memory.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../../../src/reducers/settings.ts";
import { user } from "../../../support/sessions/builders.ts";
import { accessTo } from "../model-access.ts";

let model: ScriptedModel;
beforeEach(async () => {
  model = await startScriptedModel({ observer: () => ({ text: "nothing" }) });
});
afterEach(async () => {
  await model.close();
  expect(model.scriptErrors).toEqual([]);
});

type Level = NonNullable<NonNullable<Settings["model"]>["thinking"]>;
const LEVELS: readonly Level[] = ["off", "minimal", "low", "medium", "high", "xhigh"];

function settingsWith(thinking: Level | undefined, more: Partial<Settings> = {}): Settings {
  const chosen = thinking && { model: { provider: "p", id: "i", thinking } };
  return { ...DEFAULT_SETTINGS, ...chosen, ...more };
}

/** Lets the observer read a message, as a session does. */
function observe(access: ModelAccess, settings: Settings) {
  const { session, lookup } = sessionOfEntries([user("e1", "Tabs, please. ".repeat(400))]);
  const state = { ...initialState(), session, settings };
  const live = { state: () => state, lookup, now: () => 0 } as LiveSession;
  const command = {
    type: "startRun",
    runId: "r",
    worker: "observer",
    failures: 0,
    emptyUpToId: null,
  } as const;
  return firstValueFrom(
    JOBS.observer(live, command, { ...access, thinking: settings.model?.thinking }, 5000),
  );
}

/** What an OpenAI-compatible server is sent. */
async function sent(
  changes: Partial<Model<"openai-completions">>,
  settings: Settings,
): Promise<Record<string, unknown>> {
  expect(await observe(accessTo(model.url, changes), settings)).toMatchObject({ outcome: "empty" });
  return model.requests.at(-1)?.body ?? {};
}

describe("an OpenAI-compatible server", () => {
  it.each([
    [undefined, "low"],
    ["low", "low"],
    ["high", "high"],
    // Pi knows no higher level of this model.
    ["xhigh", "high"],
  ] as const)("is asked for %s reasoning: %s", async (thinking, effort) => {
    const body = await sent({ reasoning: true }, settingsWith(thinking));
    expect(body.reasoning_effort).toBe(effort);
  });

  it("is asked at the nearest level that the model has, by the name that it has for it", async () => {
    const thinkingLevelMap = { low: null, medium: "middling" };
    const body = await sent({ reasoning: true, thinkingLevelMap }, settingsWith("low"));
    expect(body.reasoning_effort).toBe("middling");
  });

  it.each<[name: string, changes: Partial<Model<"openai-completions">>, settings: Settings]>([
    ["the model cannot", { reasoning: false }, settingsWith("high")],
    ["it is off", { reasoning: true }, settingsWith("off")],
    ["the window has no room for it", { reasoning: true, contextWindow: 9000 }, settingsWith("high")],
    ["the output has no room for it", { reasoning: true }, settingsWith("low", { agentMaxTokens: 1500 })],
    ["the model's output has none", { reasoning: true, maxTokens: 2000 }, settingsWith(undefined)],
  ])("is asked for none where %s, and answers all the same", async (_name, changes, settings) => {
    expect(await sent(changes, settings)).not.toHaveProperty("reasoning_effort");
  });

  it("has room to answer in at every level, within the window", async () => {
    for (const thinking of LEVELS) {
      const body = await sent({ reasoning: true, contextWindow: 40_000 }, settingsWith(thinking));
      const output = Number(body.max_completion_tokens ?? body.max_tokens);
      expect(output).toBeGreaterThanOrEqual(body.reasoning_effort === undefined ? 512 : 2048);
      expect(output).toBeLessThanOrEqual(8192);
    }
  });
});

describe("a server that is given a budget", () => {
  const bodies: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += String(piece);
    bodies.push(JSON.parse(text));
    response.writeHead(400, { "content-type": "application/json" });
    response.end('{"type":"error","error":{"type":"invalid_request_error","message":"no"}}');
  });
  beforeEach(async () => {
    bodies.length = 0;
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  });
  afterEach(() => new Promise<void>((closed) => server.close(() => closed())));

  function access(changes: Partial<Model<"anthropic-messages">>): ModelAccess {
    const { port } = server.address() as AddressInfo;
    const claude: Model<"anthropic-messages"> = {
      ...{ id: "claude", name: "Claude", api: "anthropic-messages", provider: "anthropic" },
      ...{ baseUrl: `http://127.0.0.1:${port}`, reasoning: true, input: ["text"] },
      ...{ cost: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }, contextWindow: 200_000 },
      ...{ maxTokens: 64_000, ...changes },
    };
    return {
      model: claude as Model<Api>,
      stream: (context, options) =>
        streamSimple(claude, normalizeContext(context), { apiKey: "none", ...options }),
    };
  }

  it("gets one of 1024 at least, and at least 512 more to answer in, all within the window", async () => {
    const cases = LEVELS.flatMap((thinking) =>
      [10_000, 16_000, 40_000, 200_000].flatMap((contextWindow) =>
        [2048, 4096, 64_000].map((maxTokens) => ({ thinking, contextWindow, maxTokens })),
      ),
    );
    let thought = 0;
    for (const { thinking, ...limits } of cases) {
      expect(await observe(access(limits), settingsWith(thinking))).toMatchObject({ outcome: "failed" });
      const body = bodies.at(-1) as {
        max_tokens: number;
        thinking?: { type: string; budget_tokens?: number };
      };
      expect(body.max_tokens).toBeGreaterThanOrEqual(512);
      expect(body.max_tokens).toBeLessThanOrEqual(limits.maxTokens);
      const budget = body.thinking?.budget_tokens;
      if (thinking === "off") expect(budget).toBeUndefined();
      if (budget === undefined) continue;
      thought++;
      expect(budget).toBeGreaterThanOrEqual(1024);
      expect(body.max_tokens - budget).toBeGreaterThanOrEqual(512);
    }
    expect(bodies).toHaveLength(cases.length);
    expect(thought).toBeGreaterThan(20);
  });

  it("gets none where the model cannot think", async () => {
    await observe(access({ reasoning: false }), settingsWith("high"));
    expect(bodies[0]).not.toHaveProperty("thinking.budget_tokens");
  });
});

describe("the level", () => {
  it("is the one that Pi would take, whatever the model has", () => {
    const mapped = fc.option(fc.constantFrom("x", null), { nil: undefined });
    const map = fc.record({
      ...{
        off: mapped,
        minimal: mapped,
        low: mapped,
        medium: mapped,
        high: mapped,
        xhigh: mapped,
        max: mapped,
      },
    });
    fc.assert(
      fc.property(fc.boolean(), map, fc.constantFrom(...LEVELS), (reasoning, thinkingLevelMap, thinking) => {
        const some = { reasoning, thinkingLevelMap } as Model<Api>;
        const level = thinkingFor(some, thinking)?.level ?? "off";
        expect(level).toBe(clampThinkingLevel(some, thinking));
      }),
    );
  });
});
