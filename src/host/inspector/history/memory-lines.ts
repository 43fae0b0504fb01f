import type { EntryLookup } from "../../../reducers/entries/entry.ts";
import type { EntryFact } from "../../../reducers/entries/entry-fact.ts";
import { isPinned } from "../../../reducers/ledger/hand/hand.ts";
import type { ObservationRecord, ReflectionRecord } from "../../../reducers/ledger/ledger.ts";
import { asCleanLine } from "../../../reducers/ledger/memory-id.ts";
import {
  orderedObservations,
  selectedReflections,
  selectFull,
  visibleMemory,
} from "../../../reducers/ledger/projections.ts";
import { fateOf } from "../../../reducers/ledger/recall.ts";
import { entriesOf, recordReader } from "../../../reducers/ledger/record-text.ts";
import type { Observation, Projection, Reflection } from "../../../reducers/ledger/records.ts";
import { fateWords } from "../../../reducers/recall/recall-text.ts";
import type { SessionState } from "../../../reducers/session.ts";
import { memoryNotes } from "../../pi/ui/memory-view.ts";
import type { EventHistory } from "./event-history.ts";
import type { Memory, MemoryChanges, MemoryLine, MemoryView } from "./viewer-data.ts";

/** Finds the texts; undefined where there are none. */
export type Texts = EntryLookup | undefined;

/** The memory after an event: what the agent sees, all that holds, or what was dropped. What the event added is marked. */
export function memoryAt(history: EventHistory, texts: Texts, index: number, view: MemoryView): Memory {
  const { session } = history.stateAt(index);
  if (view === "visible") return visibleAt(history, texts, index, session);
  const { observations, reflections } = session.ledger;
  const held = view === "full" ? orderedObservations(selectFull(session.ledger)) : [...observations.values()];
  const kept = view === "full" ? selectedReflections(selectFull(session.ledger)) : [...reflections.values()];
  const isDropped = (kind: MemoryLine["kind"], { id }: { id: string }) =>
    fateOf(session.ledger, `${kind}s`, id).status !== "active";
  const changes = changesAt(history, texts, index);
  const changed = new Set((view === "full" ? changes.added : changes.dropped).map(keyOf));
  const mark = (line: MemoryLine): MemoryLine => ({ ...line, isNew: changed.has(keyOf(line)) });
  const lines = linesOf(session, texts);
  const shown = {
    reflections: kept
      .filter((record) => view === "full" || isDropped("reflection", record))
      .map((record) => mark(lines.reflection(record))),
    observations: held
      .filter((record) => view === "full" || isDropped("observation", record))
      .map((record) => mark(lines.observation(record))),
  };
  const isEmpty = shown.observations.length + shown.reflections.length === 0;
  const nothing = isEmpty ? ["Nothing was dropped yet."] : [];
  return { notes: view === "full" ? memoryNotes(session, view, shown) : nothing, ...shown };
}

function visibleAt(history: EventHistory, texts: Texts, index: number, session: SessionState): Memory {
  const notes = (shown: { observations: readonly object[]; reflections: readonly object[] }) =>
    memoryNotes(session, "visible", shown);
  if (!texts) return { notes: notes(NOTHING), ...NOTHING };
  const shown = visibleMemory(session.branch, session.ledger, texts);
  const before = new Set(idsBefore(history, texts, index));
  const line = (kind: MemoryLine["kind"], record: Observation | Reflection): MemoryLine => ({
    ...lineOf(session, kind, record.id, record),
    isNew: before.size > 0 && !before.has(record.id),
  });
  return {
    notes: notes(shown),
    reflections: shown.reflections.map((record) => line("reflection", record)),
    observations: shown.observations.map((record) => line("observation", record)),
  };
}

const NOTHING: Projection & { reflections: []; observations: [] } = { reflections: [], observations: [] };

/** What the agent saw before an event that folded memory; nothing for any other event, which changes nothing of that. */
function idsBefore({ steps, stateAt }: EventHistory, texts: EntryLookup, index: number): string[] {
  const event = steps[index]?.event;
  if (event?.type !== "branch.extended" || !event.entries.some(({ compaction }) => compaction)) return [];
  const { branch, ledger } = stateAt(index - 1).session;
  const { observations, reflections } = visibleMemory(branch, ledger, texts);
  return [...observations, ...reflections].map(({ id }) => id);
}

/** Most lines that an event is said to have added or dropped: a screen of them says enough. */
const MOST_CHANGES = 60;

