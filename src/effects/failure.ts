/** Why a worker run failed, as far as it matters for what happens next and for what the user is told. */
export type FailureKind =
  | "timeout"
  | "prompt-too-long"
  | "auth"
  | "rate-limit"
  | "overloaded"
  | "connection"
  | "cut-off"
  | "bad-response"
  | "no-model"
  | "other";

export interface WorkerFailure {
  kind: FailureKind;
  /** One short line for the user: no markup, no secrets, no conversation text. */
  message: string;
}

const PATTERNS: readonly (readonly [FailureKind, RegExp])[] = [
  // "maximum context length", "prompt is too long", "exceeds the available context size", "too many tokens", …
  [
    "prompt-too-long",
    /context[ _-]?(?:length|window|size)|(?:prompt|input|request)[^.]{0,40}(?:too (?:long|large)|exceeds)|too many (?:input )?tokens|maximum (?:number of )?(?:input )?tokens|\b413\b/i,
  ],
  [
    "auth",
    /\b40[13]\b|unauthori[sz]ed|forbidden|api[ _-]?key|credential|authenticat|permission|not logged in|login/i,
  ],
  ["rate-limit", /\b429\b|rate[ _-]?limit|too many requests|quota|resource[ _]exhausted/i],
  [
    "overloaded",
    /\b5(?:0[0234]|29)\b|overloaded|unavailable|bad gateway|internal server error|try again later/i,
  ],
  [
    "connection",
    /fetch failed|ECONN|ENOTFOUND|EPIPE|EAI_AGAIN|socket|network|connection|terminated|premature|stream ended|other side closed/i,
  ],
  ["bad-response", /json|parse|unexpected token|malformed|invalid response|<html|<!doctype/i],
];

/** What kind of failure a provider's error text tells of. */
export function classifyFailure(text: string): FailureKind {
  return PATTERNS.find(([, pattern]) => pattern.test(text))?.[0] ?? "other";
}

/** Failures that a second try, a moment later, may not meet again. */
export function isPassing(kind: FailureKind): boolean {
  return kind === "rate-limit" || kind === "overloaded" || kind === "connection";
}

const LONGEST_MESSAGE = 200;

/** A provider's error text as one short readable line: markup stripped, secrets masked. */
export function readableMessage(text: string): string {
  const line = text
    .replace(/<(script|style)[\s\S]*?<\/\1>/gi, " ")
    .replace(/<[^>]*>/g, " ")
    .replace(/[\s\p{Cc}]+/gu, " ")
    .replace(/\b(bearer\s+|(?:api[ _-]?)?(?:key|token)["']?\s*[:=]\s*["']?|sk-|pk-)[\w.~+/=-]{6,}/gi, "$1…")
    .trim();
  if (line === "") return "no reason given";
  return line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE - 1).toWellFormed()}…` : line;
}

/** A failure from a provider's error text. */
export function failureFrom(text: string): WorkerFailure {
  return { kind: classifyFailure(text), message: readableMessage(text) };
}
