import { type Branch, idAt, isSourceAt, kindAt, NOWHERE, positionOf } from "../branch.ts";
import type { EntryLookup } from "../entries/entry.ts";
import { type ContextEdit, contextEditOf, renderSource } from "../entries/sources.ts";
import type { SessionState } from "../session.ts";
import { type Ledger, memoryStatus, type UnshownRecord } from "./ledger.ts";
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

/** `dangling`: recorded for a range that is not on this branch, so no projection shows it. */
export type RecordStatus = "active" | "dropped" | "dangling";

export interface RecalledObservation {
  /** The record that memory shows: the first of its id */
  observation: Observation;
  status: RecordStatus;
  /** What superseded it, what superseded that in its turn, and so on: ids, the last one the newest. Empty for most. */
  replacedBy: string[];
  /** Those of every record of this id, each once */
  sources: RecalledSource[];
}

export interface RecalledReflection {
  reflection: Reflection;
  status: RecordStatus;
  /** What replaced it, likewise */
  replacedBy: string[];
  /** What every record of this id rests on, each once */
  supporting: RecalledObservation[];
  /** Cited observation ids that this branch does not have. */
  missingObservationIds: string[];
}

/** What an id stands for. Both parts are set when an observation and a reflection share the id. */
export interface Recalled {
  id: string;
  observation?: RecalledObservation;
  reflection?: RecalledReflection;
}

/** Looks an id up in the branch's whole ledger history, dropped and dangling records included. */
export function recallFrom(session: SessionState, lookup: EntryLookup, id: string): Recalled {
  const observation = recallObservation(session, lookup, id);
  const reflection = recallReflection(session, lookup, id);
  return { id, ...(observation && { observation }), ...(reflection && { reflection }) };
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
  for (const observationId of new Set(records.flatMap((one) => one.supportingObservationIds))) {
    const observation = recallObservation(session, lookup, observationId);
    if (observation) supporting.push(observation);
    else missingObservationIds.push(observationId);
  }
  return { reflection, ...fateOf(session.ledger, "reflections", id), supporting, missingObservationIds };
}

/** What became of a record of the ledger. */
export function fateOf(
  ledger: Ledger,
  kind: "observations" | "reflections",
  id: string,
): { status: RecordStatus; replacedBy: string[] } {
  const records = ledger[kind];
  if (!records.has(id)) return { status: "dangling", replacedBy: [] };
  // What others have written may go round in a circle.
  const replacedBy = new Set<string>();
  for (let next = records.get(id)?.replacedBy; next !== undefined && next !== id && !replacedBy.has(next); ) {
    replacedBy.add(next);
    next = records.get(next)?.replacedBy;
  }
  return {
    status: memoryStatus(ledger, kind, id) === "active" ? "active" : "dropped",
    replacedBy: [...replacedBy],
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
  const edit = latestEdit(branch, lookup, entryId);
  const replacement = edit && renderSource(entry, lookup, { replacement: edit.content });
  const isReplaced = replacement !== undefined && replacement !== text;
  return { entryId, status: "found", text, isOutput, ...(isReplaced && { replacement }) };
}

/** The context edit that holds for an entry. Walks the branch's edits from the newest on. */
function latestEdit(branch: Branch, lookup: EntryLookup, targetId: string): ContextEdit | undefined {
  if (branch.edits.length === 0) return undefined;
  for (let at = branch.length - 1; at >= 0; at--) {
    if (kindAt(branch, at) !== "contextEdit") continue;
    const edit = contextEditOf(lookup(idAt(branch, at) ?? ""));
    if (edit?.targetId === targetId) return edit;
  }
  return undefined;
}
