import { type Branch, idAt, isSourceAt, kindAt, NOWHERE, nextSource } from "../../branch.ts";
import { type EntryLookup, timeOf } from "../../entries/entry.ts";
import { formatLocalMinute } from "../../entries/sources.ts";
import { estimateTextTokens } from "../../entries/tokens.ts";
import { redacted } from "../../redact.ts";
import type { SessionState } from "../../session.ts";
import { countOf, grouped } from "../../words.ts";
import { memoryId, oneLine } from "../memory-id.ts";
import { selectedReflections, selectFull } from "../projections.ts";
import {
  isMemoryId,
  MEMORY_FORGOTTEN,
  MEMORY_RESTORED,
  type MemoryForgotten,
  type MemoryRestored,
  OBSERVATIONS_DROPPED,
  OBSERVATIONS_PINNED,
  OBSERVATIONS_RECORDED,
  OBSERVATIONS_UNPINNED,
  type Observation,
  type ObservationsDropped,
  type ObservationsPinned,
  type ObservationsRecorded,
  PROMOTED,
  REFLECTIONS_DROPPED,
  type ReflectionsDropped,
} from "../records.ts";
import { type HandAct, type HandActName, isPinned, latestAct } from "./hand.ts";
import { type NamedRecord, namedRecord, unknownIdWords } from "./named-record.ts";

/** A session's memory as the user's hand finds it. */
export interface HandledMemory {
  session: SessionState;
  lookup: EntryLookup;
  /** Whether what the user writes is freed of secrets */
  redactSecrets: boolean;
  /** Whether a memory id is recorded on another branch of the session */
  isElsewhere: (id: string) => boolean;
}

export type HandEntry =
  | {
      customType: typeof OBSERVATIONS_PINNED | typeof OBSERVATIONS_UNPINNED;
      data: ObservationsPinned;
    }
  | { customType: typeof MEMORY_FORGOTTEN; data: MemoryForgotten }
  | { customType: typeof MEMORY_RESTORED; data: MemoryRestored }
  | { customType: typeof OBSERVATIONS_RECORDED; data: ObservationsRecorded }
  | { customType: typeof OBSERVATIONS_DROPPED; data: ObservationsDropped }
  | { customType: typeof REFLECTIONS_DROPPED; data: ReflectionsDropped };

/** What a command of the user's comes to: entries to append, none if nothing changes, and what the user is told. */
export interface HandAnswer {
  entries: HandEntry[];
  words: string;
}

const TAKE_BACK = "/om:undo takes that back.";

/** Pins the observations of these ids, and brings back those that memory was made to forget. */
export function pin(memory: HandledMemory, args: string): HandAnswer {
  const { ledger } = memory.session;
  const named = namedIn(memory, args, "/om:pin ID: the id at the beginning of a line of memory");
  if ("words" in named) return named;
  const reflection = named.records.find(({ id }) => !ledger.observations.has(id));
  if (reflection) return { entries: [], words: onlyReflectionWords(memory.session, reflection) };
  const ids = named.records.map(({ id }) => id);
  const promoted = ids.find((id) => ledger.hand.promoted.has(id));
  if (promoted) return { entries: [], words: `[${promoted}] was moved into AGENTS.md, where it stays.` };
  const forgotten = ids.filter((id) => ledger.hand.forgotten.has(id));
  const loose = ids.filter((id) => !isPinned(ledger.hand, id));
  const entries: HandEntry[] = [
    ...(forgotten.length > 0 ? [{ customType: MEMORY_RESTORED, data: { ids: forgotten } } as const] : []),
    ...(loose.length > 0
      ? [{ customType: OBSERVATIONS_PINNED, data: { observationIds: loose } } as const]
      : []),
  ];
  if (entries.length === 0) return { entries, words: `Pinned already:\n${textOf(named.records)}` };
  const back = forgotten.length > 0 ? " What memory had been made to forget is back." : "";
  return {
    entries,
    words: `Pinned: it stays in memory, and is the last to leave a summary.${back} ${TAKE_BACK}\n${textOf(named.records)}`,
  };
}

/** Lets the observations of these ids be dropped again, like any other. */
export function unpin(memory: HandledMemory, args: string): HandAnswer {
  const named = namedIn(memory, args, "/om:unpin ID: the id of a pinned line");
  if ("words" in named) return named;
  const { hand } = memory.session.ledger;
  const observationIds = named.records.map(({ id }) => id).filter((id) => isPinned(hand, id));
  if (observationIds.length === 0) return { entries: [], words: `Not pinned:\n${textOf(named.records)}` };
  return {
    entries: [{ customType: OBSERVATIONS_UNPINNED, data: { observationIds } }],
    words: `No longer pinned. ${TAKE_BACK}\n${textOf(named.records)}`,
  };
}

