import { describeEntry } from "./describe-entry.ts";
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
  let tokens = 0;
  let truncated = false;
  for (const entry of entries) {
    const edit = edits.get(entry.id);
    if (edit?.omits) continue;
    const head = `[Source entry id: ${entry.id}]\n`;
    const limit = maxTokens - estimateTextTokens(head);
    const body = renderForObserver(entry, lookup, { replacement: edit?.content, maxTokens: limit });
    if (body === undefined) continue;
    const block = head + body.text;
    const cost = estimateTextTokens(block) + SEPARATOR_TOKENS;
    // An excerpt stands only for an entry that no run could show whole; any other one waits for the next run.
    if (blocks.length > 0 && (body.excerpted || tokens + cost > maxTokens)) {
      truncated = true;
      break;
    }
    blocks.push(block);
    sourceEntryIds.push(entry.id);
    tokens += cost;
    if (body.excerpted) {
      truncated = true;
      break;
    }
  }
  return { text: blocks.join("\n\n"), sourceEntryIds, truncated, tokens };
}

const SEPARATOR_TOKENS = 1;

/**
 * One conversation entry in words, under a line that says who spoke and when; undefined for anything that is not
 * conversation. `replacement` is the content that a context edit put in place of the entry's own.
 */
export function renderSource(
  entry: EntryLike,
  lookup: EntryLookup,
  { replacement }: { replacement?: unknown } = {},
): string | undefined {
  if (!describeEntry(entry, lookup).source) return undefined;
  return `${headOf(entry)}\n${harmless(wordsOf(entry, replacement))}`;
}

/** The same within a budget for the observer, who must not take anything in it for another entry's beginning. */
function renderForObserver(
  entry: EntryLike,
  lookup: EntryLookup,
  { replacement, maxTokens }: { replacement: unknown; maxTokens: number },
): Excerpt | undefined {
  if (!describeEntry(entry, lookup).source) return undefined;
  const head = `${headOf(entry)}\n`;
  const limit = Math.max(1, maxTokens - estimateTextTokens(head));
  const body = excerpt(wordsOf(entry, replacement), limit, quoted);
  return { text: head + body.text, excerpted: body.excerpted };
}

function quoted(words: string): string {
  return harmless(words).replace(LOOKS_LIKE_HEADER, "[quoted ");
}

