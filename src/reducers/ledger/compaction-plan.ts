import {
  type Branch,
  idAt,
  isSourceAt,
  kindAt,
  NOWHERE,
  nextSource,
  positionOf,
  tokensAfter,
  tokensAt,
  tokensThrough,
} from "../branch.ts";
import { isValidCutKind } from "../entries/describe-entry.ts";
import { estimateTextTokens } from "../entries/tokens.ts";
import { redacted, redactedMemory } from "../redact.ts";
import { poolTarget, type Settings } from "../settings.ts";
import { type EvidenceSizes, evidenceSizes, HINT_TOKENS } from "./evidence-size.ts";
import {
  type FoldRoom,
  type FoldRoomSettings,
  fitted,
  fittedRecords,
  foldRoom,
  summaryRoom,
} from "./fold-room.ts";
import type { Ledger } from "./ledger.ts";
import {
  isEmptySelection,
  orderedObservations,
  readProjection,
  type Selection,
  selectedReflections,
  selectForCompaction,
} from "./projections.ts";
import type { EntryAt } from "./record-text.ts";
import { FOLDED, type MemoryDetails } from "./records.ts";
import { renderSummary, type Unobserved } from "./summary.ts";
import { touchedBlock } from "./touched.ts";

export interface CompactionPlan {
  /** The first entry to keep: the proposed one, or an earlier one when unobserved entries are kept with it. */
  firstKeptEntryId: string;
  summary: string;
  details: MemoryDetails;
  unobserved: Unobserved;
  /** Lines of memory that the summary had no room for */
  leftOut: number;
  /** How much stands behind some of its lines */
  evidence: EvidenceSizes;
  /** Its block of what tools touched; `""` for none */
  touched: string;
}

export type CompactionSettings = Pick<Settings, "foldPolicy" | "compactionGapMaxTokens" | "summaryFiles"> &
  Partial<Pick<Settings, "redactSecrets">> &
  FoldRoomSettings;

export interface FoldRequest {
  /** The first entry that Pi proposes to keep */
  firstKeptEntryId: string;
  /** Unset: as for a window that is not known */
  room?: FoldRoom | undefined;
  /** What the user asked of this compaction (`/compact …`) */
  instructions?: string | undefined;
}

/** What a fold would hold, before any text is read. */
export interface FoldCut {
  /** Position of the first entry to keep; the branch's length when nothing is kept. */
  cut: number;
  /** Its id, or the proposed one when that is not on the branch. */
  firstKeptEntryId: string;
  selection: Selection & { readonly fullFold: boolean };
  /** Tokens that its summary may have */
  summaryTokens: number;
}

/** Where a fold would cut when `firstKeptEntryId` is proposed, and which records it would show if it had room for all. */
export function planCut(
  branch: Branch,
  ledger: Ledger,
  { firstKeptEntryId, room }: FoldRequest,
  settings: CompactionSettings,
): FoldCut {
  const given = room ?? foldRoom(settings, {});
  const { summary, together } = given;
  const proposed = positionOf(branch, firstKeptEntryId);
  const end = proposed === NOWHERE ? branch.length : proposed;
  const free = together - Math.min(summary, poolTarget(settings)) - tokensAfter(branch, end - 1);
  const cut = cutThatHidesNothing(branch, ledger, end, Math.min(settings.compactionGapMaxTokens, free));
  return {
    cut,
    firstKeptEntryId: idAt(branch, cut) ?? firstKeptEntryId,
    selection: selectForCompaction(ledger, cut, settings, summary),
    summaryTokens: summaryRoom(given, tokensAfter(branch, cut - 1)),
  };
}

/**
 * What our compaction hook answers to a proposed cut, or undefined when memory is empty and Pi's own
 * summariser should do it. No model, no waiting: it only reads what the ledger holds.
 */
export function planFold(
  branch: Branch,
  ledger: Ledger,
  request: FoldRequest,
  settings: CompactionSettings,
  entryAt: EntryAt,
): CompactionPlan | undefined {
  const { selection, cut, firstKeptEntryId, summaryTokens } = planCut(branch, ledger, request, settings);
  if (isEmptySelection(selection)) return undefined;
  const unobserved = unobservedBefore(branch, ledger, cut);
  const { redactSecrets = true } = settings;
  const clean = redactSecrets ? redacted : (text: string) => text;
  const instructions = clean(request.instructions ?? "");
  const touched = settings.summaryFiles ? clean(touchedBlock(branch, cut, entryAt, summaryTokens)) : "";
  const room = summaryTokens - estimateTextTokens(touched) - estimateTextTokens(instructions);
  const { pinned } = ledger.hand;
  const records = fittedRecords(orderedObservations(selection), selectedReflections(selection), room, pinned);
  const shown = fitted(readProjection(records, entryAt), room, pinned);
  const evidence = evidenceSizes(branch, ledger, shown, entryAt);
  // What the hints take, lines have to leave.
  const { leftOut: crowdedOut, ...chosen } = fitted(shown, room - evidence.size * HINT_TOKENS, pinned);
  // Only what is shown is looked through, not all that there is.
  const projection = redactSecrets ? redactedMemory(chosen) : chosen;
  const leftOut = records.leftOut + shown.leftOut + crowdedOut;
  const notes = { unobserved, leftOut, instructions, evidence, touched };
  const summary = renderSummary(projection, notes);
  if (summary === "") return undefined;
  const { fullFold } = selection;
  return {
    firstKeptEntryId,
    summary,
    details: { type: FOLDED, version: 1, fullFold, ...projection },
    unobserved,
    leftOut,
    evidence,
    touched,
  };
}