/** Takes the records of these ids out of memory. Words after the ids are the reason. */
export function forget(memory: HandledMemory, args: string): HandAnswer {
  const words = wordsOf(args);
  const reasonFrom = words.findIndex((word, at) => at > 0 && !isMemoryId(bare(word)));
  const [given, why] = reasonFrom < 0 ? [words, []] : [words.slice(0, reasonFrom), words.slice(reasonFrom)];
  const named = namedIn(memory, given.join(" "), "/om:forget ID [reason]: the id of a line of memory", args);
  if ("words" in named) return named;
  const { hand } = memory.session.ledger;
  const ids = named.records.map(({ id }) => id).filter((id) => !hand.forgotten.has(id));
  if (ids.length === 0) {
    return { entries: [], words: `Forgotten already; /om:pin brings it back.\n${textOf(named.records)}` };
  }
  const reason = cleaned(memory, why.join(" "));
  return {
    entries: [{ customType: MEMORY_FORGOTTEN, data: { ids, ...(reason !== "" && { reason }) } }],
    words: [
      `Forgotten: neither the agent nor a worker is shown it again. ${TAKE_BACK}`,
      textOf(named.records),
      ...restingOn(memory.session, ids),
    ].join("\n"),
  };
}

/** As long as a worker's line may be, in UTF-16 units */
const LONGEST_NOTE = 2000;

/** Notes a fact that the user states. It rests on the user's latest message. */
export function note(memory: HandledMemory, text: string): HandAnswer {
  const { session, lookup } = memory;
  const { branch, ledger } = session;
  const content = cleaned(memory, text);
  if (content === "") return { entries: [], words: "/om:note TEXT: a fact that memory keeps as you say it." };
  if (content.length > LONGEST_NOTE) {
    const long = `${grouped(content.length)} characters`;
    return {
      entries: [],
      words: `A note is one line of memory, and each fold pays for it: ${long} are more than the ${grouped(LONGEST_NOTE)} that it may have. Say it shorter, or in several notes.`,
    };
  }
  const id = memoryId(content);
  if (ledger.observations.has(id)) return pin(memory, id);
  const source = latestUserEntry(branch);
  const coversUpToId = watermarkForHand(session);
  if (source === undefined || coversUpToId === undefined) {
    return {
      entries: [],
      words: "A note rests on your latest message, and there is none yet: write to the agent first.",
    };
  }
  const entry = lookup(source);
  const observation: Observation = {
    id,
    content,
    timestamp: formatLocalMinute(entry ? timeOf(entry) : 0),
    relevance: "critical",
    sourceEntryIds: [source],
    tokenCount: estimateTextTokens(content),
    origin: "user",
  };
  return {
    entries: [{ customType: OBSERVATIONS_RECORDED, data: { observations: [observation], coversUpToId } }],
    words: `Noted, and pinned: the agent sees it from the next compaction on. ${TAKE_BACK}\n[${id}] ${content}`,
  };
}

/** Takes back what the hand did last on this branch, and has not been taken back. */
export function undo({ session, lookup }: HandledMemory): HandAnswer {
  const act = latestAct(session.ledger.hand);
  if (!act)
    return { entries: [], words: "Nothing that you did by hand is left to take back on this branch." };
  const lines = act.ids.flatMap((id) => namedRecord(session, lookup, id) ?? []);
  return {
    entries: [inverseOf(act)],
    words: `Taken back: ${ACT_WORDS[act.act]}.\n${textOf(lines)}`.trimEnd(),
  };
}

/** The entries that take these records out of memory since they stand in the project's instructions now. */
export function promoted({ ledger, branch }: SessionState, ids: readonly string[]): HandEntry[] {
  const coversUpToId = watermarkForHand({ ledger, branch });
  if (coversUpToId === undefined) return [];
  const observationIds = ids.filter((id) => ledger.observations.has(id));
  const reflectionIds = ids.filter((id) => ledger.reflections.has(id));
  const entries: HandEntry[] = [];
  if (observationIds.length > 0) {
    const data: ObservationsDropped = { observationIds, coversUpToId, reason: PROMOTED };
    entries.push({ customType: OBSERVATIONS_DROPPED, data });
  }
  if (reflectionIds.length > 0) {
    const together = entries.length > 0 ? { withPrevious: true as const } : {};
    const data: ReflectionsDropped = { reflectionIds, coversUpToId, kind: PROMOTED, ...together };
    entries.push({ customType: REFLECTIONS_DROPPED, data });
  }
  return entries;
}

