import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type ChatRequest,
  chunkBlocks,
  freshToolResults,
  lastUserText,
  type Role,
  systemText,
  userText,
} from "../../demo/model/scripted-model.ts";
import { customEntries, type SessionLine } from "../../demo/pi/session-file.ts";
import {
  FOLDED,
  type MemoryDetails,
  OBSERVATIONS_DROPPED,
  OBSERVATIONS_RECORDED,
  type ObservationsDropped,
  type ObservationsRecorded,
  REFLECTIONS_RECORDED,
  type ReflectionsRecorded,
} from "../../src/reducers/ledger/records.ts";
import { lanesAtRest, openHost, type PiHost, prose, requestAt, SMALL } from "./support/harness.ts";

const MAX_TURNS = 30;
const RECALL_PROMPT = "Recall the exact words behind every line of your memory.";
const WORKERS = ["observer", "reflector", "dropper"] as const satisfies Role[];

/** Talks at length, and when asked to recall calls the tool with every id that its own context shows. */
function agent(request: ChatRequest, nth: number) {
  if (lastUserText(request) !== RECALL_PROMPT) return { text: prose(900, nth) };
  if (freshToolResults(request).length > 0) return { text: "That is what was said." };
  return { toolCalls: memoryIds(userText(request)).map((id) => ({ name: "recall", arguments: { id } })) };
}

function memoryIds(text: string): string[] {
  return [...new Set([...text.matchAll(/^\[([0-9a-f]{12})\]/gm)].map((match) => match[1] ?? ""))];
}

interface Message {
  role: string;
  toolName?: string;
  isError?: boolean;
  content: string | { type: string; text?: string }[];
}

function messageOf(entry: SessionLine): Message | undefined {
  return entry.type === "message" ? (entry.message as Message) : undefined;
}

function textOf(entry: SessionLine | undefined): string {
  const content = (entry && messageOf(entry)?.content) ?? "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
}

interface Ledger {
  recorded: ObservationsRecorded[];
  reflected: ReflectionsRecorded[];
  dropped: ObservationsDropped[];
  compactions: (SessionLine & { summary: string; firstKeptEntryId: string; details?: MemoryDetails })[];
}

function ledgerOf(entries: readonly SessionLine[]): Ledger {
  const data = <Data>(type: string) => customEntries<Data>(entries, type).map((entry) => entry.data);
  return {
    recorded: data<ObservationsRecorded>(OBSERVATIONS_RECORDED),
    reflected: data<ReflectionsRecorded>(REFLECTIONS_RECORDED),
    dropped: data<ObservationsDropped>(OBSERVATIONS_DROPPED),
    compactions: entries.filter((entry) => entry.type === "compaction") as Ledger["compactions"],
  };
}

async function takeTurn(host: PiHost, turn: number): Promise<void> {
  await host.pi.prompt(`Turn ${turn}: the ferry in bay ${turn} must never leave before ${turn}:30.`);
  await lanesAtRest(host.pi);
}

/** Every clock that status shows against its threshold, as `name: reading/threshold`. */
function clocks(status: string): string[] {
  const readings = status.matchAll(
    /\b(observ|reflect|compact)[a-z]*\b[^\n]*?([\d,]+)\s*(?:\/|of)\s*([\d,]+)/gi,
  );
  return [...readings].map(
    ([, name, reading, threshold]) => `${name?.toLowerCase()}: ${reading}/${threshold}`,
  );
}

