import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type ChatRequest, freshToolResults } from "../../demo/model/scripted-model.ts";
import { parseRecordingLine } from "../../src/machines/recording/recording-line.ts";
import { memoryId } from "../../src/reducers/ledger/memory-id.ts";
import { runReplay } from "../support/programs/run-replay.ts";
import { lanesAtRest, SMALL, waitFor, withPi } from "./support/harness.ts";

const dir = mkdtempSync(join(tmpdir(), "memory-lanes-privacy-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const planted: string[] = [];

/** A word that occurs nowhere else, in a sentence, for one text field. */
function canary(field: string): string {
  const word = `canary${memoryId(field)}`;
  planted.push(word);
  return `The ${word} of ${field} sings.`;
}

/** A session file with a canary in every text field that an entry of Pi or of ours can have. */
function plantedSession(): string {
  const observed = canary("observation content");
  const reflected = canary("reflection content");
  const messages = [
    { role: "user", content: [{ type: "text", text: canary("user text") }] },
    { role: "user", content: canary("user content as plain text") },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: canary("thinking"), thinkingSignature: canary("thinking signature") },
        { type: "text", text: canary("assistant text") },
        {
          type: "toolCall",
          id: "call-1",
          name: canary("tool name"),
          arguments: { path: canary("tool argument") },
        },
      ],
      stopReason: "error",
      errorMessage: canary("assistant error"),
      model: canary("model"),
      provider: canary("provider"),
    },
    {
      role: "toolResult",
      toolCallId: "call-1",
      toolName: canary("result's tool name"),
      content: [{ type: "text", text: canary("tool result") }],
      details: { diff: canary("tool details") },
    },
    { role: "bashExecution", command: canary("bash command"), output: canary("bash output"), exitCode: 0 },
    { role: "custom", customType: canary("custom role's type"), content: canary("custom role") },
  ].map((message) => ({ type: "message", message: { timestamp: 0, ...message } }));
  const bodies: Record<string, unknown>[] = [
    ...messages,
    {
      type: "custom_message",
      customType: canary("custom type"),
      content: canary("custom message"),
      display: true,
    },
    { type: "branch_summary", summary: canary("branch summary"), fromId: "e1" },
    { type: "label", targetId: "e1", label: canary("label") },
    { type: "session_info", name: canary("session name") },
    { type: "model_change", provider: canary("changed provider"), modelId: canary("changed model") },
    { type: "custom", customType: canary("another extension"), data: { text: canary("its data") } },
    { type: "context_edit", targetId: "e1", replacement: { content: canary("context edit") } },
    {
      type: "custom",
      customType: "om.observations.recorded",
      data: {
        coversUpToId: "e2",
        observations: [
          {
            id: memoryId(observed),
            content: observed,
            timestamp: "2026-01-15 12:00",
            relevance: "high",
            sourceEntryIds: ["e1", canary("source entry id")],
            tokenCount: 12,
          },
          { id: canary("bad memory id"), content: canary("malformed observation") },
        ],
      },
    },
    {
      type: "custom",
      customType: "om.reflections.recorded",
      data: {
        coversUpToId: "e2",
        reflections: [
          {
            id: memoryId(reflected),
            content: reflected,
            supportingObservationIds: [memoryId(observed), canary("supporting id")],
            tokenCount: 12,
          },
        ],
      },
    },
    {
      type: "custom",
      customType: "om.observations.dropped",
      data: { coversUpToId: canary("marker"), observationIds: [memoryId("none")] },
    },
    {
      type: "compaction",
      summary: canary("compaction summary"),
      firstKeptEntryId: "e2",
      tokensBefore: 10,
      details: { readFiles: [canary("read file")] },
    },
  ];
  const header = {
    type: "session",
    version: 3,
    id: "planted",
    timestamp: "2026-01-15T12:00:00.000Z",
    cwd: dir,
  };
  const entries = bodies.map((body, at) => ({
    ...body,
    id: `e${at + 1}`,
    parentId: at === 0 ? null : `e${at}`,
    timestamp: "2026-01-15T12:00:00.000Z",
  }));
  const file = join(dir, "planted.jsonl");
  writeFileSync(file, `${[header, ...entries].map((line) => JSON.stringify(line)).join("\n")}\n`);
  return file;
}

/** Calls a tool with canaries in its arguments, which comes back with one, and then answers. */
function agent(request: ChatRequest) {
  if (freshToolResults(request).length > 0) return { text: `${canary("answer")} ${"word ".repeat(2000)}` };
  const command = `printf '%s' "${canary("live tool argument")}"`;
  return { toolCalls: [{ name: "bash", arguments: { command } }] };
}

describe("a recording", () => {
  it("holds no text of the session, nor of a provider that echoes its prompt", {
    timeout: 60_000,
  }, async () => {
    const session = plantedSession();
    const options = {
      session,
      memory: { ...SMALL, debugLog: true },
      script: {
        agent,
        observer: (request: ChatRequest) => ({
          kind: "status" as const,
          status: 400,
          body: {
            error: {
              message: `${canary("error body")} ${JSON.stringify(request.messages)}`,
              type: canary("error type"),
            },
          },
        }),
      },
    };
    await withPi(options, async ({ pi }) => {
      await pi.prompt(canary("live prompt"));
      await lanesAtRest(pi);
      await pi.prompt(canary("second prompt"));
      await lanesAtRest(pi);
      const folder = join(pi.dirs.agent, "observational-memory", "debug");
      await pi.stop();
      const [name] = await waitFor(() => readdirSync(folder), "the recording");
      const text = readFileSync(join(folder, name ?? ""), "utf8");
      const lines = text.trimEnd().split("\n").map(parseRecordingLine);

      expect(lines.some((line) => line.type === "run.finished" && line.outcome === "failed")).toBe(true);
      const opened = lines.find(({ type }) => type === "session.opened");
      const ids = opened?.type === "session.opened" ? opened.branch.map(({ id }) => id) : [];
      expect(ids).toEqual(expect.arrayContaining(["e1", "e17"]));
      expect(planted.length).toBeGreaterThan(40);
      expect(planted.filter((word) => text.includes(word))).toEqual([]);
      expect(text).not.toContain(dir);

      const { verification } = runReplay(lines).report;
      expect(verification.difference).toBeUndefined();
      expect(verification).toMatchObject({ unverified: 0 });
    });
  });
});
