import { estimateTextTokens } from "../../../reducers/entries/text-tokens.ts";
import { harmlessText } from "../../../reducers/harmless-text.ts";
import { asCleanLine } from "../../../reducers/ledger/memory-id.ts";
import { redacted } from "../../../reducers/redact.ts";
import { grouped } from "../../../reducers/words.ts";

/**
 * The block of promoted lines in a file of instructions such as `AGENTS.md`:
 *
 *     <!-- memory-lanes:begin (about 61 tokens of every request; …) -->
 *     - Use pnpm, never npm. <!-- 019ab3c4-d5e6 a1b2c3d4e5f6 -->
 *     <!-- memory-lanes:end -->
 *
 * What stands in it belongs to whoever edits the file: lines are only ever added at its end, and of its first line nothing but
 * the number of tokens is kept up to date.
 */

/** A line of memory that is to stand there. */
export interface Promoted {
  /** Memory id */
  id: string;
  /** The session that it comes from */
  sessionId: string;
  content: string;
}

/** Lines that give way to others: `remove` of them from line `at` on, counted from 0. */
export interface Edit {
  at: number;
  remove: readonly string[];
  add: readonly string[];
}

/** What adding lines to a file's text comes to. */
export interface BlockPlan {
  /** The whole text as it will be; the same as before when nothing is to be added */
  text: string;
  /** What changes, in the order of the text; lines are without their ends. */
  edits: readonly Edit[];
  /** Ids of those that it adds */
  added: readonly string[];
  /** Ids of those that stand in the block already */
  present: readonly string[];
  /** Estimated tokens of the whole block as it will be, and of it as it is */
  tokens: { after: number; before: number };
}

/** A block that cannot be written to; the message names the line and what to do. */
export class BrokenBlockError extends Error {
  override name = "BrokenBlockError";
}

const BEGIN = "memory-lanes:begin";
const END = "<!-- memory-lanes:end -->";
const FIRST_LINE =
  `<!-- ${BEGIN} (about 0 tokens of every request; by /om:promote, yours to edit; ` +
  "a line's source: memory-lanes recall SESSION ID) -->";
const BYTE_ORDER_MARK = "\uFEFF";
const TOKENS = /\babout [\d,]+ tokens?\b/;
const MARKER = /^\s*<!--\s*memory-lanes:(begin|end)\b(.*)$/;
const ORIGIN = /<!--\s*\S+\s+([0-9a-f]{12})\s*-->\s*$/;

/**
 * Adds lines to the block of a text, which gets one at its end if it has none. All around the block stays as it is, byte for
 * byte, and so does what stands in it; new lines end as those of the text do. Planning on what was planned changes nothing.
 * Throws `BrokenBlockError`.
 */
export function planBlock(text: string, lines: readonly Promoted[]): BlockPlan {
  if (text.startsWith(BYTE_ORDER_MARK)) {
    const plan = planBlock(text.slice(1), lines);
    return { ...plan, text: BYTE_ORDER_MARK + plan.text };
  }
  const before = linesOf(text);
  const block = blockIn(before.map(({ line }) => line));
  const inside = block ? before.slice(block.begin, block.end + 1).map(({ line }) => line) : [];
  const there = new Set(idsOf(inside));
  const texts = new Set(inside.map((line) => line.trim()));
  const wanted = [...new Map(lines.map((line) => [line.id, line])).values()];
  // Somebody may have taken off where a line came from.
  const isThere = (line: Promoted) => there.has(line.id) || texts.has(`- ${textOf(line)}`);
  const adds = wanted.filter((line) => !isThere(line));
  const added = adds.map(({ id }) => id);
  const present = wanted.filter(isThere).map(({ id }) => id);
  const tokensBefore = block ? tokensOf(inside) : 0;
  if (adds.length === 0) {
    return { text, edits: [], added, present, tokens: { before: tokensBefore, after: tokensBefore } };
  }
  const items = adds.map(itemOf);
  if (!block) {
    const fresh = withTokens([FIRST_LINE, ...items, END]);
    const edit = { at: before.length, remove: [], add: [...gapAfter(before), ...fresh] };
    return {
      text: appended(text, edit.add, endOf(before)),
      ...{ edits: [edit], added, present, tokens: { before: 0, after: tokensOf(fresh) } },
    };
  }
  const whole = withTokens([...inside.slice(0, -1), ...items, ...inside.slice(-1)]);
  const [first = ""] = whole;
  const [old = ""] = inside;
  const edits: Edit[] = [
    ...(first === old ? [] : [{ at: block.begin, remove: [old], add: [first] }]),
    { at: block.end, remove: [], add: items },
  ];
  const ending = before[block.begin]?.ending ?? "\n";
  return {
    text: applied(before, edits, ending),
    ...{ edits, added, present, tokens: { before: tokensBefore, after: tokensOf(whole) } },
  };
}

