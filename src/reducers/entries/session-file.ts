import { type EntryLike, fieldsOf, textOf } from "./entry.ts";

/** A file that cannot be read as a Pi session; the message names the line and what to do. */
export class SessionFileError extends Error {
  override name = "SessionFileError";
}

export interface SessionFile {
  /** The session header's fields */
  header: { id: string; version: number; cwd: string };
  /** One branch, root first */
  entries: EntryLike[];
  /** Every entry of the file, in file order, migrated */
  all: EntryLike[];
  /** Lines that could not be read, counted from 1 */
  problems: { line: number; text: string }[];
  /** The last line broke off: normal for a session that was killed while it wrote. */
  truncatedLastLine: boolean;
  /** Where the branch ends too soon on its way to the root; undefined for a whole one. */
  breakOff: BreakOff | undefined;
}

/** The place at which a branch of a damaged file breaks off: Pi, too, sees nothing of it that lies before. */
export interface BreakOff {
  /** The line of the first entry that is still on the branch, counted from 1 */
  line: number;
  /** Id of that entry; undefined when the file's last entry has none, with which Pi opens the file at no entry at all. */
  entryId: string | undefined;
  /** The parent that it names and that cannot be read */
  parentId: string | undefined;
  /** How many entries the branch has that ends with `leaf` */
  entriesBefore: number;
  /** The last entry before that line which can be read and is not on the branch; undefined when there is none. */
  leaf: string | undefined;
}

export interface SessionFileOptions {
  /** Id of the branch's last entry; by default it is the file's. */
  leaf?: string | undefined;
}

/**
 * The entries of one branch of a session file's text, root first; see `readSessionFile`. A branch that breaks off is
 * given from there on, and `onBreakOff` is told the place.
 */
export function parseSession(
  text: string,
  { onBreakOff, ...options }: SessionFileOptions & { onBreakOff?: (breakOff: BreakOff) => void } = {},
): EntryLike[] {
  const { entries, breakOff } = readSessionFile(text, options);
  if (breakOff) onBreakOff?.(breakOff);
  return entries;
}

/**
 * Reads a Pi session file of version 1, 2 or 3 and takes one branch of its tree: the one that ends with `leaf`, by
 * default with the file's last entry. Older versions are migrated as Pi does it, but the ids that version 1 lacks are
 * made from line numbers, so that the same file always gives the same entries.
 *
 * Throws `SessionFileError` for text that is no session, and for an unknown leaf. Anything else that is wrong with the
 * file is survived as Pi survives it: unreadable lines are listed, a branch whose parent is missing begins there
 * (`breakOff`), an entry without an id is nobody's parent. A cycle, in which Pi would walk for ever, is cut.
 */
export function readSessionFile(text: string, { leaf }: SessionFileOptions = {}): SessionFile {
  const { values, problems, truncatedLastLine, lastLine } = readLines(text);
  const first = values[0];
  if (first?.fields.type !== "session") {
    const found = first ? `line ${first.line} is ${describe(first.fields)}` : "line 1 is not JSON";
    throw new SessionFileError(`not a Pi session: ${found}; a session starts with {"type":"session",…}`);
  }
  const { id, cwd } = first.fields;
  const version = versionOf(first.fields.version);
  const located = migrate(values, version);
  return {
    header: { id: textOf(id), version, cwd: textOf(cwd) },
    all: located.map(({ entry }) => entry),
    // Version 1 has no ids to be missing.
    ...branchOf(located, leaf, version < 2 ? 0 : lastLine),
    problems,
    truncatedLastLine,
  };
}

/** Pi compares the header's version as JavaScript does, so that "3" is 3; a file without one is of version 1. */
function versionOf(version: unknown): number {
  const number = Number(version ?? 1);
  return Number.isNaN(number) ? CURRENT_VERSION : number;
}

const CURRENT_VERSION = 3;

interface Line {
  line: number;
  fields: Record<string, unknown>;
}

function readLines(text: string): {
  values: Line[];
  problems: SessionFile["problems"];
  truncatedLastLine: boolean;
  /** The last line that Pi takes for an entry: any JSON but a header, `null`, `false`, `0` and `""`. */
  lastLine: number;
} {
  const values: Line[] = [];
  const problems: SessionFile["problems"] = [];
  const lines = text.replace(/^\uFEFF/, "").split("\n");
  let truncatedLastLine = false;
  let lastLine = 0;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const value = parseJson(line);
    if (value && fieldsOf(value).type !== "session") lastLine = index + 1;
    if (isObject(value)) values.push({ line: index + 1, fields: value });
    else if (index === lines.length - 1 && value === undefined) truncatedLastLine = true;
    else problems.push({ line: index + 1, text: line.slice(0, 80) });
  }
  return { values, problems, truncatedLastLine, lastLine };
}