describe("the main job in a real Pi", { timeout: 60_000 }, () => {
  let host: PiHost;
  /** The session file's lines after the long session and the recall. */
  let entries: SessionLine[];
  let ledger: Ledger;
  /** The memory that the agent saw when it was asked to recall. */
  let summary: string;
  /** Observer requests before the recall, each the first of its run. */
  let chunks: ChatRequest[];

  beforeAll(async () => {
    host = await openHost({ memory: SMALL, script: { agent } });
    const complete = ({ recorded, reflected, dropped, compactions }: Ledger) =>
      recorded.length > 2 && reflected.length > 0 && dropped.length > 0 && compactions.length > 1;
    for (let turn = 1; turn <= MAX_TURNS && !complete(ledgerOf(await host.pi.entries())); turn++) {
      await takeTurn(host, turn);
    }
    summary = ledgerOf(await host.pi.entries()).compactions.at(-1)?.summary ?? "";
    chunks = host.model
      .by("observer")
      .flatMap(({ body }) => (freshToolResults(body).length > 0 ? [] : [body]));
    await host.pi.prompt(RECALL_PROMPT);
    await lanesAtRest(host.pi);
    entries = await host.pi.entries();
    ledger = ledgerOf(entries);
  }, 60_000);
  afterAll(() => host.close());

  it("records observations that cite source entries of the session", () => {
    expect(ledger.recorded.length).toBeGreaterThan(2);
    const ids = new Set(entries.map((entry) => entry.id));
    for (const { observations, coversUpToId } of ledger.recorded) {
      expect(observations).not.toHaveLength(0);
      expect(ids).toContain(coversUpToId);
      for (const observation of observations) {
        expect(observation).toMatchObject({
          id: expect.stringMatching(/^[0-9a-f]{12}$/),
          timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d$/),
          content: expect.stringMatching(/^[^\n]+$/),
        });
        for (const id of observation.sourceEntryIds) expect(ids).toContain(id);
      }
    }
  });

  it("reflects on observations and drops some of them", () => {
    const observed = ledger.recorded.flatMap(({ observations }) => observations.map(({ id }) => id));
    expect(ledger.reflected.length).toBeGreaterThan(0);
    for (const { reflections } of ledger.reflected) {
      for (const reflection of reflections) {
        for (const id of reflection.supportingObservationIds) expect(observed).toContain(id);
      }
    }
    const dropped = ledger.dropped.flatMap(({ observationIds }) => observationIds);
    expect(dropped).not.toHaveLength(0);
    for (const id of dropped) expect(observed).toContain(id);
  });

  it("puts each worker's own system prompt on the wire, in every request", () => {
    const agentPrompt = systemText(requestAt(host.model, "agent", 0));
    const prompts = WORKERS.map((role) => {
      const texts = new Set(host.model.by(role).map((request) => systemText(request.body)));
      expect(texts.size, `${role} requests must all carry the same system prompt`).toBe(1);
      return [...texts][0] ?? "";
    });
    for (const prompt of prompts) {
      expect(prompt.length).toBeGreaterThan(200);
      expect(prompt.includes(agentPrompt.slice(0, 100))).toBe(false);
    }
    expect(new Set(prompts).size).toBe(WORKERS.length);
  });

  it("never shows Pi's system prompt entry to the observer", () => {
    const systemIds = entries.filter((entry) => messageOf(entry)?.role === "system").map(({ id }) => id);
    expect(systemIds).not.toHaveLength(0);
    const agentPrompt = systemText(requestAt(host.model, "agent", 0));
    for (const { body } of host.model.by("observer")) {
      const shown = chunkBlocks(body).map((block) => block.entryId);
      expect(shown).not.toHaveLength(0);
      for (const id of systemIds) expect(shown).not.toContain(id);
      expect(userText(body).includes(agentPrompt.slice(0, 100))).toBe(false);
      expect(userText(body).includes("Tool result for undefined")).toBe(false);
    }
  });

  it("observes every source entry once, in order, with nothing left out", () => {
    const shown = chunks.flatMap((body) => chunkBlocks(body).map((block) => block.entryId));
    const sources = entries
      .filter((entry) => ["user", "assistant", "toolResult"].includes(messageOf(entry)?.role ?? ""))
      .map(({ id }) => id);
    expect(shown).not.toHaveLength(0);
    expect(shown).toEqual(sources.slice(0, shown.length));
  });

  it("compacts by itself, without a model, in the folded format", () => {
    expect(ledger.compactions.length).toBeGreaterThan(1);
    expect(host.model.by("summariser")).toHaveLength(0);
    for (const { details, fromHook, summary: text } of ledger.compactions) {
      expect(fromHook).toBe(true);
      expect(details).toMatchObject({ type: FOLDED, version: 1, fullFold: expect.any(Boolean) });
      const folded = [...(details?.observations ?? []), ...(details?.reflections ?? [])].map(({ id }) => id);
      expect(folded).not.toHaveLength(0);
      expect(memoryIds(text).toSorted()).toEqual(folded.toSorted());
    }
  });

  it("replaces the cut conversation by memory in what the agent sees", () => {
    const asking = requestAt(host.model, "agent", -2);
    expect(lastUserText(asking)).toBe(RECALL_PROMPT);
    expect(userText(asking)).toContain(summary);
    expect(JSON.stringify(asking.messages).includes("(note 1.1)"), "the first answer is still shown").toBe(
      false,
    );
  });

  it("resolves every id of the summary when the model calls recall", () => {
    const ids = memoryIds(summary);
    const results = entries.filter((entry) => messageOf(entry)?.toolName === "recall");
    expect(ids).not.toHaveLength(0);
    expect(results).toHaveLength(ids.length);
    const byId = new Map(entries.map((entry) => [entry.id, entry]));
    const observations = ledger.recorded.flatMap((batch) => batch.observations);
    const reflections = ledger.reflected.flatMap((batch) => batch.reflections);
    for (const [index, id] of ids.entries()) {
      const result = results[index];
      const recalled = textOf(result);
      expect(result && messageOf(result)?.isError).toBe(false);
      expect(recalled).toContain(id);
      const support = reflections.find((reflection) => reflection.id === id)?.supportingObservationIds ?? [
        id,
      ];
      const evidence = observations.filter((observation) => support.includes(observation.id));
      expect(evidence, `what stands behind ${id}`).toHaveLength(support.length);
      for (const observation of evidence) {
        for (const source of observation.sourceEntryIds) {
          const said = textOf(byId.get(source)).slice(0, 200);
          expect(said).not.toBe("");
          expect(recalled.includes(said), `${id} gives the words of ${source}`).toBe(true);
        }
      }
    }
  });

  it("continues the clocks where they were when the session is resumed", async () => {
    const before = clocks((await host.pi.command("/om:status")).join("\n"));
    expect(before.length).toBeGreaterThanOrEqual(3);
    const session = await host.pi.sessionFile();
    const asked = host.model.by("observer").length;
    expect(await host.pi.stop()).toEqual({ code: 0, signal: null });

    await host.restart({ session });
    expect(await host.pi.sessionFile()).toBe(session);
    expect(clocks((await host.pi.command("/om:status")).join("\n"))).toEqual(before);

    const batches = ledger.recorded.length;
    let turn = MAX_TURNS;
    const recordedMore = async () => ledgerOf(await host.pi.entries()).recorded.length > batches;
    while (!(await recordedMore()) && turn < MAX_TURNS + 5) await takeTurn(host, ++turn);
    expect(await recordedMore()).toBe(true);

    const resumed = ledgerOf(await host.pi.entries());
    const firstChunk = chunkBlocks(requestAt(host.model, "observer", asked));
    const order = (await host.pi.entries()).map((entry) => entry.id);
    const covered = order.indexOf(ledger.recorded.at(-1)?.coversUpToId ?? "");
    expect(covered).toBeGreaterThan(0);
    for (const { entryId } of firstChunk) expect(order.indexOf(entryId)).toBeGreaterThan(covered);
    const ids = resumed.recorded.flatMap(({ observations }) => observations.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("made no error that Pi or an extension reported", () => {
    expect(host.pi.events.filter((record) => record.type === "extension_error")).toEqual([]);
    expect(host.pi.stderr).toBe("");
    expect(host.model.scriptErrors).toEqual([]);
  });
});
