import {
  type AssistantMessage,
  type Context,
  createAssistantMessageEventStream,
  type SimpleStreamOptions,
} from "@earendil-works/pi-ai";
import fc from "fast-check";
import { firstValueFrom } from "rxjs";
import { describe, expect, it } from "vitest";
import type { LiveSession } from "../../src/effects/live-session.ts";
import { JOBS } from "../../src/effects/workers/jobs.ts";
import type { ModelAccess } from "../../src/effects/workers/model/request.ts";
import { initialState } from "../../src/reducers/engine/engine-state.ts";
import type { Worker } from "../../src/reducers/engine/lane-names.ts";
import type { EntryLike } from "../../src/reducers/entries/entry.ts";
import { estimateTextTokens } from "../../src/reducers/entries/tokens.ts";
import { sessionOfEntries } from "../../src/reducers/memory.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../src/reducers/settings.ts";
import { modelAt } from "../effects/workers/model-access.ts";
import { observationOf, observed, reflected, reflectionOf, user } from "../support/sessions/builders.ts";

const TEXTS = [
  "User wants tabs in src/main.ts, never spaces; the formatter is configured so. ",
  "記憶は要約の後も残る。設定は変わらない。",
  '{"path":"src/a.ts","edits":[{"old":"x","new":"y"}]} ',
  "Ошибка в модуле планировщика исправлена. ",
];

/** A session with so much memory, and one long unobserved message at its end. */
interface Size {
  observations: number;
  reflections: number;
  /** Characters of each record, at most */
  length: number;
  /** Characters of each unobserved message */
  message: number;
}

const size = fc.record({
  observations: fc.integer({ min: 1, max: 400 }),
  reflections: fc.nat(200),
  length: fc.integer({ min: 10, max: 2000 }),
  message: fc.nat(60_000),
});

/** From the smallest that has room for a worker to a million, small ones as often as large ones. */
const window = fc
  .double({ min: Math.log(6350), max: Math.log(1_000_000), noNaN: true })
  .map((log) => Math.round(Math.exp(log)));

const settings = fc.record({
  observerChunkMaxTokens: fc.option(fc.integer({ min: 1, max: 2_000_000 }), { nil: undefined }),
  agentMaxTokens: fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined }),
});

const RUNS = { numRuns: 30 };

describe("a request, whatever the memory, the window and the settings", () => {
  it.each(["observer", "reflector", "dropper"] as const)("of the %s fits the window", async (worker) => {
    await fc.assert(
      fc.asyncProperty(
        size,
        window,
        fc.nat(200_000),
        settings,
        async (memory, contextWindow, maxTokens, given) => {
          const requests = await requestsOf(worker, memory, { contextWindow, maxTokens }, given);
          expect(requests.length).toBeGreaterThan(0);
          for (const { context, options } of requests) {
            // Pi's providers keep 4096 tokens free, and take them from the output.
            const output = (options.maxTokens ?? 0) + (options.thinkingBudgets?.low ?? 0);
            expect(tokensOf(context) + output).toBeLessThanOrEqual(contextWindow - 4096);
            expect(options.maxTokens).toBeGreaterThanOrEqual(512);
          }
        },
      ),
      RUNS,
    );
  });

  it("shows the observer something to read, and the newest of its memory with what is left out", async () => {
    await fc.assert(
      fc.asyncProperty(size, window, settings, async (memory, contextWindow, given) => {
        const [request] = await requestsOf("observer", memory, { contextWindow }, given);
        const text = promptOf(request);
        expect(text).toContain("[Source entry id: ");
        const [prior = ""] = text.split("## The session");
        const shown = [...prior.matchAll(/^\[([0-9a-f]{12})\] \d{4}-/gm)].map(([, id]) => id);
        const ids = observationsOf(memory).map(({ id }) => id);
        expect(shown).toEqual(ids.slice(ids.length - shown.length));
        const left = ids.length - shown.length;
        if (left > 0)
          expect(prior).toContain(`(${left} older line${left === 1 ? " is" : "s are"} left out here)`);
      }),
      RUNS,
    );
  });

  it.each(["observer", "reflector"] as const)(
    "of the %s repeats the one before it from its start until what is new",
    async (worker) => {
      const grown = fc.record({
        observations: fc.integer({ min: 1, max: 100 }),
        more: fc.integer({ min: 1, max: 100 }),
        reflections: fc.nat(20),
      });
      await fc.assert(
        fc.asyncProperty(grown, async ({ observations, more, reflections }) => {
          const memory = { length: 80, message: 400, reflections };
          const model = { contextWindow: 200_000 };
          const [before] = await requestsOf(worker, { ...memory, observations }, model, {});
          const later = { ...memory, observations: observations + more, reflections: reflections + 1 };
          const [after] = await requestsOf(worker, later, model, {});
          expect(after?.context.systemPrompt).toBe(before?.context.systemPrompt);
          expect(after?.context.tools).toEqual(before?.context.tools);
          const text = promptOf(before);
          const end = text.indexOf("\n\n##", text.indexOf("[") + 1);
          expect(end).toBeGreaterThan(0);
          expect(promptOf(after).slice(0, end)).toBe(text.slice(0, end));
        }),
        RUNS,
      );
    },
  );

  it.each(["reflector", "dropper"] as const)(
    "of the %s shows every active observation, once",
    async (worker) => {
      await fc.assert(
        fc.asyncProperty(size, window, async (memory, contextWindow) => {
          const requests = await requestsOf(worker, memory, { contextWindow }, { agentMaxTurns: 10_000 });
          const shown = requests.flatMap((request) =>
            [...promptOf(request).matchAll(/^\[([0-9a-f]{12})\] \d{4}-/gm)].map(([, id]) => id),
          );
          expect(shown).toEqual(observationsOf(memory).map(({ id }) => id));
        }),
        RUNS,
      );
    },
  );

  it("of the observer is halved by each failure before it, prior memory and all", async () => {
    const worker = "observer";
    const memory = { observations: 400, reflections: 0, length: 200, message: 40_000 };
    const model = { contextWindow: 20_000 };
    const longest = async (failures: number) => {
      const requests = await requestsOf(worker, memory, model, { agentMaxTurns: 10_000 }, failures);
      return Math.max(...requests.map((request) => estimateTextTokens(promptOf(request))));
    };
    const [whole, half] = [await longest(0), await longest(1)];
    expect(half).toBeLessThan(whole * 0.75);
    // There is an end to it: whatever fails for another reason is not read in crumbs.
    expect(await longest(30)).toBeGreaterThan(500);
  });

  it("shows the observer no more of the session than the settings allow, however little that is", async () => {
    const memory = { observations: 1, reflections: 0, length: 20, message: 4000 };
    const given = { observerChunkMaxTokens: 100 };
    const [request] = await requestsOf("observer", memory, { contextWindow: 50_000 }, given);
    const [, chunk = ""] = promptOf(request).split("## The session");
    expect(estimateTextTokens(chunk)).toBeLessThan(250);
  });
});

