import { type Branch, isSourceAt, kindAt } from "../branch.ts";
import { estimateTextTokens } from "../entries/tokens.ts";
import { createTraceReader, makesCommit, type ToolTrace } from "../entries/tool-traces.ts";
import { clipped } from "../words.ts";
import { oneLine } from "./memory-id.ts";
import type { EntryAt } from "./record-text.ts";

/** A compaction does not look further back than this, in entries: what lies before has had its time in earlier summaries. */
const MOST_ENTRIES = 4000;
const MOST_TOKENS = 400;
/** Of the summary's room, the share that this may have: lines of memory say more. */
const SHARE_OF_SUMMARY = 0.1;
/** How much of this has no room to say anything, in tokens */
const FEWEST_TOKENS = 40;

const HEADING = "## Files and commands (from the tool calls themselves, newest first)";
const HEADING_TOKENS = 20;

/**
 * What tools touched in the part of a branch before `cut`, as a block of a summary of `summaryTokens`: files created, edited and
 * read most, commits, and commands that failed last. No model wrote it. `""` where tools did nothing, or there is no room.
 */
export function touchedBlock(branch: Branch, cut: number, entryAt: EntryAt, summaryTokens: number): string {
  const maxTokens = Math.min(MOST_TOKENS, Math.floor(summaryTokens * SHARE_OF_SUMMARY));
  if (maxTokens < FEWEST_TOKENS) return "";
  const { files, commits, failures } = tally(branch, cut, entryAt);
  const all = [...files];
  const changed = all.filter(([, { written, edited }]) => written + edited > 0);
  const isNew = ([, { isCreated }]: [string, FileTally]) => isCreated;
  const readMost = all.filter(([, { read }]) => read > 1).sort(([, a], [, b]) => b.read - a.read);
  const groups: Group[] = [
    { label: "Failed: ", share: 0.2, items: failures.map(failureWords), isOneEach: true },
    { label: "Commit: ", share: 0.2, items: commits, isOneEach: true },
    { label: "Edited: ", share: 0.25, items: changed.filter((file) => !isNew(file)).map(fileWords(editsOf)) },
    { label: "Created: ", share: 0.2, items: changed.filter(isNew).map(fileWords(() => 1)) },
    { label: "Read most: ", share: 0.15, items: readMost.map(fileWords(({ read }) => read)) },
  ];
  const lines: string[] = [];
  let left = 0;
  for (const group of groups) {
    left += group.share * (maxTokens - HEADING_TOKENS);
    const line = fitting(group, left);
    if (line === "") continue;
    lines.push(line);
    left -= estimateTextTokens(line) + 1;
  }
  return lines.length === 0 ? "" : `${HEADING}\n\n${lines.join("\n")}`;
}

interface FileTally {
  read: number;
  edited: number;
  written: number;
  /** The first that a tool did with it was to write it. */
  isCreated: boolean;
}

type Run = ToolTrace & { type: "ran" };

/** What was done, newest first. A failure counts only while the same command has not succeeded since. */
function tally(branch: Branch, cut: number, entryAt: EntryAt) {
  const tracesOf = createTraceReader();
  const files = new Map<string, FileTally>();
  const ran = new Map<string, Run>();
  const commits: string[] = [];
  const last = Math.max(0, cut - MOST_ENTRIES);
  for (let at = cut - 1; at >= last; at--) {
    const kind = kindAt(branch, at);
    if ((kind !== "assistant" && kind !== "toolResult") || !isSourceAt(branch, at)) continue;
    const entry = entryAt(at);
    for (const trace of entry ? tracesOf(entry) : []) {
      if (trace.type === "ran") {
        if (!ran.has(trace.command)) ran.set(trace.command, trace);
        const commit = commitOf(trace);
        if (commit !== "") commits.push(commit);
        continue;
      }
      const file = files.get(trace.path) ?? { read: 0, edited: 0, written: 0, isCreated: false };
      file[trace.type]++;
      file.isCreated = trace.type === "written";
      files.set(trace.path, file);
    }
  }
  return {
    files,
    commits,
    failures: [...ran.values()].filter(isFailure).slice(0, MOST_FAILURES),
  };
}

const MOST_FAILURES = 3;

/** As `git commit` reports it: `[main 1a2b3c4] Mend the parser` */
const REPORTED = /^\[[^\]\n]{0,200}\b([0-9a-f]{7,40})\] ([^\n]*)/m;

function commitOf({ command, output, failed }: Run): string {
  if (failed || !makesCommit(command)) return "";
  const [, id = "", message = ""] = REPORTED.exec(output) ?? [];
  if (id !== "") return clean(`${id} ${message}`, LONGEST_MESSAGE);
  const isQuiet = output === "" || /\s(?:-q|--quiet)\b/.test(command);
  return isQuiet ? clean(command, LONGEST_MESSAGE) : "";
}

/** A search that found nothing ends with code 1 too, and says nothing. */
function isFailure({ failed, output }: Run): boolean {
  return (
    failed && !/^\s*(?:\(no output\)\s*)?Command exited with code 1\s*$/.test(output.slice(0, LONGEST_END))
  );
}

function failureWords({ command, output }: Run): string {
  const [, code, other] =
    /Command (?:exited with code (\d{1,10})|(aborted|timed out))/.exec(output.slice(-LONGEST_END)) ?? [];
  const end = code === undefined ? other : `exit code ${code}`;
  return `${clean(command, LONGEST_MESSAGE)}${end === undefined ? "" : ` (${end})`}`;
}

function editsOf({ edited, written }: FileTally): number {
  return edited + written;
}

function fileWords(countOf: (file: FileTally) => number): (file: [string, FileTally]) => string {
  return ([path, file]) => {
    const times = countOf(file);
    const shown = path.length > LONGEST_PATH ? `…${path.slice(1 - LONGEST_PATH)}` : path;
    const name = clean(shown, LONGEST_PATH);
    // A name with a comma in it must not pass for two.
    return `${/[,"]/.test(name) ? JSON.stringify(name) : name}${times > 1 ? ` (${times} times)` : ""}`;
  };
}

// In UTF-16 units
const LONGEST_PATH = 100;
const LONGEST_MESSAGE = 100;
const LONGEST_END = 400;

/** On one line, which begins with a word of ours, so that nothing in it can pass for another line of a summary. */
function clean(text: string, longest: number): string {
  return clipped(oneLine(text.slice(0, longest * 2)), longest);
}

interface Group {
  label: string;
  /** Of the block's room; what a group does not need, the next may have. */
  share: number;
  items: readonly string[];
  /** Each item has a line of its own. */
  isOneEach?: boolean;
}

/** A group's items, newest first, as many as there is room for; `""` for none. */
function fitting({ label, items, isOneEach }: Group, maxTokens: number): string {
  const textOf = (count: number) => {
    if (isOneEach)
      return items
        .slice(0, count)
        .map((item) => label + item)
        .join("\n");
    const more = count < items.length ? ` and ${items.length - count} more` : "";
    return `${label}${items.slice(0, count).join(", ")}${more}`;
  };
  let count = 0;
  // Sizes are bounded: a hundred characters an item, and a few hundred tokens a group.
  while (count < items.length && estimateTextTokens(textOf(count + 1)) <= maxTokens) count++;
  return count === 0 ? "" : textOf(count);
}
