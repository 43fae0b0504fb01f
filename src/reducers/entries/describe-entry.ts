import { WorkerSchema } from "../engine/lane-names.ts";
import type { HandActName } from "../ledger/hand/hand.ts";
import {
  COST,
  FOLDED,
  isMemoryId,
  isObservation,
  isReflection,
  MEMORY_FORGOTTEN,
  MEMORY_RESTORED,
  OBSERVATIONS_DROPPED,
  OBSERVATIONS_PINNED,
  OBSERVATIONS_RECORDED,
  OBSERVATIONS_UNPINNED,
  PROMOTED,
  REFLECTIONS_DROPPED,
  REFLECTIONS_RECORDED,
} from "../ledger/records.ts";
import { dateOf } from "../words.ts";
import {
  type EntryLike,
  type EntryLookup,
  type Fields,
  fieldsOf,
  messageOf,
  textOf,
  timeOf,
} from "./entry.ts";
import type { EntryFact, EntryKind, LedgerFact } from "./entry-fact.ts";
import { estimateMessageTokens } from "./tokens.ts";

/**
 * What the engine knows of a session entry: its kind, what it counts, and its memory records without their text.
 * Total: whatever a damaged file or a newer Pi holds, it is described and nothing is thrown.
 * `lookup` finds the target of a context edit.
 */
export function describeEntry(entry: EntryLike, lookup: EntryLookup): EntryFact {
  const id = textOf(entry.id);
  switch (entry.type) {
    case "message":
    case "custom_message":
    case "branch_summary": {
      const kind = sourceKind(entry);
      if (!kind) return other(id);
      return { id, kind, tokens: estimateMessageTokens(contextMessage(entry)), source: true };
    }
    case "context_edit":
      return describeEdit(other(id), entry, lookup);
    case "compaction":
      return describeCompaction(other(id), entry);
    case "custom":
      return describeCustom(other(id), entry);
    default:
      return other(id);
  }
}

/** An entry that is no conversation and holds nothing for the ledger. */
function other(id: string): EntryFact {
  return { id, kind: "other", tokens: 0 };
}

const CUT_KINDS: readonly EntryKind[] = [
  "user",
  "assistant",
  "bash",
  "custom",
  "customMessage",
  "branchSummary",
];

/** Whether Pi may begin the kept part of a conversation with an entry of this kind; a tool result never begins it. */
export function isValidCutKind(kind: EntryKind): boolean {
  return CUT_KINDS.includes(kind);
}

const MESSAGE_KINDS: ReadonlyMap<unknown, EntryKind> = new Map([
  ["user", "user"],
  ["assistant", "assistant"],
  ["toolResult", "toolResult"],
  ["custom", "custom"],
  ["bashExecution", "bash"],
]);

/** The kind of a conversation entry; undefined for the system prompt, hidden commands and anything unknown. */
export function sourceKind(entry: EntryLike): EntryKind | undefined {
  if (entry.type === "custom_message") return "customMessage";
  if (entry.type === "branch_summary")
    return textOf(fieldsOf(entry).summary) === "" ? undefined : "branchSummary";
  if (entry.type !== "message") return undefined;
  const { role, excludeFromContext } = messageOf(entry);
  if (role === "bashExecution" && excludeFromContext) return undefined;
  return MESSAGE_KINDS.get(role);
}

/** The message that Pi makes of an entry, as far as its token estimate goes. */
function contextMessage(entry: EntryLike): object {
  const fields = fieldsOf(entry);
  if (entry.type === "custom_message") return { role: "custom", content: fields.content };
  if (entry.type === "branch_summary") return { role: "branchSummary", summary: fields.summary };
  return messageOf(entry);
}

/** What a context edit does to an entry. */
export interface ContextEdit {
  targetId: string;
  /** Takes the entry out of the context. */
  omits: boolean;
  /** Stands in the place of the entry's content. */
  content: unknown;
}

/** The context edit that an entry is; undefined for any other entry, and for an edit that says nothing. */
export function contextEditOf(entry: EntryLike | undefined): ContextEdit | undefined {
  if (entry?.type !== "context_edit") return undefined;
  const { targetId, replacement } = fieldsOf(entry);
  const { content } = fieldsOf(replacement);
  const replaces = typeof content === "string" || Array.isArray(content);
  if (typeof targetId !== "string" || (replacement !== null && !replaces)) return undefined;
  return { targetId, omits: replacement === null, content };
}

const EDITABLE_KINDS: readonly EntryKind[] = ["user", "assistant", "toolResult", "custom", "customMessage"];

