import { type EntryLookup, fieldsOf, textOf } from "../../reducers/entries/entry.ts";
import type { EntryFact } from "../../reducers/entries/entry-fact.ts";
import { isMemoryId } from "../../reducers/ledger/records.ts";
import { redacted } from "../../reducers/redact.ts";
import { ATTR, OPERATION } from "./names.ts";
import type { Attributes, SpanRecord } from "./projection.ts";

/** Whether the user has allowed spans to hold text, by the standard's variable. Its values for events alone do not: we send none. */
export function capturesContent(env: Readonly<Record<string, string | undefined>>): boolean {
  const value = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.trim().toLowerCase() ?? "";
  return ["true", "span_only", "span_and_event"].includes(value);
}

interface MemoryRecord {
  id: string;
  content: string;
}

/** Records as the conventions have them on a span, without secrets whatever the settings say. */
export function recordsAttribute(records: readonly MemoryRecord[]): Attributes {
  if (records.length === 0) return {};
  const clean = records.map(({ id, content }) => ({ id, content: redacted(content) }));
  return { [ATTR.memoryRecords]: JSON.stringify(clean) };
}

/** The observations and reflections that stand in these entries. */
export function recordsIn(entries: readonly EntryFact[], lookup: EntryLookup): MemoryRecord[] {
  return entries.flatMap(({ id, ledger }) => {
    if (!ledger || ledger.type === "drops") return [];
    const { observations, reflections } = fieldsOf(fieldsOf(lookup(id)).data);
    const written = ledger.type === "observations" ? observations : reflections;
    return ledger.records.map((record) => ({
      id: record.id,
      content: textOf(fieldsOf(Array.isArray(written) ? written[record.index] : undefined).content),
    }));
  });
}

export interface RecallFacts {
  sessionId: string;
  /** As the agent gave it */
  id: string;
  query?: string | undefined;
  /** Milliseconds since the epoch */
  startedAt: number;
  endedAt: number;
  /** What was shown; undefined when nothing was found */
  text: string | undefined;
}

/** The span of a recall. Text is on it only where content may be captured. */
export function recallSpan(facts: RecallFacts, withContent: boolean): SpanRecord {
  const { sessionId, id, query, startedAt, endedAt, text } = facts;
  const error = text === undefined ? "not-found" : undefined;
  return {
    key: `${sessionId} ${startedAt} recall ${id}`,
    cause: "recall",
    name: OPERATION.searchMemory,
    kind: "internal",
    startedAt,
    endedAt,
    attributes: {
      [ATTR.operation]: OPERATION.searchMemory,
      [ATTR.conversation]: sessionId,
      // A model may have written anything in its place.
      ...(isMemoryId(id) && { [ATTR.memoryRecordId]: id }),
      [ATTR.memoryRecordCount]: text === undefined ? 0 : 1,
      ...(error !== undefined && { [ATTR.errorType]: error }),
      ...(withContent && query !== undefined && { [ATTR.memoryQuery]: redacted(query) }),
      ...(withContent && text !== undefined && recordsAttribute([{ id, content: text }])),
    },
    error,
    children: [],
  };
}