interface Request {
  context: Context;
  options: SimpleStreamOptions;
}

/** What a worker asks of a model that has nothing to say. */
async function requestsOf(
  worker: Worker,
  memory: Size,
  model: { contextWindow: number; maxTokens?: number },
  given: Partial<Settings>,
  failures = 0,
): Promise<Request[]> {
  const requests: Request[] = [];
  const access: ModelAccess = {
    model: modelAt("", { reasoning: true, ...model }),
    stream(context, options) {
      requests.push({ context, options });
      const stream = createAssistantMessageEventStream();
      stream.push({ type: "done", reason: "stop", message: DONE });
      return stream;
    },
  };
  const command = { type: "startRun", runId: "r", worker, failures, emptyUpToId: null } as const;
  const end = await firstValueFrom(JOBS[worker](sessionWith(memory, given), command, access, 5000));
  expect(end.outcome).toBe("empty");
  return requests;
}

const DONE: AssistantMessage = {
  role: "assistant",
  content: [{ type: "text", text: "done" }],
  api: "openai-completions",
  provider: "loopback",
  model: "scripted",
  usage: {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  },
  stopReason: "stop",
  timestamp: 0,
};

function sessionWith(memory: Size, given: Partial<Settings>): LiveSession {
  const entries = entriesOf(memory);
  const { session, lookup } = sessionOfEntries(entries);
  const all = { ...DEFAULT_SETTINGS, observationsPoolTargetTokens: 1, ...given };
  const state = { ...initialState(), session, settings: all };
  return { state: () => state, lookup, now: () => Date.UTC(2026, 0, 16) } as LiveSession;
}

function entriesOf({ message, ...memory }: Size): EntryLike[] {
  const reflections = Array.from({ length: memory.reflections }, (_, n) =>
    reflectionOf(textOf(n + 1000, memory.length)),
  );
  return [
    user("e0", "Begin."),
    observed("e1", observationsOf({ ...memory, message }), "e0"),
    reflected("e2", reflections, "e0"),
    ...[0, 1, 2].map((n) => user(`e${n + 3}`, textOf(n, message))),
  ];
}

function observationsOf({ observations, length }: Size) {
  return Array.from({ length: observations }, (_, n) => observationOf(textOf(n, length)));
}

/** About so many characters of one of the languages, or code. */
function textOf(n: number, length: number): string {
  const text = TEXTS[n % TEXTS.length] ?? "";
  return `${n} ${text.repeat(Math.ceil(length / text.length)).slice(0, length)}`.trim();
}

function promptOf(request: Request | undefined): string {
  const content = request?.context.messages[0]?.content;
  return typeof content === "string" ? content : "";
}

function tokensOf({ systemPrompt, messages, tools }: Context): number {
  const parts = [
    systemPrompt ?? "",
    JSON.stringify(tools?.[0]),
    ...messages.map(({ content }) => String(content)),
  ];
  return parts.reduce((sum, part) => sum + estimateTextTokens(part), 0);
}
