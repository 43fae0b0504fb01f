import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChatRequest, freshToolResults, lastUserText } from "../../demo/model/scripted-model.ts";
import { customEntries, type SessionLine } from "../../demo/pi/session-file.ts";
import { memoryId, parseSession } from "../../src/index.ts";
import { messageOf, textOf } from "../../src/reducers/entries/entry.ts";
import { fixtureText, V3_SESSIONS } from "../support/sessions/v3-sessions.ts";
import { lanesAtRest, NEVER, openHost, type PiHost, prose, SMALL, withPi } from "./support/harness.ts";

/** Calls `recall` with every id of the prompt. */
function recaller(request: ChatRequest) {
  if (freshToolResults(request).length > 0) return { text: "So it was." };
  const ids = lastUserText(request).match(/\b[0-9a-f]{12}\b/g) ?? [];
  return { toolCalls: ids.map((id) => ({ name: "recall", arguments: { id } })) };
}

describe("sessions of the V3 extension in a real Pi", { timeout: 60_000 }, () => {
  let host: PiHost;
  beforeAll(async () => {
    host = await openHost({ memory: NEVER, script: { agent: recaller } });
  }, 60_000);
  afterAll(() => host.close());

  describe.each(Object.entries(V3_SESSIONS))("%s", (name, expected) => {
    beforeAll(async () => {
      const copies = join(host.dir, "copies", name);
      mkdirSync(copies, { recursive: true });
      const session = join(copies, `${expected.file}.jsonl`);
      // Pi opens a session only where its working folder exists.
      writeFileSync(session, fixtureText(expected.file).replace("/work/ferries", host.pi.dirs.work));
      await host.pi.switchSession(session);
      if (expected.leaf !== undefined) await host.pi.command(`/test:tree ${expected.leaf}`);
    }, 60_000);

    it("has the same memory and clocks in /om:status", async () => {
      const status = (await host.pi.command("/om:status")).join("\n");
      const { active, observations, reflections, visible, clocks, ignored } = expected;
      const numbers = (label: string) =>
        [...(new RegExp(`^ +${label} +(.*)$`, "m").exec(status)?.[1] ?? "").matchAll(/\d[\d,]*/g)].map(
          ([digits]) => Number(digits.replaceAll(",", "")),
        );
      // Drops whose observation was never recorded are no part of the count.
      expect(numbers("full").slice(0, 3)).toEqual([
        active.length,
        observations.length - active.length,
        reflections.length,
      ]);
      expect(numbers("visible")).toEqual([visible.observations.length, visible.reflections.length]);
      expect([numbers("observe")[0], numbers("reflect")[0], numbers("compact")[0]]).toEqual([
        clocks.observe,
        clocks.reflect,
        clocks.compact,
      ]);
      expect([numbers("drop")[0], numbers("since")[0]]).toEqual([clocks.drop, clocks.sinceCompaction]);
      for (const [reason, count] of Object.entries(ignored)) {
        expect(status.includes(`${count} ${reason}`)).toBe(count > 0);
      }
    });

    it("has the same lines in /om:view", async () => {
      const lines = async (command: string) =>
        (await host.pi.command(command))
          .join("\n")
          .split("\n")
          .flatMap((line) => /^\[([0-9a-f]{12})\]/.exec(line)?.[1] ?? []);
      const idsOf = (contents: readonly string[]) => contents.map((content) => memoryId(content));
      const { visible, active, reflections } = expected;
      expect(await lines("/om:view")).toEqual(idsOf([...visible.reflections, ...visible.observations]));
      expect(await lines("/om:view full")).toEqual(idsOf([...reflections, ...active]));
    });

    it("is recalled by the agent", async () => {
      const recalls = Object.entries(expected.recalls);
      await host.pi.prompt(`Recall ${recalls.map(([content]) => memoryId(content)).join(" ")}`);
      const results = parseSession(readFileSync(await host.pi.sessionFile(), "utf8")).flatMap((entry) => {
        const { role, content, isError } = messageOf(entry);
        const text = Array.isArray(content) ? textOf(content[0]?.text) : "";
        return role === "toolResult" ? [{ text, isError: isError === true }] : [];
      });
      expect(results).toHaveLength(recalls.length);
      for (const [n, [content, answer]] of recalls.entries()) {
        if (answer === "unknown") expect(results[n]?.text).toContain("No memory with the id");
        else expect(results[n]?.text).toContain(`[${memoryId(content)}] `);
        if (answer === "dropped") expect(results[n]?.text).toContain("dropped from active memory");
        expect(results[n]?.isError).toBe(answer === "unknown");
      }
    });
  });

  it("makes no error that Pi or an extension reports", () => {
    expect(host.pi.events.filter((record) => record.type === "extension_error")).toEqual([]);
    expect(host.pi.stderr).toBe("");
  });
});

