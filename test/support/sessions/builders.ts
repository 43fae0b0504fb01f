import { RECORDING_VERSION, type RecordingLine } from "../../../src/machines/recording/recording.ts";
import { noUsage } from "../../../src/reducers/engine/engine-state.ts";
import type { RunResult } from "../../../src/reducers/engine/events.ts";
import {
  type EngineEvent,
  type EngineEventOf,
  EVENT_VERSION,
  type Unstamped,
} from "../../../src/reducers/engine/events.ts";
import type { Worker } from "../../../src/reducers/engine/lane-names.ts";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import type { EntryFact, LedgerFact } from "../../../src/reducers/entries/entry-fact.ts";
import { estimateTextTokens } from "../../../src/reducers/entries/tokens.ts";
import { memoryId } from "../../../src/reducers/ledger/memory-id.ts";
import {
  FOLDED,
  type MemoryDetails,
  OBSERVATIONS_DROPPED,
  OBSERVATIONS_RECORDED,
  type Observation,
  REFLECTIONS_DROPPED,
  REFLECTIONS_RECORDED,
  type Reflection,
} from "../../../src/reducers/ledger/records.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../../src/reducers/settings.ts";

/** When all of it happened, unless a test says otherwise, and how that reads in local time. */
export const AT = new Date(2026, 0, 15, 14, 30).toISOString();
export const WHEN = "2026-01-15 14:30";

// Entries, as Pi writes them. What is odd about an entry, a test says in Pi's own fields.

export function entry(id: string, type: string, fields: object = {}): EntryLike {
  return { id, parentId: null, timestamp: AT, type, ...fields };
}

export function message(id: string, role: string, fields: object = {}): EntryLike {
  return entry(id, "message", { message: { role, timestamp: 0, ...fields } });
}

/** Content is a text or Pi's blocks. */
export const user = (id: string, content: unknown) => message(id, "user", { content });

export const assistant = (id: string, content: unknown, fields: object = {}) =>
  message(id, "assistant", { content, ...fields });

export const toolResult = (id: string, content: unknown, fields: object = { toolName: "read" }) =>
  message(id, "toolResult", { content, ...fields });

export const bash = (id: string, command: string, output: string, fields: object = {}) =>
  message(id, "bashExecution", { command, output, ...fields });

/** A block of text */
export const text = (words: string) => ({ type: "text", text: words });

/** The block of a tool call */
export const call = (id: string, name = "read", args: unknown = {}) => ({
  ...{ type: "toolCall", id, name },
  arguments: args,
});

/** A context edit: `{ content }` replaces what the target says, null omits it. */
export const edit = (id: string, targetId: unknown, replacement: unknown) =>
  entry(id, "context_edit", { targetId, replacement });

export const custom = (id: string, customType: string, data: unknown) =>
  entry(id, "custom", { customType, data });

export const observed = (id: string, observations: readonly unknown[], watermark: string) =>
  custom(id, OBSERVATIONS_RECORDED, { observations, coversUpToId: watermark });

export const reflected = (id: string, reflections: readonly unknown[], watermark: string) =>
  custom(id, REFLECTIONS_RECORDED, { reflections, coversUpToId: watermark });

export const dropped = (id: string, observationIds: readonly unknown[], watermark: string) =>
  custom(id, OBSERVATIONS_DROPPED, { observationIds, coversUpToId: watermark });

/** Drops of observations by id, each with what superseded it. */
export const superseded = (id: string, supersededBy: Readonly<Record<string, string>>, watermark: string) =>
  custom(id, OBSERVATIONS_DROPPED, {
    ...{ observationIds: Object.keys(supersededBy), coversUpToId: watermark },
    ...{ reason: "superseded", supersededBy },
  });

export const replaced = (
  id: string,
  reflectionIds: readonly string[],
  replacedBy: string,
  watermark: string,
) =>
  custom(id, REFLECTIONS_DROPPED, { reflectionIds, replacedBy, kind: "replaced", coversUpToId: watermark });

/** A compaction; `details` are memory of ours if they are `folded(…)`. */
export const compaction = (id: string, firstKeptEntryId: string, details?: unknown) =>
  entry(id, "compaction", {
    summary: "s",
    firstKeptEntryId,
    tokensBefore: 1,
    ...(details ? { details } : {}),
  });

export const folded = (memory: Partial<MemoryDetails> = {}): MemoryDetails => ({
  ...{ type: FOLDED, version: 1, fullFold: false, observations: [], reflections: [] },
  ...memory,
});

// Records of memory, of five tokens each.

export const observation = (
  id: string,
  sourceEntryIds: string[] = [],
  more: Partial<Observation> = {},
): Observation => ({
  ...{ id, content: `content of ${id}`, timestamp: WHEN, relevance: "high", sourceEntryIds, tokenCount: 5 },
  ...more,
});

export const reflection = (
  id: string,
  supportingObservationIds: string[] = [],
  content = `meaning of ${id}`,
): Reflection => ({ id, content, supportingObservationIds, tokenCount: 5 });

/** The same with the id and the tokens that the content has, of medium relevance. */
export const observationOf = (content: string, more: Partial<Observation> = {}): Observation =>
  observation(memoryId(content), ["e1"], {
    ...{ content, relevance: "medium", tokenCount: estimateTextTokens(content) },
    ...more,
  });

