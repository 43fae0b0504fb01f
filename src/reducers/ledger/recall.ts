import { type Branch, idAt, isEditedAt, isSourceAt, kindAt, NOWHERE, positionOf } from "../branch.ts";
import { type EntryLookup, fieldsOf, textOf } from "../entries/entry.ts";
import { type ContextEdit, contextEditOf, renderSource } from "../entries/sources.ts";
import type { SessionState } from "../session.ts";
import { type Dropped, type Ledger, memoryStatus, type UnshownRecord } from "./ledger.ts";
import { entriesOf, readRecords } from "./record-text.ts";
import type { Observation, Reflection } from "./records.ts";

/** One piece of evidence: its exact text, or why there is none. */
export type RecalledSource =
  | {
      entryId: string;
      status: "found" | "omitted";
      text: string;
      /** What a tool or a command put out */
      isOutput: boolean;
      /** What Pi has since put in its place in the agent's context, if anything. */
      replacement?: string;
    }
  | { entryId: string; status: "missing" | "not-a-source" };

/**
 * `dangling`: recorded for a range that is not on this branch, so no projection shows it. `promoted`: the user has moved it into
 * the project's instructions.
 */
export type RecordStatus = "active" | "dropped" | "dangling" | "promoted";

export interface RecalledObservation {
  /** The record that memory shows: the first of its id */
  observation: Observation;
  status: RecordStatus;
  /** What superseded it, what superseded that in its turn, and so on: ids, the last one the newest. Empty for most. */
  replacedBy: string[];
  /** The observations in whose place it stands itself, without those that the user has made memory forget */
  replaces: string[];
  /** Those of every record of this id, each once */
  sources: RecalledSource[];
}

export interface RecalledReflection {
  reflection: Reflection;
  status: RecordStatus;
  /** What replaced it, likewise */
  replacedBy: string[];
  /** The reflections whose place it took, likewise */
  replaces: string[];
  /** What every record of this id rests on, each once */
  supporting: RecalledObservation[];
  /** Cited observation ids that this branch does not have. */
  missingObservationIds: string[];
  /** Cited ones that the user has made memory forget */
  forgottenObservationIds: string[];
}

/** That the user has made memory forget a record. What it said is not told. */
export interface Forgotten {
  /** When, as its entry has it */
  timestamp: string;
  /** In the user's words; `""` for none */
  reason: string;
}

/** What an id stands for. Both parts are set when an observation and a reflection share the id. */
export interface Recalled {
  id: string;
  /** Set alone: neither the record nor its sources are shown */
  forgotten?: Forgotten;
  observation?: RecalledObservation;
  reflection?: RecalledReflection;
  /** The message, where it is the id of a session entry, as a search gives it, and of no memory */
  source?: RecalledSource;
}

/** Looks an id up in the branch's whole ledger history, dropped and dangling records included. */
export function recallFrom(session: SessionState, lookup: EntryLookup, id: string): Recalled {
  const forgotten = recallForgotten(session, lookup, id);
  if (forgotten) return { id, forgotten };
  const observation = recallObservation(session, lookup, id);
  const reflection = recallReflection(session, lookup, id);
  if (observation || reflection)
    return { id, ...(observation && { observation }), ...(reflection && { reflection }) };
  const source = recallSource(session.branch, lookup, id);
  return "text" in source ? { id, source } : { id };
}

/** Whether an id stands for anything here. */
export function isFound({ observation, reflection, source }: Recalled): boolean {
  return observation !== undefined || reflection !== undefined || source !== undefined;
}

function recallForgotten(
  { branch, ledger }: SessionState,
  lookup: EntryLookup,
  id: string,
): Forgotten | undefined {
  const position = ledger.hand.forgotten.get(id);
  if (position === undefined) return undefined;
  const entry = lookup(idAt(branch, position) ?? "");
  return { timestamp: textOf(entry?.timestamp), reason: textOf(fieldsOf(fieldsOf(entry).data).reason) };
}

function recallObservation(
  session: SessionState,
  lookup: EntryLookup,
  id: string,
): RecalledObservation | undefined {
  const { branch, ledger } = session;
  const records = recordsOf<Observation>(session, lookup, "observation", id);
  const [observation] = records;
  if (!observation) return undefined;
  const sources = new Set(records.flatMap(({ sourceEntryIds }) => sourceEntryIds));
  return {
    observation,
    ...fateOf(ledger, "observations", id),
    sources: [...sources].map((entryId) => recallSource(branch, lookup, entryId)),
  };
}

