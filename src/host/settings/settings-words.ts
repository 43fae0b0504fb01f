import { distance } from "fastest-levenshtein";
import { messageOf } from "../../reducers/message-of.ts";
import { SettingsSchema } from "../../reducers/settings.ts";
import { allowedWords, SETTINGS_KEYS, type SettingsKey } from "./settings-schema.ts";

/**
 * The words for what is wrong with a setting. Each is the rest of a sentence that starts with the key: what it is,
 * what is allowed, and what happens instead.
 */

/** A value that its key does not take; `used` and `usedFrom` are what is in force instead. */
export function badValueWords(key: SettingsKey, value: unknown, used: unknown, usedFrom: string): string {
  const hint = isQuoted(key, value) ? " without quotes" : "";
  return `is ${shown(value)}, but must be ${allowedWords(key)}${hint}; ${insteadWords(used, usedFrom)}`;
}

/** A key that is none of ours: a typo, a key of an older version, or something else. */
export function unknownKeyWords(key: string): string {
  const successor = OLD_KEYS.get(key.replace(/Tokens$/, ""));
  if (successor) return `is a setting of an older version and is ignored; use ${successor} instead`;
  const near = nearestKey(key);
  return `is not a setting and is ignored${near ? `; did you mean ${near}?` : ""}`;
}

/** A member of an object setting that is none of its own. */
export function unknownMemberWords(key: SettingsKey, member: string): string {
  return `has a member ${JSON.stringify(member)} that is ignored; ${key} is ${allowedWords(key)}`;
}

/** The value in force after a bad one was passed over. */
function insteadWords(used: unknown, usedFrom: string): string {
  if (used === undefined) return "it stays unset";
  if (usedFrom === "default") return `the default, ${shown(used)}, is used`;
  return `${shown(used)} from ${usedFrom} is used`;
}

/**
 * Why a text is not JSON, with the place. Node names the place of most faults; where it does not, the fault is a
 * stray token, and the shortest beginning of the text that has the same fault ends right behind it.
 */
export function syntaxWords(text: string, error: unknown): string {
  const message = messageOf(error);
  const offset = faultOffset(text, message);
  // Node quotes the text around a stray token and repeats that it is JSON; the place says that better.
  const fault = message.replace(/(?:, (?:\.\.\.)?".*)?(?: in JSON at .*| is not valid JSON)$/s, "");
  const lines = text.slice(0, offset).split("\n");
  const place = `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
  return `is not valid JSON: ${fault} at ${place}${hintAt(text, offset)}`;
}

function faultOffset(text: string, message: string): number {
  const named = /at position (\d+)/.exec(message)?.[1];
  if (named !== undefined) return Number(named);
  const stray = "Unexpected token";
  if (!message.startsWith(stray)) return text.length;
  let sound = 0;
  let faulty = text.length;
  while (faulty - sound > 1) {
    const middle = Math.floor((sound + faulty) / 2);
    if (parseFault(text.slice(0, middle)).startsWith(stray)) faulty = middle;
    else sound = middle;
  }
  return sound;
}

function parseFault(text: string): string {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return messageOf(error);
  }
}

/** The three things that people write into JSON most. */
function hintAt(text: string, offset: number): string {
  const here = text[offset];
  if (here === "/" || here === "#") return " (comments are not allowed)";
  if (here === "'") return " (text takes double quotes)";
  const before = text.slice(0, offset).trimEnd().at(-1);
  if ((here === "}" || here === "]") && before === ",") return " (no comma may stand before it)";
  return "";
}

/** The successors of V2's keys, which some files still have. V2 wrote them with and without `Tokens` at the end. */
const OLD_KEYS = new Map<string, SettingsKey>([
  ["observationThreshold", "observeAfterTokens"],
  ["reflectionThreshold", "reflectAfterTokens"],
  ["compactionThreshold", "compactAfterTokens"],
  ["compactionModel", "model"],
  ["observerMaxTurns", "agentMaxTurns"],
  ["reflectorMaxTurns", "agentMaxTurns"],
  ["compactionMaxToolCalls", "agentMaxTurns"],
]);

/** The key that somebody may have meant: a few letters away, or the only one that starts so. */
function nearestKey(key: string): SettingsKey | undefined {
  const wanted = key.slice(0, LONGEST_KEY).toLowerCase();
  const byDistance = SETTINGS_KEYS.map((known) => ({
    known,
    away: distance(wanted, known.toLowerCase()),
  })).sort((a, b) => a.away - b.away);
  const [nearest] = byDistance;
  if (nearest && nearest.away <= Math.max(2, Math.floor(wanted.length / 4))) return nearest.known;
  if (wanted.length < SHORTEST_PREFIX) return undefined;
  const starting = SETTINGS_KEYS.filter((known) => known.toLowerCase().startsWith(wanted));
  return starting.length === 1 ? starting[0] : undefined;
}

/** Nobody misspells a key of theirs into one this long, and the distance takes quadratic time. */
const LONGEST_KEY = 60;
const SHORTEST_PREFIX = 4;

/** Whether a value is good but for its quotes, the usual slip with numbers and booleans. */
function isQuoted(key: SettingsKey, value: unknown): boolean {
  if (typeof value !== "string" || !/^(?:\d+(?:\.\d+)?|true|false)$/.test(value)) return false;
  return parseFault(value) === "" && SettingsSchema.shape[key].safeParse(JSON.parse(value)).success;
}

const LONGEST_VALUE = 60;

/** A value as a user wrote it, or what kind of thing it is when that would be long. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value);
    // Only flat objects are written out: depth could be anything.
    const flat = members.every(([, member]) => typeof member !== "object" || member === null);
    return flat && members.length <= 4 ? shortened(JSON.stringify(value)) : "an object";
  }
  // JSON.stringify would write a number too large for JavaScript as null.
  return shortened(typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "nothing"));
}

function shortened(text: string): string {
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
