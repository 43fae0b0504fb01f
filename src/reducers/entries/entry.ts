/**
 * The shape that every session entry shares. Pi's `SessionEntry` is assignable to it; so is anything a
 * newer Pi, another extension or a damaged file may hold. All further fields are read through the
 * accessors below and are never trusted: Pi parses session files without validating them.
 */
export interface EntryLike {
  type: string;
  id: string;
  parentId: string | null;
  /** ISO 8601 */
  timestamp: string;
}

/** Finds an entry by id, on whatever branch or file the caller holds. */
export type EntryLookup = (id: string) => EntryLike | undefined;

export type Fields = Readonly<Record<string, unknown>>;

/** Reads any value as a bag of unknown fields; anything that is not an object has none. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** The message of a `message` entry, as unknown fields. */
export function messageOf(entry: EntryLike): Fields {
  return fieldsOf(fieldsOf(entry).message);
}

/** A field as text; `""` when it is missing or of another type. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The entry's time in milliseconds since the epoch, else that of its message; 0 when neither can be read. */
export function timeOf(entry: EntryLike): number {
  for (const written of [entry.timestamp, messageOf(entry).timestamp]) {
    const time = typeof written === "string" || typeof written === "number" ? new Date(written).getTime() : 0;
    if (time > 0) return time;
  }
  return 0;
}
