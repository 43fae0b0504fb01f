import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import {
  type ChatRequest,
  chunkBlocks,
  defaultDropper,
  defaultObserver,
  defaultReflector,
  freshToolResults,
  type Role,
  userText,
} from "../../../demo/model/scripted-model.ts";
import { shownObservations } from "../../../demo/model/scripted-workers.ts";
import { isObservation } from "../../../src/reducers/ledger/records.ts";
import { NEVER, openHost, type PiHost, requestAt, waitFor } from "../support/harness.ts";
import {
  agent,
  assistantMessage,
  expectNoErrors,
  laneStands,
  observations,
  runNow,
  status,
  warnings,
  writeSession,
} from "./outcome.ts";

const TURNS = 4;
const DEADLINE_MS = 700;

let host: PiHost;
let bays = 0;

beforeAll(async () => {
  host = await openHost({
    memory: {
      ...NEVER,
      observeAfterTokens: 600,
      observationsPoolTargetTokens: 1,
      agentMaxTurns: TURNS,
      workerTimeoutMs: DEADLINE_MS,
      observerChunkMaxTokens: 30_000,
    },
    script: { agent },
  });
}, 60_000);
afterAll(() => host.close());
afterEach(() => {
  host.model.use({ observer: defaultObserver, reflector: defaultReflector, dropper: defaultDropper });
});

/** One turn, after which the observer is due; it starts at the turn's end. */
async function turn(): Promise<void> {
  await host.pi.prompt(`What is in bay ${++bays}?`);
}

/** Requests of a role from now on. */
function from(role: Role): () => number {
  const before = host.model.by(role).length;
  return () => host.model.by(role).length - before;
}

function recordingAlways({ messages }: ChatRequest) {
  const [block] = chunkBlocks({ model: "", messages: messages.slice(0, 2) });
  const content = `Fact ${Math.random()} of bay ${bays}.`;
  const observation = { content, relevance: "low", sourceEntryIds: [block?.entryId] };
  return { toolCalls: [{ name: "record_observations", arguments: { observations: [observation] } }] };
}

describe("a worker that calls its tool for ever", { timeout: 30_000 }, () => {
  it("stops after agentMaxTurns requests, and what was accepted by then is recorded", async () => {
    host.model.use({ observer: recordingAlways });
    const asked = from("observer");
    await turn();
    await waitFor(async () => (await observations(host)).length === 1, "the observer's record");
    // Its run is over then, and asks no more.
    await laneStands(host, "observer", "idle");
    expect(asked()).toBe(TURNS);
    expect((await observations(host)).at(-1)?.observations).toHaveLength(TURNS);
  });

  it("does so as reflector and as dropper too", async () => {
    const [reflections, drops] = [from("reflector"), from("dropper")];
    const ids = (request: ChatRequest) => shownObservations(request).map(({ id }) => id);
    host.model.use({
      reflector: (request, nth) => ({
        toolCalls: [
          {
            name: "record_reflections",
            arguments: {
              reflections: [{ content: `Conclusion ${nth}.`, supportingObservationIds: ids(request) }],
            },
          },
        ],
      }),
      dropper: (request) => ({
        toolCalls: [{ name: "drop_observations", arguments: { observationIds: ids(request) } }],
      }),
    });
    expect(await runNow(host, "reflector")).toMatch(/recorded 4 reflections/);
    await laneStands(host, "reflect/drop", "idle");
    expect([reflections(), drops()]).toEqual([TURNS, TURNS]);
    expect(warnings(host)).toEqual([]);
  });
});

describe("a request that never answers", { timeout: 30_000 }, () => {
  it.each([
    ["at all", { kind: "hang" } as const],
    ["to its end", { kind: "hang", afterText: "Let me" } as const],
  ])("ends at workerTimeoutMs when it does not answer %s, and later runs succeed", async (_name, hang) => {
    const [asked, warned] = [from("observer"), warnings(host).length];
    host.model.use({ observer: () => hang });
    await turn();
    await waitFor(() => asked() === 1, "the request");
    const startedAt = performance.now();
    await laneStands(host, "observer", "backing off");
    expect(performance.now() - startedAt).toBeLessThan(DEADLINE_MS + 2000);
    await waitFor(() => host.model.by("observer").at(-1)?.aborted === true, "the request to be let go");
    expect(warnings(host).slice(warned)).toEqual([
      expect.stringContaining(`no result within ${DEADLINE_MS} ms`),
    ]);
    expect(await status(host)).toMatch(/observer failed at .*\(timeout\)/);

    host.model.use({ observer: defaultObserver });
    expect(await runNow(host, "observer")).toMatch(/recorded/);
    await turn();
    await laneStands(host, "observer", "idle");
    expect((await observations(host)).length).toBeGreaterThan(1);
  });
});