interface Line {
  line: string;
  /** What ends it; empty for a last line that nothing ends */
  ending: string;
}

/** The lines of a text, with what ends each. */
function linesOf(text: string): Line[] {
  return [...text.matchAll(/([^\r\n]*)(\r\n|\n|\r|$)/g)]
    .map(([, line = "", ending = ""]) => ({ line, ending }))
    .filter(({ line, ending }) => line !== "" || ending !== "");
}

function endOf(lines: readonly Line[]): string {
  return lines.find(({ ending }) => ending !== "")?.ending ?? "\n";
}

/** Where the block's first and last lines are. */
function blockIn(lines: readonly string[]): { begin: number; end: number } | undefined {
  let begin: number | undefined;
  let end: number | undefined;
  for (const [at, line] of lines.entries()) {
    const [, kind, rest = ""] = MARKER.exec(line) ?? [];
    if (kind === undefined) continue;
    const name = `line ${at + 1}`;
    if (!/-->\s*$/.test(rest)) {
      throw new BrokenBlockError(`${name} does not end with -->: put it back, or take the line out`);
    }
    if (kind === "begin") {
      if (begin !== undefined) {
        throw new BrokenBlockError(
          end === undefined
            ? `${name} begins a block of memory lines within the one that line ${begin + 1} begins: put ${END} before it, or take it out`
            : `${name} begins a second block of memory lines, after that of line ${begin + 1}: move its lines into the first, and take its first and last line out`,
        );
      }
      begin = at;
    } else {
      if (begin === undefined || end !== undefined) {
        throw new BrokenBlockError(`${name} ends a block of memory lines that no line begins: take it out`);
      }
      end = at;
    }
  }
  if (begin !== undefined && end === undefined) {
    throw new BrokenBlockError(
      `line ${begin + 1} begins a block of memory lines that no line ends: put ${END} after its last line`,
    );
  }
  return begin === undefined || end === undefined ? undefined : { begin, end };
}

function idsOf(lines: readonly string[]): string[] {
  return lines.map((line) => ORIGIN.exec(line)?.[1]).filter((id) => id !== undefined);
}

function itemOf(line: Promoted): string {
  return `- ${textOf(line)} <!-- ${shortSessionId(line.sessionId)} ${line.id} -->`;
}

/** It goes into a file that is passed on, so it holds no secret and nothing that hides; nor what would end the block. */
function textOf({ content }: Promoted): string {
  const said = asCleanLine(harmlessText(redacted(asCleanLine(content))));
  return said.replaceAll("<!--", "&lt;!--").replaceAll("-->", "--&gt;");
}

/** Pi's ids begin with their millisecond, which tells one session from another and is paid for with each request. */
function shortSessionId(id: string): string {
  const clean = id.replace(/[^\w.-]+/g, "_");
  const short = /^[0-9a-f]{8}-[0-9a-f]{4}(?=-)/i.exec(clean)?.[0] ?? clean;
  return short.replaceAll("--", "_") || "unknown";
}

/** The block's lines with what they cost in the first, where that names a number. */
function withTokens(block: readonly string[]): string[] {
  const [first = "", ...rest] = block;
  return [first.replace(TOKENS, `about ${grouped(tokensOf(block))} tokens`), ...rest];
}

/** The number that the first line shows does not count, lest it depend on itself. */
function tokensOf(block: readonly string[]): number {
  const [first = "", ...rest] = block;
  return estimateTextTokens([first.replace(TOKENS, "about 00 tokens"), ...rest].join("\n"));
}

/** An empty line between what stands there and the block, unless there is one, or nothing. */
function gapAfter(lines: readonly Line[]): string[] {
  const last = lines.at(-1);
  return last === undefined || last.line.trim() === "" ? [] : [""];
}

function appended(text: string, lines: readonly string[], ending: string): string {
  const isOpen = text !== "" && !/[\r\n]$/.test(text);
  return `${text}${isOpen ? ending : ""}${lines.map((line) => line + ending).join("")}`;
}

function applied(lines: readonly Line[], edits: readonly Edit[], ending: string): string {
  const result: string[] = [];
  const all = (some: readonly Line[]) => some.map((one) => one.line + one.ending).join("");
  let done = 0;
  for (const { at, remove, add } of edits) {
    result.push(all(lines.slice(done, at)), ...add.map((line) => line + ending));
    done = at + remove.length;
  }
  return result.join("") + all(lines.slice(done));
}