function describeEdit(base: EntryFact, entry: EntryLike, lookup: EntryLookup): EntryFact {
  const fact: EntryFact = { ...base, kind: "contextEdit" };
  const edit = contextEditOf(entry);
  const target = edit && lookup(edit.targetId);
  const kind = target && sourceKind(target);
  if (!kind) return fact;
  const { targetId, omits, content } = edit;
  if (omits) return { ...fact, edit: { targetId, tokens: null } };
  // Pi lets a shell command or a branch summary stand as it is, but the latest edit counts: an omission ends here.
  const message = EDITABLE_KINDS.includes(kind)
    ? { ...contextMessage(target), content: asContentOf(kind, content) }
    : contextMessage(target);
  return { ...fact, edit: { targetId, tokens: estimateMessageTokens(message) } };
}

/** Assistant messages and tool results hold blocks only, so Pi turns a plain replacement into one. */
function asContentOf(kind: EntryKind, content: unknown): unknown {
  const needsBlocks = kind === "assistant" || kind === "toolResult";
  return needsBlocks && typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function describeCompaction(base: EntryFact, entry: EntryLike): EntryFact {
  const { firstKeptEntryId, details } = fieldsOf(entry);
  const { type, version, fullFold, observations, reflections } = fieldsOf(details);
  const folded =
    type === FOLDED &&
    version === 1 &&
    typeof fullFold === "boolean" &&
    Array.isArray(observations) &&
    Array.isArray(reflections);
  const looksLikeMemory = textOf(type).startsWith("om.") || type === V2_DETAILS;
  const compaction = { firstKeptEntryId: textOf(firstKeptEntryId), folded, fullFold: folded && fullFold };
  const fact: EntryFact = { ...base, kind: "compaction", compaction };
  if (!folded) {
    if (!looksLikeMemory) return fact;
    return { ...fact, ignored: { reason: type === FOLDED ? "malformed" : "v2", records: 1 } };
  }
  const malformed = countInvalid(isObservation, observations) + countInvalid(isReflection, reflections);
  return malformed > 0 ? { ...fact, ignored: { reason: "malformed", records: malformed } } : fact;
}

function countInvalid(isValid: (value: unknown) => boolean, values: readonly unknown[]): number {
  return values.reduce<number>((count, value) => (isValid(value) ? count : count + 1), 0);
}

/** The `details` type of the V2 implementation, whose memory is not read. */
const V2_DETAILS = "observational-memory";

function describeCustom(base: EntryFact, entry: EntryLike): EntryFact {
  const { customType, data } = fieldsOf(entry);
  const { coversUpToId, observations, reflections, observationIds, reflectionIds, ids, reason, kind } =
    fieldsOf(data);
  switch (customType) {
    case OBSERVATIONS_RECORDED:
      return withNotes(
        data,
        describeLedger(base, coversUpToId, observations, (watermark, values) => ({
          type: "observations",
          coversUpToId: watermark,
          records: validRecords(isObservation, values, (record, index) => ({
            id: record.id,
            tokens: record.tokenCount,
            relevance: record.relevance,
            sources: record.sourceEntryIds,
            index,
          })),
        })),
      );
    case REFLECTIONS_RECORDED:
      return describeLedger(base, coversUpToId, reflections, (watermark, values) => ({
        type: "reflections",
        coversUpToId: watermark,
        records: validRecords(isReflection, values, (record, index) => ({
          id: record.id,
          tokens: record.tokenCount,
          supports: record.supportingObservationIds,
          index,
        })),
      }));
    case OBSERVATIONS_DROPPED:
      if (reason === PROMOTED) return describeHand(base, "promoted", observationIds, data);
      return describeLedger(base, coversUpToId, observationIds, (watermark, values) => ({
        type: "drops",
        coversUpToId: watermark,
        ...dropsOf("observationIds", values, fieldsOf(data).supersededBy),
      }));
    case REFLECTIONS_DROPPED:
      if (kind === PROMOTED) return describeHand(base, "promoted", reflectionIds, data);
      // Others may write it without a marker: it then holds from where it stands.
      return describeLedger(base, coversUpToId ?? entry.parentId, reflectionIds, (watermark, values) => ({
        type: "drops",
        coversUpToId: watermark,
        observationIds: [],
        ...dropsOf("reflectionIds", values, fieldsOf(data).replacedBy),
      }));
    case OBSERVATIONS_PINNED:
      return describeHand(base, "pinned", observationIds, data);
    case OBSERVATIONS_UNPINNED:
      return describeHand(base, "unpinned", observationIds, data);
    case MEMORY_FORGOTTEN:
      return describeHand(base, "forgotten", ids, data);
    case MEMORY_RESTORED:
      return describeHand(base, "restored", ids, data);
    case COST:
      return { ...base, ...costOf(entry, fieldsOf(data)) };
    default:
      return textOf(customType).startsWith("om.") ? { ...base, ignored: { reason: "v2", records: 1 } } : base;
  }
}

/** What the user did by hand to the records of these ids. */
function describeHand(base: EntryFact, act: HandActName, values: unknown, data: unknown): EntryFact {
  if (!Array.isArray(values)) return { ...base, ignored: { reason: "malformed", records: 1 } };
  const ids = validRecords(isMemoryId, values, (id) => id);
  const malformed = values.length - ids.length;
  const ignored = malformed > 0 && { ignored: { reason: "malformed" as const, records: malformed } };
  const { undoes, withPrevious } = fieldsOf(data);
  const hand = {
    ...{ act, ids },
    ...(typeof undoes === "string" && { undoes }),
    ...(withPrevious === true && { withPrevious }),
  };
  return { ...base, ...(ids.length > 0 && { kind: "ledger", hand }), ...ignored };
}

/** The fact of recorded observations, some of which the user may have noted. */
function withNotes(data: unknown, fact: EntryFact): EntryFact {
  const { observations } = fieldsOf(data);
  if (fact.ledger?.type !== "observations" || !Array.isArray(observations)) return fact;
  const noted = fact.ledger.records.filter(({ index }) => fieldsOf(observations[index]).origin === "user");
  if (noted.length === 0) return fact;
  return { ...fact, hand: { act: "noted", ids: noted.map(({ id }) => id) } };
}

/** What an entry says that a run took; nothing where it names no worker of ours. */
function costOf(entry: EntryLike, { worker, usage, cost }: Fields): Pick<EntryFact, "cost"> {
  const known = WorkerSchema.safeParse(worker);
  if (!known.success) return {};
  const { input, output, cacheRead, cacheWrite } = fieldsOf(usage);
  const at = timeOf(entry);
  const fact = {
    worker: known.data,
    day: at > 0 ? dateOf(at) : "",
    input: amountOf(input) + amountOf(cacheRead) + amountOf(cacheWrite),
    output: amountOf(output),
  };
  return { cost: typeof cost === "number" ? { ...fact, usd: amountOf(cost) } : fact };
}

function amountOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function describeLedger(
  base: EntryFact,
  coversUpToId: unknown,
  values: unknown,
  read: (coversUpToId: string, values: readonly unknown[]) => LedgerFact,
): EntryFact {
  if (typeof coversUpToId !== "string" || coversUpToId === "" || !Array.isArray(values)) {
    return { ...base, ignored: { reason: "malformed", records: 1 } };
  }
  const ledger = read(coversUpToId, values);
  const kept = recordsIn(ledger);
  const malformed = values.length - kept;
  // A watermark without a single record would hide what lies before it: let it be observed again.
  if (kept === 0) {
    return malformed > 0 ? { ...base, ignored: { reason: "malformed", records: malformed } } : base;
  }
  return {
    ...base,
    kind: "ledger",
    ledger,
    ...(malformed > 0 ? { ignored: { reason: "malformed", records: malformed } } : {}),
  };
}

/** How many records a ledger entry holds, or drops. */
export function recordsIn(ledger: LedgerFact): number {
  if (ledger.type !== "drops") return ledger.records.length;
  return ledger.observationIds.length + (ledger.reflectionIds?.length ?? 0);
}

/** The dropped ids, and what stands in their place: one id for all of them, or one by dropped id. */
function dropsOf<L extends string>(list: L, values: readonly unknown[], by: unknown) {
  const ids = validRecords(isMemoryId, values, (id) => id);
  const replacements = ids.flatMap((id) => {
    const replacement = typeof by === "object" ? fieldsOf(by)[id] : by;
    return isMemoryId(replacement) && replacement !== id ? [[id, replacement] as const] : [];
  });
  return {
    ...({ [list]: ids } as Record<L, string[]>),
    ...(replacements.length > 0 && { replacedBy: Object.fromEntries(replacements) }),
  };
}

function validRecords<T, R>(
  isValid: (value: unknown) => value is T,
  values: readonly unknown[],
  take: (record: T, index: number) => R,
): R[] {
  const records: R[] = [];
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (isValid(value)) records.push(take(value, index));
  }
  return records;
}