describe("what a model sends", { timeout: 30_000 }, () => {
  it("counts for nothing when the length limit cut it off", async () => {
    const before = await observations(host);
    const reply = recordingAlways({ model: "", messages: [] });
    host.model.use({ observer: () => ({ kind: "cutOff", ...reply }) });
    await turn();
    await laneStands(host, "observer", "backing off");
    expect(await observations(host)).toEqual(before);
    expect(await status(host)).toMatch(/observer failed at .*cut off.*\(cut-off\)/);
    host.model.use({ observer: defaultObserver });
    await runNow(host, "observer");
  });

  it("is refused record by record, in words that the model can mend them by", async () => {
    const answers: string[] = [];
    host.model.use({
      observer: (request) => {
        answers.push(...freshToolResults(request));
        if (answers.length > 0) return { text: "Done." };
        const [id = ""] = chunkBlocks(request).map(({ entryId }) => entryId);
        const observation = (content: string, ids: unknown = [id], relevance: unknown = "high") =>
          JSON.stringify({ content, relevance, sourceEntryIds: ids });
        const list = [
          observation("Bays hold ferries."),
          observation("Bays hold ferries."),
          observation("\n  Bays hold\r\n\tferries.  "),
          observation("Unknown.", ["ffffffff"]),
          observation("No source.", []),
          observation(""),
          observation(" \n "),
          observation("Bell \u0007 and escape \u001b[31m are gone."),
          observation("Half a smile stays out: X.").replace("X", "\\ud83d"),
          observation("No such weight.", [id], "enormous"),
          "null",
          "7",
        ];
        return {
          toolCalls: [{ name: "record_observations", arguments: `{"observations":[${list.join(",")}]}` }],
        };
      },
    });
    await turn();
    await waitFor(() => answers.length > 0, "the tool's answer");
    await laneStands(host, "observer", "idle");

    const recorded = (await observations(host)).at(-1)?.observations ?? [];
    expect(recorded.map(({ content }) => content)).toEqual([
      "Bays hold ferries.",
      expect.stringMatching(/^Bell and escape .*are gone\.$/),
      expect.stringMatching(/^Half a smile stays out: .\.$/u),
    ]);
    for (const observation of recorded) {
      expect(isObservation(observation)).toBe(true);
      expect(observation.content.isWellFormed()).toBe(true);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must be gone
      expect(observation.content).not.toMatch(/[\u0000-\u001f]/);
    }
    const [answer = ""] = answers;
    expect(answer).toMatch(/observations\[1\]: already recorded/);
    expect(answer).toMatch(/observations\[2\]: already recorded/);
    for (const refused of [3, 4, 5, 6, 9, 10, 11])
      expect(answer).toContain(`observations[${refused}]: refused`);
  });

  it("is a failure when every record was refused", async () => {
    const nonsense = { toolCalls: [{ name: "record_observations", arguments: "{nonsense" }] };
    host.model.use({
      observer: (request) => (freshToolResults(request).length > 0 ? { text: "Done." } : nonsense),
    });
    await turn();
    await laneStands(host, "observer", "backing off");
    expect(await status(host)).toMatch(/observer failed at .*refused.*\(bad-response\)/);
    host.model.use({ observer: defaultObserver });
    await runNow(host, "observer");
  });
});

describe("what a session holds", { timeout: 60_000 }, () => {
  it("may be lone surrogates and control characters, none of which goes on the wire", async () => {
    const asked = from("observer");
    await host.pi.prompt("Half a smile \ud83d, a bell \u0007 and a separator \u2028 in bay 0.");
    await waitFor(() => asked() > 0, "the observer");
    const prompt = userText(requestAt(host.model, "observer", -asked()));
    expect(prompt).toContain("Half a smile");
    expect(prompt.isWellFormed()).toBe(true);
    expect(prompt).not.toContain("\u0007");
    await laneStands(host, "observer", "idle");
    for (const line of readFileSync(await host.pi.sessionFile(), "utf8")
      .trimEnd()
      .split("\n"))
      JSON.parse(line);
  });

  it("may be a tool result of ten megabytes", async () => {
    const call = { type: "toolCall", id: "c1", name: "bash", arguments: { command: "yes" } };
    const output = "All ferries are on time. ".repeat(420_000);
    const path = writeSession(host, "ten-megabytes", [
      { role: "user", content: "Print everything." },
      assistantMessage([call], "toolUse"),
      {
        role: "toolResult",
        toolCallId: "c1",
        toolName: "bash",
        content: [{ type: "text", text: output }],
        isError: false,
      },
      assistantMessage([{ type: "text", text: "That was much." }]),
    ]);
    await host.pi.switchSession(path);
    const asked = from("observer");
    expect(await runNow(host, "observer")).toMatch(/recorded/);
    await waitFor(async () => {
      if ((await status(host)).includes("observe   0 of")) return true;
      await runNow(host, "observer");
      return false;
    }, "the observer to catch up");
    const prompts = host.model
      .by("observer")
      .slice(-asked())
      .map(({ body }) => userText(body));
    expect(prompts.some((prompt) => /characters left out/.test(prompt))).toBe(true);
    for (const prompt of prompts) expect(prompt.length).toBeLessThan(300_000);
    expect(new Set((await observations(host)).map(({ coversUpToId }) => coversUpToId))).toContain("00000004");
  });

  it("may be thousands of tiny entries, each of which is shown once", async () => {
    const messages = Array.from({ length: 4000 }, (_, n) =>
      n % 2 === 0 ? { role: "user", content: `${n}?` } : assistantMessage([{ type: "text", text: "ok" }]),
    );
    await host.pi.switchSession(writeSession(host, "tiny", messages));
    const before = host.model.by("observer").length;
    for (let run = 0; run < 8 && !(await status(host)).includes("observe   0 of"); run++) {
      expect(await runNow(host, "observer")).toMatch(/recorded/);
    }
    const shown = host.model
      .by("observer")
      .slice(before)
      .filter(({ body }) => freshToolResults(body).length === 0)
      .flatMap(({ body }) => chunkBlocks(body).map(({ entryId }) => entryId));
    expect(shown).toEqual(messages.map((_, n) => `${n + 1}`.padStart(8, "0")));
  });

  it("made no error that Pi or an extension reported", () => {
    expectNoErrors(host);
  });
});
