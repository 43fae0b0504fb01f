import { withoutControls } from "../harmless-text.ts";
import { type CallStyle, callText, label, nestedCallsText } from "./call-text.ts";
import { type ContextEdit, contextEditOf, sourceKind } from "./describe-entry.ts";
import {
  type EntryLike,
  type EntryLookup,
  type Fields,
  fieldsOf,
  messageOf,
  textOf,
  timeOf,
} from "./entry.ts";
import { estimateTextTokens } from "./tokens.ts";

export { type ContextEdit, contextEditOf };

/** What one observer run reads. */
export interface SourceChunk {
  text: string;
  /** The entries shown, oldest first */
  sourceEntryIds: string[];
  /** Something did not fit: later entries, or the middle of an oversized one. */
  truncated: boolean;
  /** Estimated tokens of `text` */
  tokens: number;
}

/**
 * Renders a branch's entries (root first) for the observer: conversation only, context edits applied, each block
 * under its source id, oldest first, whole entries, at most `maxTokens` estimated tokens. One entry is always shown;
 * if it is too long by itself, as a marked head-and-tail excerpt.
 */
export function renderSources(
  entries: readonly EntryLike[],
  { maxTokens }: { maxTokens: number },
): SourceChunk {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const lookup: EntryLookup = (id) => byId.get(id);
  const edits = editsOf(entries);
  const blocks: string[] = [];
  const sourceEntryIds: string[] = [];
  let used = 0;
  let truncated = false;
  for (const entry of entries) {
    const edit = edits.get(entry.id);
    if (!sourceKind(entry) || edit?.omits) continue;
    const head = `[Source entry id: ${entry.id}]\n${headOf(entry, lookup)}\n`;
    const words = wordsOf(entry, edit?.content, "compact");
    const room = maxTokens - used - estimateTextTokens(head);
    const whole = wholeWithin(words, room, quoted);
    truncated = whole === undefined;
    // An excerpt stands only for an entry that no run could show whole; any other one waits for the next run.
    if (truncated && blocks.length > 0) break;
    const block = head + (whole ?? headAndTail(words, room, quoted));
    blocks.push(block);
    sourceEntryIds.push(entry.id);
    used += estimateTextTokens(block) + SEPARATOR_TOKENS;
    if (truncated) break;
  }
  const text = blocks.join("\n\n");
  return { text, sourceEntryIds, truncated, tokens: estimateTextTokens(text) };
}

/** The most that the blank line between two blocks can add. */
const SEPARATOR_TOKENS = 2;

/**
 * One conversation entry in words, under a line that says who spoke and when; undefined for anything that is not
 * conversation. It is for whoever reads one entry: calls of tools are shown argument by argument. `replacement` is the content that a context edit put in place of the entry's own; `lookup` finds the
 * call of a tool result that does not name its tool.
 */
export function renderSource(
  entry: EntryLike,
  lookup: EntryLookup,
  { replacement }: { replacement?: unknown } = {},
): string | undefined {
  if (!sourceKind(entry)) return undefined;
  return `${headOf(entry, lookup)}\n${withoutControls(wordsOf(entry, replacement, "readable"))}`;
}

/** For the observer, who must not take anything within an entry for the beginning of another. */
function quoted(words: string): string {
  return withoutControls(words).replace(LOOKS_LIKE_HEADER, "[quoted ");
}

/** The bracket that begins a source id anywhere, or a line which says who spoke. */
const LOOKS_LIKE_HEADER =
  /\[(?:(?=\s*source\s+entry\s+id\s*:)|(?<=^[ \t]*\[)(?=[^[\]\n]{1,120} @ [^[\]\n]*\][ \t]*$))/gim;

function headOf(entry: EntryLike, lookup: EntryLookup): string {
  return `[${speakerOf(entry, lookup)} @ ${formatLocalMinute(timeOf(entry))}]`;
}

/** Local time as `YYYY-MM-DD HH:MM`: how observations are dated. A time that no calendar has counts as 1970. */
export function formatLocalMinute(ms: number): string {
  const given = new Date(ms);
  const date = Number.isNaN(given.getTime()) ? new Date(0) : given;
  const digits = (n: number, count = 2) => String(n).padStart(count, "0");
  const day = [digits(date.getFullYear(), 4), digits(date.getMonth() + 1), digits(date.getDate())].join("-");
  return `${day} ${digits(date.getHours())}:${digits(date.getMinutes())}`;
}

export interface Excerpt {
  text: string;
  /** The middle was left out to stay within the budget. */
  excerpted: boolean;
}

/**
 * The text itself when it fits, else its beginning and its end around a line that says what is left out. Costs the
 * budget, not the text: ten megabytes are looked at only as far as they can be shown.
 */
export function excerpt(text: string, maxTokens: number): Excerpt {
  const whole = wholeWithin(text, maxTokens, asItIs);
  return { text: whole ?? headAndTail(text, maxTokens, asItIs), excerpted: whole === undefined };
}

type Clean = (shown: string) => string;
const asItIs: Clean = (shown) => shown;

/** The cleaned text if it is within the budget. */
function wholeWithin(text: string, maxTokens: number, clean: Clean): string | undefined {
  if (text.length > maxTokens * LONGEST_TOKEN) return undefined;
  const whole = clean(text);
  return estimateTextTokens(whole) <= maxTokens ? whole : undefined;
}

/** The beginning and the end of a text that is over the budget; no more than the mark when not even that fits. */
function headAndTail(text: string, maxTokens: number, clean: Clean): string {
  let shown = Math.max(0, Math.min(text.length - 1, maxTokens * LONGEST_TOKEN));
  for (;;) {
    const headEnd = wholeCharacter(text, Math.ceil((shown * 2) / 3));
    const tailStart = wholeCharacter(text, text.length - Math.floor(shown / 3));
    const mark = `[… ${tailStart - headEnd} characters left out …]`;
    const result = `${clean(text.slice(0, headEnd))}\n${mark}\n${clean(text.slice(tailStart))}`;
    const tokens = estimateTextTokens(result);
    if (tokens <= maxTokens) return result;
    if (shown === 0) return mark;
    shown = Math.max(0, Math.min(shown - 1, Math.floor((shown * maxTokens) / tokens)));
  }
}

/** Longer text than this many characters to a token is padding: it counts as over the budget without being read. */
const LONGEST_TOKEN = 16;

/** The next place at or after `at` that is not within a surrogate pair. */
function wholeCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}