describe("a session written here", { timeout: 60_000 }, () => {
  it("has the V3 extension's entries to the key", async () => {
    const agent = (_request: ChatRequest, nth: number) => ({ text: prose(900, nth) });
    await withPi({ memory: SMALL, script: { agent } }, async (host) => {
      const written = (entries: SessionLine[]) => ({
        recorded: customEntries<Fields>(entries, "om.observations.recorded"),
        reflected: customEntries<Fields>(entries, "om.reflections.recorded"),
        dropped: customEntries<Fields>(entries, "om.observations.dropped"),
        folded: entries.filter(({ type }) => type === "compaction") as FoldedLine[],
      });
      const complete = (entries: SessionLine[]) =>
        Object.values(written(entries)).every(({ length }) => length > 0);
      for (let turn = 1; turn <= 30 && !complete(await host.pi.entries()); turn++) {
        await host.pi.prompt(`Turn ${turn}: bay ${turn} opens at ${turn}.`);
        await lanesAtRest(host.pi);
      }
      const entries = await host.pi.entries();
      const { recorded, reflected, dropped, folded } = written(entries);
      const types = entries.filter(({ type }) => type === "custom").map(({ customType }) => customType);
      expect(new Set(types)).toEqual(
        new Set([
          "om.observations.recorded",
          "om.reflections.recorded",
          "om.observations.dropped",
          "om.cost",
        ]),
      );
      for (const { data } of recorded) {
        expect(keysOf(data)).toEqual(["coversUpToId", "observations"]);
        for (const record of data.observations as Fields[]) expectObservation(record);
      }
      for (const { data } of reflected) {
        expect(keysOf(data)).toEqual(["coversUpToId", "reflections"]);
        for (const record of data.reflections as Fields[]) expectReflection(record);
      }
      for (const { data } of dropped) expect(keysOf(data)).toEqual(["coversUpToId", "observationIds"]);
      for (const { details } of folded) {
        expect(keysOf(details)).toEqual(["fullFold", "observations", "reflections", "type", "version"]);
        expect(details).toMatchObject({ type: "om.folded", version: 1, fullFold: expect.any(Boolean) });
        for (const record of details.observations as Fields[]) expectObservation(record);
        for (const record of details.reflections as Fields[]) expectReflection(record);
      }
    });
  });
});

type Fields = Record<string, unknown>;
type FoldedLine = SessionLine & { details: Fields };

function keysOf(record: Fields): string[] {
  return Object.keys(record).sort();
}

function expectObservation(record: Fields): void {
  expect(keysOf(record)).toEqual(["content", "id", "relevance", "sourceEntryIds", "timestamp", "tokenCount"]);
  expect(record).toMatchObject({
    id: memoryId(String(record.content)),
    content: expect.stringMatching(/^[^\n]+$/),
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d$/),
    relevance: expect.stringMatching(/^(low|medium|high|critical)$/),
    tokenCount: expect.any(Number),
  });
}

function expectReflection(record: Fields): void {
  expect(keysOf(record)).toEqual(["content", "id", "supportingObservationIds", "tokenCount"]);
  expect(record.id).toBe(memoryId(String(record.content)));
}
