import { isUtf8 } from "node:buffer";
import { scrubbedLine } from "../../../reducers/entries/scrub.ts";
import { readSessionFile } from "../../../reducers/entries/session-file.ts";
import { listed } from "../../../reducers/words.ts";

/** The lines on which secrets stand, counted from 1, by kind; a line with two of a kind stands there twice. */
export type SecretLines = ReadonlyMap<string, readonly number[]>;

/** `2 github-token (lines 4 and 9)`, of every kind. Says nothing of what they are. */
export function secretsWords(secrets: SecretLines): string {
  return listed(
    [...secrets].map(([kind, lines]) => {
      const places = [...new Set(lines)];
      const named = places.slice(0, LINES_NAMED).map(String);
      if (places.length > named.length) named.push(`${places.length - named.length} more`);
      return `${lines.length} ${kind} (${places.length === 1 ? "line" : "lines"} ${listed(named)})`;
    }),
  );
}

const LINES_NAMED = 5;

/**
 * A session file without its secrets, byte for byte the same elsewhere, and where they were. Throws `SessionFileError` for a file
 * that is no session. Ids of memory stay as they are, though they were made of the content: by them recall finds its sources.
 */
export function scrubSession(file: Buffer): { bytes: Buffer; secrets: SecretLines } {
  const ids = new Set(readSessionFile(file.toString("utf8")).all.map(({ id }) => id));
  const secrets = new Map<string, number[]>();
  const parts: Buffer[] = [];
  let line = 0;
  for (let start = 0; start < file.length; ) {
    line++;
    const feed = file.indexOf(LINE_FEED, start);
    const end = feed < 0 ? file.length : feed + 1;
    const bytes = file.subarray(start, end);
    parts.push(scrubbedBytes(bytes, ids, (kind) => secrets.set(kind, [...(secrets.get(kind) ?? []), line])));
    start = end;
  }
  return { bytes: Buffer.concat(parts), secrets };
}

const LINE_FEED = 0x0a;

function scrubbedBytes(bytes: Buffer, ids: ReadonlySet<string>, onSecret: (kind: string) => void): Buffer {
  // Bytes that are no UTF-8 would not come back as they were.
  const encoding = isUtf8(bytes) ? "utf8" : "latin1";
  const text = bytes.toString(encoding);
  const clean = scrubbedLine(text, ids, onSecret);
  return clean === text ? bytes : Buffer.from(clean, encoding);
}