const ACT_WORDS: Readonly<Record<HandActName, string>> = {
  pinned: "it is no longer pinned",
  unpinned: "it is pinned again",
  noted: "memory has forgotten the note",
  forgotten: "it is in memory again",
  restored: "it is forgotten again",
  promoted: "it is in memory again, and stays in AGENTS.md until you take it out there",
};

function inverseOf({ act, ids: changed, entryId: undoes }: HandAct): HandEntry {
  const ids = [...changed];
  switch (act) {
    case "pinned":
      return { customType: OBSERVATIONS_UNPINNED, data: { observationIds: ids, undoes } };
    case "unpinned":
      return { customType: OBSERVATIONS_PINNED, data: { observationIds: ids, undoes } };
    case "noted":
    case "restored":
      return { customType: MEMORY_FORGOTTEN, data: { ids, undoes } };
    case "forgotten":
    case "promoted":
      return { customType: MEMORY_RESTORED, data: { ids, undoes } };
  }
}

/** The records that words of a command name, each once; or what is wrong with one of them. */
export function namedIn(
  { session, lookup, isElsewhere }: HandledMemory,
  args: string,
  usage: string,
  /** What the user typed, where more than ids was typed */
  typed = args,
): { records: NamedRecord[] } | HandAnswer {
  const given = wordsOf(args);
  if (given.length === 0) return { entries: [], words: usage };
  const records: NamedRecord[] = [];
  for (const word of given) {
    const record = namedRecord(session, lookup, word);
    // A user who types words looks for the line that has them, not for one with the first of them.
    if (!record) {
      const meant = records.length === 0 ? typed : word;
      return { entries: [], words: unknownIdWords(session, lookup, meant, isElsewhere) };
    }
    if (!records.some(({ id }) => id === record.id)) records.push(record);
  }
  return { records };
}

function wordsOf(args: string): string[] {
  return args.split(/[\s,]+/).filter((word) => word !== "");
}

function bare(word: string): string {
  return word.replace(/^\[|\]$/g, "").toLowerCase();
}

function textOf(records: readonly NamedRecord[]): string {
  return records.flatMap(({ lines }) => lines.map(({ text }) => text)).join("\n");
}

function cleaned({ redactSecrets }: HandledMemory, text: string): string {
  return oneLine(redactSecrets ? redacted(text) : text);
}

function onlyReflectionWords({ ledger }: SessionState, { id }: NamedRecord): string {
  const supports = ledger.reflections.get(id)?.supports ?? [];
  const known = supports.filter((support) => ledger.observations.has(support));
  const rests = known.length > 0 ? `; pin what it rests on: /om:pin ${known.join(" ")}` : "";
  return `[${id}] is a reflection. Only observations are pinned: no worker drops reflections${rests}.`;
}

/** That reflections still say something of what was forgotten. */
function restingOn({ ledger }: SessionState, ids: readonly string[]): string[] {
  const gone = new Set([...ids, ...ledger.hand.forgotten.keys()]);
  const resting = selectedReflections(selectFull(ledger)).filter(
    ({ id, supports }) => !gone.has(id) && supports.some((support) => ids.includes(support)),
  );
  if (resting.length === 0) return [];
  const them = resting.map(({ id }) => id).join(" ");
  return [
    `${countOf(resting.length, "reflection")} that ${resting.length === 1 ? "rests" : "rest"} on it ${resting.length === 1 ? "stays" : "stay"}; to forget ${resting.length === 1 ? "it" : "them"} too: /om:forget ${them}`,
  ];
}

function latestUserEntry(branch: Branch): string | undefined {
  for (let at = branch.length - 1; at >= 0; at--) {
    if (kindAt(branch, at) === "user" && isSourceAt(branch, at)) return idAt(branch, at);
  }
  return undefined;
}

/**
 * What an entry made by hand may say it covers: what observers have read already, or else nothing of the conversation, so that
 * no reader takes it for observed.
 */
function watermarkForHand({ ledger, branch }: SessionState): string | undefined {
  const { observe } = ledger.watermarks;
  if (observe !== NOWHERE) return idAt(branch, observe);
  return idAt(branch, Math.max(0, nextSource(branch, NOWHERE) - 1));
}