/** Undefined when it is no JSON */
function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function describe(fields: Record<string, unknown>): string {
  if (fields.type === "header") return "the header of a recording";
  return typeof fields.type === "string" ? `an entry of type "${fields.type}"` : "JSON of another kind";
}

/** An entry, with what its file says of its place in the tree. */
interface Located {
  entry: EntryLike;
  line: number;
  /** Its id and its parent's as they are written, of whatever kind: Pi compares them as they are. */
  id: unknown;
  parentId: unknown;
}

/** Entries in the shape of version 3. */
function migrate(values: readonly Line[], version: number): Located[] {
  const old = version < 2 ? withTree(values) : values;
  return old.flatMap(({ line, fields }) => {
    if (fields.type === "session") return [];
    const { id, parentId, ...entry } = version < 3 ? withoutHookMessage(fields) : fields;
    const shaped = {
      ...entry,
      // An entry without a usable id keeps its place in the file under a made-up one.
      id: typeof id === "string" ? id : idOfLine(line),
      parentId: textOf(parentId) || null,
      type: textOf(entry.type),
      timestamp: textOf(entry.timestamp),
    };
    return [{ entry: shaped, line, id, parentId }];
  });
}

function idOfLine(line: number): string {
  return `line${line}`;
}

/** Version 1 was a list: each entry's parent is the one before it, and a compaction names its cut by index. */
function withTree(values: readonly Line[]): Line[] {
  let parentId: string | null = null;
  return values.map(({ line, fields }, index) => {
    if (fields.type === "session") return { line, fields };
    const { firstKeptEntryIndex, ...rest } = fields;
    const tree: Record<string, unknown> = { ...rest, id: idOfLine(line), parentId };
    parentId = idOfLine(line);
    if (fields.type === "compaction" && typeof firstKeptEntryIndex === "number") {
      // The index counts the header too. A cut that lies ahead, or nowhere, keeps nothing.
      const kept = firstKeptEntryIndex <= index ? values[firstKeptEntryIndex] : undefined;
      if (kept && kept.fields.type !== "session") tree.firstKeptEntryId = idOfLine(kept.line);
    }
    return { line, fields: tree };
  });
}

/** Version 2 called an extension's message a hook's. */
function withoutHookMessage(entry: Record<string, unknown>): Record<string, unknown> {
  const message = fieldsOf(entry.message);
  if (entry.type !== "message" || message.role !== "hookMessage") return entry;
  return { ...entry, message: { ...message, role: "custom" } };
}

function branchOf(
  all: readonly Located[],
  leaf: string | undefined,
  lastLine: number,
): Pick<SessionFile, "entries" | "breakOff"> {
  const byId = new Map(all.filter(({ id }) => id).map((located) => [located.id, located]));
  const walk = (from: Located | undefined): Located[] => {
    const branch: Located[] = [];
    const seen = new Set<Located>();
    for (let at = from; at && !seen.has(at); at = at.parentId ? byId.get(at.parentId) : undefined) {
      seen.add(at);
      branch.push(at);
    }
    return branch.reverse();
  };
  const last = all.at(-1);
  // Pi stands at the id of the file's last entry: at nothing, when that has none.
  const isNowhere = leaf === undefined && lastLine > 0 && !(last?.line === lastLine && last.id);
  const tip = byId.get(leaf ?? (isNowhere ? undefined : last?.id));
  if (leaf !== undefined && !tip) {
    throw new SessionFileError(`no entry has the id ${leaf}; --leaf takes the id of an entry of this file`);
  }
  const branch = walk(tip);
  const first = branch[0];
  const isBroken = first?.parentId ? !byId.has(first.parentId) : isNowhere;
  const entries = branch.map(({ entry }) => entry);
  if (!isBroken) return { entries, breakOff: undefined };
  const line = first?.line ?? lastLine;
  const onBranch = new Set(branch);
  const before = all.findLast((one) => one.line < line && isText(one.id) && !onBranch.has(one));
  return {
    entries,
    breakOff: {
      line,
      entryId: first?.entry.id,
      parentId: first && String(first.parentId),
      entriesBefore: walk(byId.get(before?.id)).length,
      leaf: before?.entry.id,
    },
  };
}

function isText(id: unknown): boolean {
  return typeof id === "string" && id !== "";
}