/** The bracket that begins a source id anywhere, or a line which says who spoke. */
const LOOKS_LIKE_HEADER =
  /\[(?:(?=\s*source\s+entry\s+id\s*:)|(?<=^[ \t]*\[)(?=[^[\]\n]{1,120} @ [^[\]\n]*\][ \t]*$))/gim;

function headOf(entry: EntryLike): string {
  return `[${speakerOf(entry)} @ ${formatLocalMinute(timeOf(entry))}]`;
}

/** Local time as `YYYY-MM-DD HH:MM`: how observations are dated. */
export function formatLocalMinute(ms: number): string {
  const date = new Date(ms);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

export interface Excerpt {
  text: string;
  /** The middle was left out to stay within the budget. */
  excerpted: boolean;
}

/**
 * The text itself when it fits, else its beginning and its end around a line that says what is left out; what is shown
 * goes through `clean`. Costs the budget, not the text: ten megabytes are looked at only as far as they can be shown.
 */
export function excerpt(
  text: string,
  maxTokens: number,
  clean: (shown: string) => string = (shown) => shown,
): Excerpt {
  if (text.length <= maxTokens * LONGEST_TOKEN) {
    const whole = clean(text);
    if (estimateTextTokens(whole) <= maxTokens) return { text: whole, excerpted: false };
  }
  let shown = Math.min(text.length, maxTokens * LONGEST_TOKEN);
  for (;;) {
    const headEnd = wholeCharacter(text, Math.ceil((shown * 2) / 3));
    const tailStart = wholeCharacter(text, text.length - Math.floor(shown / 3));
    const left = tailStart - headEnd;
    const [head, tail] = [clean(text.slice(0, headEnd)), clean(text.slice(tailStart))];
    const result = `${head}\n[… ${left} characters left out …]\n${tail}`;
    const tokens = estimateTextTokens(result);
    if (tokens <= maxTokens || shown <= 1) return { text: result, excerpted: true };
    shown = Math.min(shown - 1, Math.floor((shown * maxTokens) / tokens));
  }
}

/** No run of text has fewer tokens than its characters over this. */
const LONGEST_TOKEN = 16;

function wholeCharacter(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
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
  if (typeof targetId !== "string" || (replacement !== null && content === undefined)) return undefined;
  return { targetId, omits: replacement === null, content };
}

/** The latest edit of each entry. */
function editsOf(entries: readonly EntryLike[]): Map<string, ContextEdit> {
  const edits = new Map<string, ContextEdit>();
  for (const entry of entries) {
    const edit = contextEditOf(entry);
    if (edit) edits.set(edit.targetId, edit);
  }
  return edits;
}

function speakerOf(entry: EntryLike): string {
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
      return `Tool result for ${label(toolName)}${isError === true ? ", an error" : ""}`;
    case "bashExecution":
      return "Bash command by the user";
    default:
      return `Custom (${label(customType)})`;
  }
}

/** A name from the session, fit to stand in a block's first line. */
function label(name: unknown): string {
  const text = harmless(textOf(name))
    .replace(/[\s[\]]+/g, " ")
    .trim();
  return text === "" ? "unnamed" : text.slice(0, 80);
}

function wordsOf(entry: EntryLike, replacement: unknown): string {
  const fields = fieldsOf(entry);
  if (entry.type === "custom_message") return blocksOf(replacement ?? fields.content);
  if (entry.type === "branch_summary") return textOf(fields.summary);
  const message = messageOf(entry);
  if (message.role === "bashExecution") return bashOf(message);
  const content = blocksOf(replacement ?? message.content);
  const notes = message.role === "assistant" ? stopNote(message) : nestedCalls(message);
  return [content, notes].filter((part) => part !== "").join("\n") || "(no content)";
}

function bashOf({ command, output, exitCode, cancelled, truncated }: Fields): string {
  const end =
    cancelled === true
      ? "cancelled"
      : typeof exitCode === "number"
        ? `exit code ${exitCode}`
        : "no exit code";
  const cut = truncated === true ? ", output truncated by Pi" : "";
  return `$ ${textOf(command)}\n(${end}${cut})\n${textOf(output)}`;
}

function stopNote({ stopReason, errorMessage }: Fields): string {
  if (stopReason === "error") return `(the request failed: ${textOf(errorMessage) || "no reason given"})`;
  if (stopReason === "aborted") return "(the user stopped this reply)";
  return stopReason === "length" ? "(this reply was cut off by the output limit)" : "";
}

/** What a tool result says of the calls that its tool made itself. */
function nestedCalls({ nestedCalls }: Fields): string {
  const { calls } = fieldsOf(nestedCalls);
  if (!Array.isArray(calls) || calls.length === 0) return "";
  const lines = calls.map((call) => {
    const { name, status, error, arguments: args } = fieldsOf(call);
    return `- ${label(name)} ${json(args)}: ${label(status)}${typeof error === "string" ? ` (${error})` : ""}`;
  });
  return `(tools called inside this one)\n${lines.join("\n")}`;
}

function blocksOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map(blockOf)
    .filter((block) => block !== "")
    .join("\n");
}

function blockOf(block: unknown): string {
  const {
    type,
    text,
    thinking,
    thinkingSignature,
    redacted,
    name,
    data,
    mimeType,
    arguments: args,
  } = fieldsOf(block);
  switch (type) {
    case "text":
      return textOf(text);
    case "thinking":
      if (redacted === true || textOf(thinking) === "") {
        return `(thinking, redacted, ${textOf(thinkingSignature).length} characters)`;
      }
      return `(thinking) ${textOf(thinking)}`;
    case "toolCall":
      return `(calls ${label(name)} ${json(args)})`;
    case "image":
      // Base64 holds three bytes in four characters.
      return `(image, ${label(mimeType)}, ${Math.floor((textOf(data).length * 3) / 4)} bytes)`;
    default:
      return `(${label(type)})`;
  }
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "(unreadable arguments)";
  }
}

/** Text that no model server, terminal or JSON parser stumbles over: control characters and lone surrogates replaced. */
function harmless(text: string): string {
  return text.toWellFormed().replace(/\r\n?/g, "\n").replace(CONTROL_CHARACTERS, "\uFFFD");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go; tab and line feed may stay
const CONTROL_CHARACTERS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
