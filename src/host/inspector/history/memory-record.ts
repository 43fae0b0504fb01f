import { idAt } from "../../../reducers/branch.ts";
import type { EngineEvent } from "../../../reducers/engine/events.ts";
import type { EntryFact } from "../../../reducers/entries/entry-fact.ts";
import { type RecalledSource, recallFrom } from "../../../reducers/ledger/recall.ts";
import { renderRecall } from "../../../reducers/recall/recall-text.ts";
import { clipped } from "../../../reducers/words.ts";
import type { EventHistory } from "./event-history.ts";
import { fateIn, linesOf, type Texts } from "./memory-lines.ts";
import type { EventRef, MemoryLine, MemoryRecord, SourceText } from "./viewer-data.ts";

/** What stands behind a line of memory, as of an event: its sources, the event that recorded it, and what became of it since. */
export function memoryRecordAt(
  history: EventHistory,
  texts: Texts,
  index: number,
  { id, kind }: Pick<MemoryLine, "id" | "kind">,
): MemoryRecord {
  const list = `${kind}s` as const;
  const { session } = history.stateAt(index);
  const last = history.steps.length - 1;
  const latest = history.stateAt(last).session;
  // What became of it lies after the event that is looked at, unless that is on another branch.
  const later = latest.ledger[list].has(id) ? latest : session;
  const record = session.ledger[list].get(id);
  const entryId = record && idAt(session.branch, record.entry);
  const recalled = recallFrom(session, texts ?? (() => undefined), id);
  const supports = kind === "reflection" ? (session.ledger.reflections.get(id)?.supports ?? []) : [];
  const sources = kind === "observation" ? (recalled.observation?.sources ?? []) : [];
  const events = createEventFinder(history);
  const now = linesOf(session, texts);
  const then = linesOf(later, texts);
  const replacing = later.ledger[list].get(id)?.replacedBy;
  return {
    id,
    kind,
    tokens: record?.tokens ?? null,
    // An id that stands for nothing here, or for what may not be shown, says so itself.
    note: texts && !recalled.observation && !recalled.reflection ? renderRecall(recalled).text : null,
    fate: fateIn(later, kind, id),
    recorded: entryId === undefined ? null : events.thatBrought(entryId, index),
    dropped: events.thatDropped(kind, id, last),
    sources: sources.map((source) => sourceText(source, events, index)),
    supporting: supports.flatMap((one) => now.line("observation", one)),
    replacedBy: replacing === undefined ? [] : then.line(kind, replacing),
    restOnIt:
      kind === "reflection"
        ? []
        : [...later.ledger.reflections.values()]
            .filter(({ supports: named }) => named.includes(id))
            .flatMap((reflection) => then.line("reflection", reflection.id)),
  };
}

/** A longer source is read in the session's file. */
const LONGEST_SOURCE = 20_000;

function sourceText(
  source: RecalledSource,
  events: ReturnType<typeof createEventFinder>,
  index: number,
): SourceText {
  const { entryId, status } = source;
  const at = events.thatBrought(entryId, index);
  if (!("text" in source)) {
    const why = status === "missing" ? "It is not on this branch, or not in the file." : "It is no message.";
    return { entryId, at, text: why, isMissing: true };
  }
  const put = source.replacement === undefined ? "" : `\n\nSince then, in its place:\n${source.replacement}`;
  const left = status === "omitted" ? "\n\n(left out of the agent's context since then)" : "";
  return { entryId, at, text: clipped(source.text, LONGEST_SOURCE) + put + left, isMissing: false };
}

/** Finds the events that brought an entry or dropped a record. Walks the events; nothing is kept for it. */
function createEventFinder({ steps }: EventHistory) {
  const find = (is: (fact: EntryFact) => boolean, last: number): EventRef | null => {
    for (let at = 0; at <= last; at++) {
      const step = steps[at];
      if (step && factsOf(step.event).some(is)) return { index: at, number: step.number };
    }
    return null;
  };
  return {
    thatBrought: (entryId: string, last: number) => find((fact) => fact.id === entryId, last),
    thatDropped: (kind: MemoryLine["kind"], id: string, last: number) =>
      find(({ ledger, hand }) => {
        if ((hand?.act === "forgotten" || hand?.act === "promoted") && hand.ids.includes(id)) return true;
        if (ledger?.type !== "drops") return false;
        return (kind === "observation" ? ledger.observationIds : (ledger.reflectionIds ?? [])).includes(id);
      }, last),
  };
}

/** The entries that an event brings */
export function factsOf(event: EngineEvent): readonly EntryFact[] {
  if (event.type === "branch.extended") return event.entries;
  return "branch" in event ? event.branch : [];
}
