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
}

/** The entries of one branch of a session file's text, root first. See `readSessionFile`. */
export function parseSession(text: string, options: { leaf?: string } = {}): EntryLike[] {
  return readSessionFile(text, options).entries;
}

/**
 * Reads a Pi session file of version 1, 2 or 3 and takes one branch of its tree: the one that ends with `leaf`, by
 * default with the file's last entry. Older versions are migrated as Pi does it, but the ids that version 1 lacks are
 * made from line numbers, so that the same file always gives the same entries.
 *
 * Throws `SessionFileError` for text that is no session, and for an unknown leaf. Anything else that is wrong with the
 * file is survived: unreadable lines are listed, a missing parent makes a root, a cycle is cut.
 */
export function readSessionFile(text: string, { leaf }: { leaf?: string } = {}): SessionFile {
  const { values, problems, truncatedLastLine } = readLines(text);
  const first = values[0];
  if (first?.fields.type !== "session") {
    const found = first ? `line ${first.line} is ${describe(first.fields)}` : "line 1 is not JSON";
    throw new SessionFileError(`not a Pi session: ${found}; a session starts with {"type":"session",…}`);
  }
  const { id, version, cwd } = first.fields;
  const number = typeof version === "number" ? version : 1;
  const all = migrate(values, number);
  return {
    header: { id: textOf(id), version: number, cwd: textOf(cwd) },
    all,
    entries: branchOf(all, leaf),
    problems,
    truncatedLastLine,
  };
}

interface Line {
  line: number;
  fields: Record<string, unknown>;
}

function readLines(text: string): {
  values: Line[];
  problems: SessionFile["problems"];
  truncatedLastLine: boolean;
} {
  const values: Line[] = [];
  const problems: SessionFile["problems"] = [];
  const lines = text.replace(/^\uFEFF/, "").split("\n");
  let truncatedLastLine = false;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue;
    const fields = parseObject(line);
    if (fields) values.push({ line: index + 1, fields });
    else if (index === lines.length - 1) truncatedLastLine = true;
    else problems.push({ line: index + 1, text: line.slice(0, 80) });
  }
  return { values, problems, truncatedLastLine };
}

function parseObject(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function describe(fields: Record<string, unknown>): string {
  if (fields.type === "header") return "the header of a recording";
  return typeof fields.type === "string" ? `an entry of type "${fields.type}"` : "JSON of another kind";
}

/** Entries in the shape of version 3. */
function migrate(values: readonly Line[], version: number): EntryLike[] {
  const old = version < 2 ? withTree(values) : values;
  return old.flatMap(({ line, fields }) => {
    if (fields.type === "session") return [];
    const entry = version < 3 ? withoutHookMessage(fields) : fields;
    // An entry without a usable id cannot be anybody's parent or evidence; it keeps its place under a made-up one.
    const id = typeof entry.id === "string" ? entry.id : idOfLine(line);
    const parentId = textOf(entry.parentId) || null;
    return [
      { ...entry, id, parentId, type: textOf(entry.type), timestamp: textOf(entry.timestamp) } as EntryLike,
    ];
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

function branchOf(all: readonly EntryLike[], leaf: string | undefined): EntryLike[] {
  const byId = new Map(all.map((entry) => [entry.id, entry]));
  let current = leaf === undefined ? all.at(-1) : byId.get(leaf);
  if (leaf !== undefined && !current) {
    throw new SessionFileError(`no entry has the id ${leaf}; --leaf takes the id of an entry of this file`);
  }
  const branch: EntryLike[] = [];
  const seen = new Set<string>();
  while (current && !seen.has(current.id)) {
    seen.add(current.id);
    branch.push(current);
    current = current.parentId === null ? undefined : byId.get(current.parentId);
  }
  return branch.reverse();
}
