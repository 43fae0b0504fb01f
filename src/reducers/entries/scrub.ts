import { redacted } from "../redact.ts";

/** Hears of a secret that was found. */
export type OnSecret = (kind: string) => void;

/**
 * A line of a session file without its secrets: the same characters, but for the JSON strings that held one. Strings are read as
 * JSON means them, whatever escapes they are written with. `ids` are names of entries, which stay in any case, for links lead to
 * them. A line that broke off, or is no JSON, is looked through as plain text where it cannot be read as strings.
 */
export function scrubbedLine(line: string, ids: ReadonlySet<string>, onSecret: OnSecret): string {
  let result = "";
  let at = 0;
  for (let open = line.indexOf('"'); open >= 0; open = line.indexOf('"', at)) {
    const end = endOfString(line, open);
    if (end < 0) break;
    result += line.slice(at, open) + scrubbedString(line.slice(open, end), ids, onSecret);
    at = end;
  }
  return result + redacted(line.slice(at), onSecret);
}

/** The position after the quote that ends a string; below 0 when it has no end. */
function endOfString(line: string, open: number): number {
  let at = line.indexOf('"', open + 1);
  while (at >= 0 && isEscaped(line, at)) at = line.indexOf('"', at + 1);
  return at < 0 ? at : at + 1;
}

function isEscaped(line: string, quote: number): boolean {
  let at = quote;
  while (line[at - 1] === "\\") at--;
  return (quote - at) % 2 === 1;
}

function scrubbedString(literal: string, ids: ReadonlySet<string>, onSecret: OnSecret): string {
  const text = meaningOf(literal);
  if (text === undefined) return redacted(literal, onSecret);
  if (ids.has(text)) return literal;
  const clean = redacted(text, onSecret);
  return clean === text ? literal : JSON.stringify(clean);
}

function meaningOf(literal: string): string | undefined {
  if (!literal.includes("\\")) return literal.slice(1, -1);
  try {
    return String(JSON.parse(literal));
  } catch {
    return undefined;
  }
}