export const reflectionOf = (content: string, supportingObservationIds: string[] = []): Reflection => ({
  ...reflection(memoryId(content), supportingObservationIds, content),
  tokenCount: estimateTextTokens(content),
});

// Facts: the same entries without text, as the engine knows them.

/** `a:10@e1+e2`: a record of 10 tokens by that id which rests on those two. */
function recordsOf(written: readonly string[], restsOn: string) {
  return written.map((record, index) => {
    const [id = "", tokens = "", ids = restsOn] = record.split(/[:@]/);
    return { id, tokens: Number(tokens), index, ids: ids === "" ? [] : ids.split("+") };
  });
}

const ledger = (id: string, of: LedgerFact): EntryFact => ({ id, kind: "ledger", tokens: 0, ledger: of });

export const fact = {
  ledger,
  user: (id: string, tokens = 100): EntryFact => ({ id, kind: "user", tokens, source: true }),
  /** Nothing to the engine but an id */
  other: (id: string): EntryFact => ({ id, kind: "other", tokens: 0 }),
  edit: (id: string, targetId: string, tokens: number | null): EntryFact => ({
    ...{ id, kind: "contextEdit", tokens: 0 },
    edit: { targetId, tokens },
  }),
  compaction: (id: string, firstKeptEntryId: string, folded = true, fullFold = false): EntryFact => ({
    ...{ id, kind: "compaction", tokens: 0 },
    compaction: { firstKeptEntryId, folded, fullFold },
  }),
  /** Observations as `a:10@e1+e2`; they rest on the watermark if they do not say. */
  observed: (id: string, coversUpToId: string, ...records: string[]): EntryFact =>
    ledger(id, {
      ...{ type: "observations", coversUpToId },
      records: recordsOf(records, coversUpToId).map(({ ids: sources, ...record }) => ({
        ...{ ...record, relevance: "high", sources },
      })),
    }),
  reflected: (id: string, coversUpToId: string, ...records: string[]): EntryFact =>
    ledger(id, {
      ...{ type: "reflections", coversUpToId },
      records: recordsOf(records, "").map(({ ids: supports, ...record }) => ({ ...record, supports })),
    }),
  dropped: (id: string, coversUpToId: string, ...observationIds: string[]): EntryFact =>
    ledger(id, { type: "drops", coversUpToId, observationIds }),
  /** Drops of observations by id, each with what superseded it */
  superseded: (id: string, coversUpToId: string, replacedBy: Record<string, string>): EntryFact =>
    ledger(id, { type: "drops", coversUpToId, observationIds: Object.keys(replacedBy), replacedBy }),
  /** The same for reflections */
  replaced: (id: string, coversUpToId: string, replacedBy: Record<string, string>): EntryFact =>
    ledger(id, {
      ...{ type: "drops", coversUpToId, observationIds: [] },
      ...{ reflectionIds: Object.keys(replacedBy), replacedBy },
    }),
  /** What a run took */
  cost: (id: string, worker: Worker = "observer", usd = 0.3): EntryFact => ({
    ...fact.other(id),
    cost: { worker, day: "2026-01-15", input: 100, output: 20, usd },
  }),
  /** What a worker's run appends; a dropper drops those of these ids. */
  recorded(worker: Worker, id: string, coversUpToId: string, ...records: string[]): EntryFact {
    if (worker === "observer") return fact.observed(id, coversUpToId, ...records);
    if (worker === "reflector") return fact.reflected(id, coversUpToId, ...records);
    return fact.dropped(id, coversUpToId, ...recordsOf(records, "").map((record) => record.id));
  },
};

/** A branch on which something is remembered, and nothing else: no clock counts it. */
export const MEMORY: readonly EntryFact[] = [
  fact.user("m", 0),
  fact.observed("memory", "m", "0123456789ab:5"),
];

// Events and recordings

export const HEADER: RecordingLine = {
  ...{ type: "header", recording: RECORDING_VERSION },
  ...{ version: "1.0.0", pi: "1.6.0", sessionId: "test" },
};

export function stamped(event: Unstamped, seq = 1, at: string | number = AT): EngineEvent {
  return { v: EVENT_VERSION, seq, at: new Date(at).toISOString(), ...event } as EngineEvent;
}

export const opened = (
  branch: readonly EntryFact[] = [],
  settings: Partial<Settings> = {},
  more: { sessionId?: string; contextWindow?: number } = {},
): Unstamped<EngineEventOf<"session.opened">> => ({
  ...{ type: "session.opened", reason: "startup", sessionId: "s", branch: [...branch] },
  settings: { ...DEFAULT_SETTINGS, ...settings },
  ...more,
});

export const finished = (
  runId: string,
  worker: Worker,
  outcome: RunResult["outcome"],
  coversUpToId: string | null,
): Unstamped<EngineEventOf<"run.finished">> => ({
  ...{ type: "run.finished", runId, worker, outcome, coversUpToId },
  records: outcome === "recorded" ? 1 : 0,
  ...{ rejected: 0, requests: 1, sourceTokens: 0, durationMs: 1, usage: noUsage() },
  ...(outcome === "failed" && { failure: { kind: "other", message: "test" } }),
});