/** What a compaction would have to keep so that nothing unobserved leaves the context. */
export interface UnobservedTail {
  /** Source tokens from the last valid cut before the first unobserved entry on; Infinity when there is no such cut. */
  tokens: number;
  /** That entry is a result of a tool batch of which some is observed, so that observed entries must be kept with it. */
  splitsBatch: boolean;
}

/** The unobserved tail of what is in context. Costs the distance from the watermark to it. */
export function unobservedTail(branch: Branch, ledger: Ledger): UnobservedTail {
  const alreadyCut = alreadyCutThrough(ledger);
  const first = firstUnobservedFrom(branch, ledger, alreadyCut);
  if (first === NOWHERE) return { tokens: 0, splitsBatch: false };
  const cut = validCutAtOrBefore(branch, first, alreadyCut);
  if (cut === NOWHERE) return { tokens: Number.POSITIVE_INFINITY, splitsBatch: false };
  return { tokens: tokensAfter(branch, cut - 1), splitsBatch: cut < first };
}

/** What an earlier compaction already cut stays cut. */
function alreadyCutThrough(ledger: Ledger): number {
  return ledger.latestCompaction?.cut ?? 0;
}

function firstUnobservedFrom(branch: Branch, ledger: Ledger, position: number): number {
  return nextSource(branch, Math.max(ledger.watermarks.observe, position - 1));
}

const LARGEST_GAP_SHARE = 0.5;

/**
 * The cut, moved back so that source entries that nobody has observed stay verbatim and tool results keep their
 * call, if that keeps at most `gapMaxTokens` more. Of what would be cut, half is: a compaction that frees next to nothing would
 * come again with the next turn.
 */
function cutThatHidesNothing(branch: Branch, ledger: Ledger, end: number, gapMaxTokens: number): number {
  const alreadyCut = alreadyCutThrough(ledger);
  const unobserved = firstUnobservedFrom(branch, ledger, alreadyCut);
  const cutTokens = tokensThrough(branch, end - 1) - tokensThrough(branch, alreadyCut - 1);
  const wished = [
    ...(unobserved !== NOWHERE && unobserved < end
      ? [{ position: unobserved, most: cutTokens * LARGEST_GAP_SHARE }]
      : []),
    ...(separatesCall(branch, end) ? [{ position: end, most: cutTokens }] : []),
  ];
  for (const { position, most } of wished) {
    const cut = validCutAtOrBefore(branch, position, alreadyCut);
    if (cut === NOWHERE) continue;
    const extra = tokensThrough(branch, end - 1) - tokensThrough(branch, cut - 1);
    if (extra <= Math.min(gapMaxTokens, most)) return cut;
  }
  return end;
}

function validCutAtOrBefore(branch: Branch, position: number, lowest: number): number {
  for (let at = position; at >= lowest; at--) if (isValidCut(branch, at)) return at;
  return NOWHERE;
}

/** A cut may stand before any message but a tool result, and not between a tool call and its result. */
function isValidCut(branch: Branch, position: number): boolean {
  const kind = kindAt(branch, position);
  return kind !== undefined && isValidCutKind(kind) && !separatesCall(branch, position);
}

/** Whether a tool result after the position belongs to a call before it: results follow their call's reply. */
function separatesCall(branch: Branch, position: number): boolean {
  for (let at = position; at < branch.length; at++) {
    const kind = kindAt(branch, at);
    if ((kind !== "assistant" && kind !== "toolResult") || !isSourceAt(branch, at)) continue;
    return kind === "toolResult";
  }
  return false;
}

function unobservedBefore(branch: Branch, ledger: Ledger, cut: number): Unobserved {
  const unobserved = { entries: 0, tokens: 0 };
  for (let at = ledger.watermarks.observe + 1; at < cut; at++) {
    if (!isSourceAt(branch, at)) continue;
    unobserved.entries++;
    unobserved.tokens += tokensAt(branch, at);
  }
  return unobserved;
}
