import { existsSync, readFileSync } from "node:fs";

/** One line of a Pi session file; the first is the header. */
export type SessionLine = Readonly<Record<string, unknown>> & { readonly type: string; readonly id: string };

/** A `custom` entry of one type with its data. */
export type CustomLine<Data> = SessionLine & { readonly data: Data };

/**
 * Reads a session file that a live Pi may be writing to: a last line that is not complete yet is left out, and
 * a file that Pi has not made yet is empty.
 */
export function readSessionFile(path: string): SessionLine[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  lines.pop();
  return lines.filter((line) => line.trim() !== "").map((line) => JSON.parse(line) as SessionLine);
}

/** The `custom` entries of one type. */
export function customEntries<Data>(entries: readonly SessionLine[], customType: string): CustomLine<Data>[] {
  return entries.filter(
    (entry): entry is CustomLine<Data> => entry.type === "custom" && entry.customType === customType,
  );
}
