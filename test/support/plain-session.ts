import type { EntryLike } from "../../src/reducers/entries/entry.ts";
import { memoryId } from "../../src/reducers/ledger/memory-id.ts";

/** The first line of a session file of today's version. */
export const SESSION_HEADER = {
  type: "session",
  version: 3,
  id: "s",
  timestamp: "2026-01-15T09:00:00.000Z",
  cwd: "/",
};

/** Builds a plain session's branch by hand, a minute between entries unless told otherwise. */
export interface PlainSession {
  readonly entries: EntryLike[];
  /** Id of the last entry */
  readonly tip: string;
  wait(seconds: number): PlainSession;
  user(tokens?: number): PlainSession;
  /** An answer; with tool calls if their ids are given. */
  assistant(tokens?: number, options?: { calls?: string[]; stopReason?: string }): PlainSession;
  result(callId: string, tokens?: number): PlainSession;
  /** An observer's entry with one observation */
  observed(watermark: string): PlainSession;
  compacted(firstKeptEntryId: string, options?: { folded?: boolean }): PlainSession;
  other(type: string): PlainSession;
}

export function plainSession(): PlainSession {
  const entries: EntryLike[] = [];
  let at = Date.parse("2026-01-15T09:00:00.000Z");

  function add(body: Record<string, unknown> & { type: string }): PlainSession {
    at += 1000;
    const parentId = entries.at(-1)?.id ?? null;
    entries.push({ ...body, id: `e${entries.length + 1}`, parentId, timestamp: new Date(at).toISOString() });
    return self;
  }
  const text = (tokens: number) => [{ type: "text", text: "abcd".repeat(tokens) }];
  const self: PlainSession = {
    entries,
    get tip() {
      return entries.at(-1)?.id ?? "";
    },
    wait(seconds) {
      at += seconds * 1000;
      return self;
    },
    user: (tokens = 10) => add({ type: "message", message: { role: "user", content: text(tokens) } }),
    assistant(tokens = 10, { calls = [], stopReason = "stop" } = {}) {
      const toolCalls = calls.map((id) => ({ type: "toolCall", id, name: "read", arguments: {} }));
      return add({
        type: "message",
        message: { role: "assistant", content: [...text(tokens), ...toolCalls], stopReason },
      });
    },
    result: (toolCallId, tokens = 10) =>
      add({
        type: "message",
        message: { role: "toolResult", toolCallId, toolName: "read", content: text(tokens) },
      }),
    observed(coversUpToId) {
      const content = `observed up to ${coversUpToId}`;
      const observation = {
        id: memoryId(content),
        content,
        timestamp: "2026-01-15 09:00",
        relevance: "high",
        sourceEntryIds: [coversUpToId],
        tokenCount: 5,
      };
      return add({
        type: "custom",
        customType: "om.observations.recorded",
        data: { observations: [observation], coversUpToId },
      });
    },
    compacted(firstKeptEntryId, { folded = true } = {}) {
      const details = { type: "om.folded", version: 1, fullFold: false, observations: [], reflections: [] };
      return add({
        type: "compaction",
        summary: "s",
        firstKeptEntryId,
        tokensBefore: 1,
        ...(folded && { details }),
      });
    },
    other: (type) => add({ type }),
  };
  return self;
}