/** The lines that an event added and dropped; for the end of a run, those that the run did. */
export function changesAt(history: EventHistory, texts: Texts, index: number): MemoryChanges {
  const brought = factsAt(history, index);
  const facts = brought.flatMap(({ ledger }) => ledger ?? []);
  const byHand = brought.flatMap(({ hand }) => (hand && hand.act !== "noted" ? [hand] : []));
  if (facts.length + byHand.length === 0) return { added: [], dropped: [] };
  const { session } = history.stateAt(index);
  const lines = linesOf(session, texts);
  const changes: MemoryChanges = { added: [], dropped: [] };
  const observation = (id: string) => lines.line("observation", id);
  const reflection = (id: string) => lines.line("reflection", id);
  for (const fact of facts) {
    if (fact.type === "observations")
      changes.added.push(...fact.records.flatMap(({ id }) => observation(id)));
    if (fact.type === "reflections") changes.added.push(...fact.records.flatMap(({ id }) => reflection(id)));
    if (fact.type !== "drops") continue;
    changes.dropped.push(...fact.observationIds.flatMap(observation));
    changes.dropped.push(...(fact.reflectionIds ?? []).flatMap(reflection));
  }
  for (const { act, ids } of byHand) {
    const list = act === "forgotten" || act === "promoted" ? changes.dropped : changes.added;
    list.push(...ids.flatMap((id) => [...observation(id), ...reflection(id)]));
  }
  return { added: changes.added.slice(0, MOST_CHANGES), dropped: changes.dropped.slice(0, MOST_CHANGES) };
}

/** The entries that an event brought; for a run's end, those of its kind since the run began. */
function factsAt({ steps, runs }: EventHistory, index: number): EntryFact[] {
  const event = steps[index]?.event;
  if (event?.type === "branch.extended") return event.entries;
  if (event?.type !== "run.finished" || event.records === 0) return [];
  const run = runs.findLast(({ to }) => to === index);
  if (!run) return [];
  const isOfRun = ({ ledger }: EntryFact) =>
    ledger !== undefined && MADE_BY[ledger.type].includes(run.worker);
  return steps
    .slice(run.from, index)
    .flatMap(({ event: earlier }) =>
      earlier.type === "branch.extended" ? earlier.entries.filter(isOfRun) : [],
    );
}

/** An observer and a reflector also drop what their new records supersede. */
const MADE_BY: Readonly<Record<NonNullable<EntryFact["ledger"]>["type"], readonly string[]>> = {
  observations: ["observer"],
  reflections: ["reflector"],
  drops: ["observer", "reflector", "dropper"],
};

/** Makes lines of the ledger's records, with their texts where there are any. */
export function linesOf(session: SessionState, texts: Texts) {
  const entryAt = entriesOf(session.branch, texts ?? (() => undefined));
  const readObservation = recordReader<Observation>("observations", entryAt);
  const readReflection = recordReader<Reflection>("reflections", entryAt);
  const observation = (record: ObservationRecord): MemoryLine => ({
    ...lineOf(session, "observation", record.id, readObservation(record)),
    relevance: record.relevance,
  });
  const reflection = (record: ReflectionRecord): MemoryLine =>
    lineOf(session, "reflection", record.id, readReflection(record));
  return {
    observation,
    reflection,
    /** The line of an id; none for one that the ledger does not have. */
    line(kind: MemoryLine["kind"], id: string): MemoryLine[] {
      const [observed, reflected] = [session.ledger.observations.get(id), session.ledger.reflections.get(id)];
      if (kind === "observation") return observed ? [observation(observed)] : [];
      return reflected ? [reflection(reflected)] : [];
    },
  };
}

function lineOf(
  session: SessionState,
  kind: MemoryLine["kind"],
  id: string,
  record: Partial<Observation & Reflection> | undefined,
): MemoryLine {
  const { content = null, timestamp = "", relevance = "" } = record ?? {};
  const isForgotten = session.ledger.hand.forgotten.has(id);
  return {
    id,
    kind,
    text: isForgotten ? "…" : content === null ? null : asCleanLine(content),
    when: asCleanLine(timestamp),
    relevance,
    isNew: false,
    fate: fateIn(session, kind, id),
  };
}

/** What became of a record, in words; `""` while it holds and nobody has said anything of it. */
export function fateIn({ ledger }: SessionState, kind: MemoryLine["kind"], id: string): string {
  const known = fateOf(ledger, `${kind}s`, id);
  if (ledger.hand.forgotten.has(id)) return "forgotten by the user";
  if (known.status === "active") return kind === "observation" && isPinned(ledger.hand, id) ? "pinned" : "";
  return fateWords(known, kind);
}

/** An observation and a reflection of one text share their id. */
function keyOf({ kind, id }: MemoryLine): string {
  return `${kind} ${id}`;
}
