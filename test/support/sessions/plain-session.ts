import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import {
  assistant,
  call,
  compaction,
  entry,
  folded,
  observationOf,
  observed,
  text,
  toolResult,
  user,
} from "./builders.ts";

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
  compacted(firstKeptEntryId: string, options?: { isOurs?: boolean }): PlainSession;
  other(type: string): PlainSession;
}

export function plainSession(): PlainSession {
  const entries: EntryLike[] = [];
  let at = Date.parse("2026-01-15T09:00:00.000Z");

  function add(built: EntryLike): PlainSession {
    at += 1000;
    const parentId = entries.at(-1)?.id ?? null;
    entries.push({ ...built, id: `e${entries.length + 1}`, parentId, timestamp: new Date(at).toISOString() });
    return self;
  }
  const said = (tokens: number) => text("abcd".repeat(tokens));
  const self: PlainSession = {
    entries,
    get tip() {
      return entries.at(-1)?.id ?? "";
    },
    wait(seconds) {
      at += seconds * 1000;
      return self;
    },
    user: (tokens = 10) => add(user("", [said(tokens)])),
    assistant: (tokens = 10, { calls = [], stopReason = "stop" } = {}) =>
      add(assistant("", [said(tokens), ...calls.map((id) => call(id))], { stopReason })),
    result: (toolCallId, tokens = 10) =>
      add(toolResult("", [said(tokens)], { toolCallId, toolName: "read" })),
    observed: (watermark) => add(observed("", [observationOf(`observed up to ${watermark}`)], watermark)),
    compacted: (firstKeptEntryId, { isOurs = true } = {}) =>
      add(compaction("", firstKeptEntryId, isOurs ? folded() : undefined)),
    other: (type) => add(entry("", type)),
  };
  return self;
}