/** The latest edit of each entry; as on a branch, an edit that stands before its target does nothing. */
function editsOf(entries: readonly EntryLike[]): Map<string, ContextEdit> {
  const edits = new Map<string, ContextEdit>();
  const seen = new Set<string>();
  for (const entry of entries) {
    const edit = contextEditOf(entry);
    if (edit && seen.has(edit.targetId)) edits.set(edit.targetId, edit);
    seen.add(entry.id);
  }
  return edits;
}

function speakerOf(entry: EntryLike, lookup: EntryLookup): string {
  const fields = fieldsOf(entry);
  if (entry.type === "custom_message") return `Custom (${label(fields.customType)})`;
  if (entry.type === "branch_summary") return "Branch summary";
  const { role, toolName, customType, isError } = messageOf(entry);
  switch (role) {
    case "user":
      return "User";
    case "assistant":
      return "Assistant";
    case "toolResult":
      return `Tool result for ${label(toolName ?? calledTool(entry, lookup))}${isError === true ? ", an error" : ""}`;
    case "bashExecution":
      return "Bash command by the user";
    default:
      return `Custom (${label(customType)})`;
  }
}

/** How far back the call of a result may stand: further than any batch of calls. */
const CALL_DISTANCE = 64;

/** The name of the tool that a result is of, from the call before it. */
function calledTool(entry: EntryLike, lookup: EntryLookup): unknown {
  const { toolCallId } = messageOf(entry);
  let before = lookup(entry.parentId ?? "");
  for (let steps = 0; before && steps < CALL_DISTANCE; steps++) {
    const { role, content } = messageOf(before);
    const blocks = role === "assistant" && Array.isArray(content) ? content.map(fieldsOf) : [];
    const call = blocks.find(({ type, id }) => type === "toolCall" && id === toolCallId);
    if (call) return call.name;
    before = lookup(before.parentId ?? "");
  }
  return undefined;
}

function wordsOf(entry: EntryLike, replacement: unknown, style: CallStyle): string {
  const fields = fieldsOf(entry);
  if (entry.type === "custom_message") return blocksOf(replacement ?? fields.content, style) || NOTHING;
  if (entry.type === "branch_summary") return textOf(fields.summary);
  const message = messageOf(entry);
  if (message.role === "bashExecution") return bashOf(message);
  const content = blocksOf(replacement ?? message.content, style);
  const notes = message.role === "assistant" ? stopNote(message) : nestedCallsText(message, style);
  return [content, notes].filter((part) => part !== "").join("\n") || NOTHING;
}

const NOTHING = "(no content)";

function bashOf({ command, output, exitCode, cancelled, truncated }: Fields): string {
  const end =
    cancelled === true
      ? "cancelled"
      : typeof exitCode === "number"
        ? `exit code ${exitCode}`
        : "no exit code";
  const cut = truncated === true ? ", output truncated by Pi" : "";
  return `$ ${textOf(command)}\n(${end}${cut})\n${textOf(output) || "(no output)"}`;
}

function stopNote({ stopReason, errorMessage }: Fields): string {
  if (stopReason === "error") return `(the request failed: ${textOf(errorMessage) || "no reason given"})`;
  if (stopReason === "aborted") return "(the user stopped this reply)";
  return stopReason === "length" ? "(this reply was cut off by the output limit)" : "";
}

function blocksOf(content: unknown, style: CallStyle): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block) => blockOf(block, style))
    .filter((block) => block !== "")
    .join("\n");
}

function blockOf(value: unknown, style: CallStyle): string {
  const block = fieldsOf(value);
  switch (block.type) {
    case "text":
      return textOf(block.text);
    case "thinking":
      if (block.redacted === true || textOf(block.thinking) === "") {
        return `(thinking, redacted, ${textOf(block.thinkingSignature).length} characters)`;
      }
      return `(thinking) ${textOf(block.thinking)}`;
    case "toolCall":
      return callText(block, style);
    case "image":
      // Base64 holds three bytes in four characters.
      return `(image, ${label(block.mimeType)}, ${Math.floor((textOf(block.data).length * 3) / 4)} bytes)`;
    default:
      return `(${label(block.type)})`;
  }
}