function recallReflection(
  session: SessionState,
  lookup: EntryLookup,
  id: string,
): RecalledReflection | undefined {
  const records = recordsOf<Reflection>(session, lookup, "reflection", id);
  const [reflection] = records;
  if (!reflection) return undefined;
  const supporting: RecalledObservation[] = [];
  const missingObservationIds: string[] = [];
  const forgottenObservationIds: string[] = [];
  for (const observationId of new Set(records.flatMap((one) => one.supportingObservationIds))) {
    if (session.ledger.hand.forgotten.has(observationId)) {
      forgottenObservationIds.push(observationId);
      continue;
    }
    const observation = recallObservation(session, lookup, observationId);
    if (observation) supporting.push(observation);
    else missingObservationIds.push(observationId);
  }
  const fate = fateOf(session.ledger, "reflections", id);
  return { reflection, ...fate, supporting, missingObservationIds, forgottenObservationIds };
}

/** What became of a record of the ledger. */
export function fateOf(
  ledger: Ledger,
  kind: "observations" | "reflections",
  id: string,
): Pick<RecalledObservation, "status" | "replacedBy" | "replaces"> {
  const { promoted, forgotten } = ledger.hand;
  const records: ReadonlyMap<string, Dropped> = ledger[kind];
  const replaces = [...records.keys()].filter(
    (one) => records.get(one)?.replacedBy === id && !forgotten.has(one),
  );
  if (promoted.has(id)) return { status: "promoted", replacedBy: [], replaces };
  if (!records.has(id)) return { status: "dangling", replacedBy: [], replaces };
  // What others have written may go round in a circle.
  const replacedBy = new Set<string>();
  for (let next = records.get(id)?.replacedBy; next !== undefined && next !== id && !replacedBy.has(next); ) {
    replacedBy.add(next);
    next = records.get(next)?.replacedBy;
  }
  return {
    status: memoryStatus(ledger, kind, id) === "active" ? "active" : "dropped",
    replacedBy: [...replacedBy],
    replaces,
  };
}

/** Every record of an id on the branch: first the one that projections show, if there is one. */
function recordsOf<T extends Observation | Reflection>(
  { branch, ledger }: SessionState,
  lookup: EntryLookup,
  kind: UnshownRecord["kind"],
  id: string,
): T[] {
  const list = `${kind}s` as const;
  const shown = ledger[list].get(id);
  const unshown = ledger.unshown.get(id)?.filter((record) => record.kind === kind) ?? [];
  return readRecords<T>(shown ? [shown, ...unshown] : unshown, list, entriesOf(branch, lookup));
}

function recallSource(branch: Branch, lookup: EntryLookup, entryId: string): RecalledSource {
  const position = positionOf(branch, entryId);
  const entry = position === NOWHERE ? undefined : lookup(idAt(branch, position) ?? entryId);
  if (!entry) return { entryId, status: "missing" };
  const text = renderSource(entry, lookup);
  if (text === undefined) return { entryId, status: "not-a-source" };
  const kind = kindAt(branch, position);
  const isOutput = kind === "toolResult" || kind === "bash";
  if (!isSourceAt(branch, position)) return { entryId, status: "omitted", text, isOutput };
  const edit = isEditedAt(branch, position) ? latestEdit(branch, lookup, entryId) : undefined;
  const replacement = edit && renderSource(entry, lookup, { replacement: edit.content });
  const isReplaced = replacement !== undefined && replacement !== text;
  return { entryId, status: "found", text, isOutput, ...(isReplaced && { replacement }) };
}

/** The context edit that holds for an entry. Walks the branch's edits from the newest on. */
function latestEdit(branch: Branch, lookup: EntryLookup, targetId: string): ContextEdit | undefined {
  for (let at = branch.length - 1; at >= 0; at--) {
    if (kindAt(branch, at) !== "contextEdit") continue;
    const edit = contextEditOf(lookup(idAt(branch, at) ?? ""));
    if (edit?.targetId === targetId) return edit;
  }
  return undefined;
}
