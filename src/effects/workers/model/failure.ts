import { oneLine } from "../../../reducers/ledger/memory-id.ts";
import { isHtmlPage, wordsOfHtml } from "./html-text.ts";

/**
 * Why a worker run failed, as far as it matters for what happens next and for what the user is told:
 * `timeout` is our own deadline, `auth` also stands for an account that may not, `quota` for one that has used up what it may have
 * or cannot pay, `refused` for a model or a filter before it that will not answer this prompt, `cut-off` for output that met its
 * limit, `no-model` for a model that is not there, `window-too-small` for one with no room for a worker.
 */
export type FailureKind =
  | "timeout"
  | "prompt-too-long"
  | "window-too-small"
  | "auth"
  | "quota"
  | "refused"
  | "rate-limit"
  | "overloaded"
  | "connection"
  | "cut-off"
  | "bad-response"
  | "no-model"
  | "other";

export interface WorkerFailure {
  kind: FailureKind;
  /** One short line for the user: no markup, no secrets. */
  message: string;
  /** The context window in tokens that the server says it has */
  window?: number;
}

/** A failure from a provider's error text. */
export function failureFrom(text: string): WorkerFailure {
  const kind = classifyFailure(text);
  const window = kind === "prompt-too-long" ? windowSaid(text) : undefined;
  return { kind, message: readableMessage(text), ...(window !== undefined && { window }) };
}

/** Failures that a second try, a moment later, may not meet again: 429, 503 and dropped connections. */
export function isPassing(kind: FailureKind): boolean {
  return kind === "rate-limit" || kind === "overloaded" || kind === "connection";
}

/** Bodies can be whole pages; what is wrong stands at their beginning. */
const READ_AT_MOST = 4000;
const PAGE_READ_AT_MOST = 64_000;

/**
 * What kind of failure a provider's error text tells of. The HTTP status decides where there is one, except that
 * too long a prompt is told from the words: servers send it as 400, 413, 429 or 500.
 */
export function classifyFailure(text: string): FailureKind {
  const words = text.slice(0, READ_AT_MOST);
  const status = statusOf(words);
  if (TOO_LARGE.test(words) && !PER_MINUTE.test(words)) return "prompt-too-long";
  if ((status === undefined || status < 500) && isOutOfQuota(words, status)) return "quota";
  // Bedrock calls throttling "too many tokens", so rates come before the other words for length.
  if (status === 429 || RATE.test(words)) return "rate-limit";
  if (status === 413 || TOO_LONG.test(words)) return "prompt-too-long";
  if (status === undefined) return KINDS_BY_WORDS.find(([, pattern]) => pattern.test(words))?.[0] ?? "other";
  if (status >= 500) return "overloaded";
  if (REFUSED.test(words)) return "refused";
  if (status === 401 || status === 403 || ACCOUNT.test(words)) return "auth";
  if (status === 408) return "connection";
  // Any other 4xx is a request that the server will refuse again, whatever its words sound like.
  return NO_MODEL.test(words) ? "no-model" : "other";
}

/** Google says the same of a quota per minute and of one that is used up; only the former is back in a moment. */
function isOutOfQuota(words: string, status: number | undefined): boolean {
  if (PER_MINUTE_ONLY.test(words) || RETRY_SOON.test(words)) return false;
  return status === 402 || OUT_OF_QUOTA.test(words);
}

const STATUS_PATTERNS: readonly RegExp[] = [
  // "429 {…}", "503: …", "401 status code (no body)"
  /^\s*([45]\d\d)(?=[\s:]|$)/,
  // "Anthropic API error (529): …"
  /\(([45]\d\d)\)/,
  // "HTTP 502", "HTTP/1.1 502", "status code 500", "Error code: 404"; "code": 503 in a JSON body
  /\b(?:http(?:\/\d(?:\.\d)?)?|status(?:[ _]?code)?|error(?: code)?|code)["']?\s{0,2}[:=]?\s{0,2}["']?([45]\d\d)\b/i,
];

/** The HTTP status that an error text names as such; a number among its words is none. */
function statusOf(text: string): number | undefined {
  for (const pattern of STATUS_PATTERNS) {
    const status = pattern.exec(text)?.[1];
    if (status !== undefined) return Number(status);
  }
  return undefined;
}

/** One request that is larger than what may be sent at all: only a shorter one can pass. */
const TOO_LARGE = /\brequest[ _]too[ _]large/i;
/** Larger than what may be sent in a while says nothing of the window. */
const PER_MINUTE = /\bper[ -]?(?:min(?:ute)?|hour|day)\b|\b[TR]P[MD]\b/i;
const TOO_LONG = oneOf(
  "context[ _-]?(?:length|window|size)",
  "\\b(?:prompt|input|request)\\b[^.\\n]{0,60}\\b(?:too (?:long|large)|exceed(?:s|ed)?|longer than|greater than)\\b",
  "maximum prompt length",
  "range of input length",
  "reduce the length",
  "too many (?:input )?tokens",
  "token limit exceeded",
);
const RATE = oneOf(
  "rate[ _-]?limit",
  "too many requests",
  "throttl(?:ed|ing)",
  "\\bquota\\b",
  "resource[ _]?exhausted",
  "\\busage limit",
);
const PER_MINUTE_ONLY = /\bper[ _-]?min(?:ute)?\b|\b[TR]PM\b/i;
/** "Please try again in 2s.", "Please retry in 31.4s": minutes and hours are none of these. */
const RETRY_SOON = /\b(?:try again|retry)(?:[ _]in|[ _]?after|delay)\W{0,4}[\d.]+\s?(?:s\b|sec|ms\b)/i;
const OUT_OF_QUOTA = oneOf(
  "insufficient[ _]?(?:quota|credits?|balance|funds)",
  "exceeded your (?:current |monthly |daily )?(?:quota|spend|usage|budget)",
  "quota (?:has been |is )?(?:exceeded|exhausted|used up)",
  "out of (?:quota|credits?)",
  "credit balance",
  "\\b(?:usage|spend(?:ing)?|budget) limit",
  "\\bper[ -]?(?:day|week|month)\\b|\\b[TR]PD\\b",
  "payment required",
);
/** A prompt that was judged and turned away, by the model or by what stands before it. */
const REFUSED = oneOf(
  "content[ _]?(?:filter|policy|management)",
  "\\bmodel refused\\b",
  "stopped with: sensitive",
  "finish_?reason: (?:safety|prohibited\\w*|blocklist|recitation|spii)",
  "(?:safety|usage) (?:polic|guideline)",
  "flagged (?:as|by|for)",
  "blocked (?:by|due to|for) [^.\\n]{0,30}(?:safety|policy|filter|guard)",
);
const ACCOUNT = oneOf(
  "unauthori[sz]ed",
  "forbidden",
  "api[ _-]?key",
  "credentials?\\b",
  "authenticat",
  "access ?denied",
  "permission",
  "security token",
  "expired ?token",
  "not logged in",
  "log in\\b",
  "credit balance",
  "insufficient (?:credits|balance|funds)",
  "\\bbilling\\b",
);
const NO_MODEL = oneOf(
  "\\bmodels?\\b[^.\\n]{0,80}\\b(?:not found|not exist|not supported|unknown|decommissioned|deprecated)\\b",
  "\\bmodels/\\S+ is not found",
  "(?:no such|unknown) model",
  "not_found_error\\W+message\\W+model",
);

/** For error texts without a status: most come from streams that broke, or from Node. The first match decides. */
const KINDS_BY_WORDS: readonly (readonly [FailureKind, RegExp])[] = [
  ["bad-response", /^\s*<(?:!doctype|html)/i],
  ["refused", REFUSED],
  ["auth", ACCOUNT],
  [
    "overloaded",
    oneOf(
      "overloaded",
      "unavailable",
      "bad gateway",
      "gateway time-?out",
      "internal ?server ?(?:error|exception)",
      "server[ _]error",
      "server had an error",
      "at capacity",
      "high demand",
      "\\bbusy\\b",
      "loading model",
      "try again later",
    ),
  ],
  ["no-model", NO_MODEL],
  [
    "bad-response",
    oneOf("\\bjson\\b", "unexpected token", "malformed", "\\bpars(?:e|ing)\\b", "invalid response"),
  ],
  [
    "connection",
    oneOf(
      "fetch failed",
      "\\bE(?:CONN\\w+|NOTFOUND|PIPE|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH)\\b",
      "UND_ERR",
      "getaddrinfo",
      "socket",
      "network",
      "connection",
      "terminated",
      "premature",
      "hang ?up",
      "http/?2",
      "other side closed",
      "stream (?:has |was )?(?:ended|closed|interrupted)",
      "time-?out",
      "timed out",
    ),
  ],
];

/** How servers name their window in a refusal; the number that they were sent is another one. */
const WINDOWS_SAID: readonly RegExp[] = [
  /"?n_ctx"?\W{1,4}(\d+)/i,
  /maximum (?:context|prompt|input|model) ?(?:length|size|window)\D{0,30}?(\d[\d,_]*)/i,
  /(\d[\d,_]*)(?: tokens)? (?:maximum|max\b|context (?:length|window|size))/i,
  />\s*(\d[\d,_]*)\s*(?:tokens\s*)?max/i,
  /(?:tokens allowed|token limit)\W{1,4}(\d[\d,_]*)/i,
  /context (?:length|window|size|limit)\b[^\d>]{0,40}(?:[\d,_]+\s*\+\s*[\d,_]+\s*>\s*)?(\d[\d,_]*)/i,
  /input length should be \[\d+, ?(\d+)\]/i,
];
const LEAST_WINDOW = 1024;

/** The window that an error text names, in tokens. */
export function windowSaid(text: string): number | undefined {
  for (const pattern of WINDOWS_SAID) {
    const digits = pattern.exec(text.slice(0, READ_AT_MOST))?.[1];
    const window = digits === undefined ? Number.NaN : Number(digits.replace(/[,_]/g, ""));
    if (window >= LEAST_WINDOW) return window;
  }
  return undefined;
}

function oneOf(...patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join("|"), "i");
}

const LONGEST_MESSAGE = 200;

/**
 * A provider's error text as one readable line of at most 200 characters: the words of a JSON or HTML body without
 * its markup, and whatever looks like a key masked. A body may still quote what was sent, so callers decide where
 * the line may go.
 */
export function readableMessage(text: string): string {
  const words = wordsOf(text);
  const line = oneLine(maskSecrets(words.replace(ANSI_COLOUR, "").replace(FORMAT_CHARACTERS, "")));
  if (line === "") return "no reason given";
  if (line.length <= LONGEST_MESSAGE) return line;
  return `${line
    .slice(0, LONGEST_MESSAGE - 1)
    .toWellFormed()
    .trimEnd()}…`;
}

/** A page says what is wrong after its styles and scripts; anything else at its beginning. */
function wordsOf(text: string): string {
  if (isHtmlPage(text)) return wordsOfHtml(text.slice(0, PAGE_READ_AT_MOST));
  const start = text.slice(0, READ_AT_MOST);
  const words = wordsOfJson(start) ?? start;
  return isHtmlPage(words) ? wordsOfHtml(words) : withoutMarkup(words);
}

/** What stands before a JSON body, and the body's texts that are meant for people; undefined without such a body. */
function wordsOfJson(text: string): string | undefined {
  const brace = text.indexOf("{");
  if (brace < 0) return undefined;
  const said = [
    ...text.slice(brace).matchAll(/"(?:message|raw|detail|error)"\s*:\s*("(?:[^"\\]|\\.)*")/g),
  ].flatMap(([, literal = ""]) => parsedString(literal));
  if (said.length === 0) return undefined;
  const head = text.slice(0, brace).replace(/[\s:]+$/, "");
  return [head, ...new Set(said)].filter((part) => part !== "").join(": ");
}

function parsedString(literal: string): string[] {
  try {
    const value: unknown = JSON.parse(literal);
    return typeof value === "string" ? [value.trim()] : [];
  } catch {
    return [];
  }
}

function withoutMarkup(text: string): string {
  return text.replace(/<\/?[a-z!][^<>]*>/gi, " ");
}

/** Keys by their well-known beginnings, by the name before them, or because nothing else looks like them. */
function maskSecrets(text: string): string {
  return text
    .replace(/(:\/\/)[^\s/@]+@/g, "$1…@")
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, "$1 …")
    .replace(/\b(?:sk|pk|rk|gsk|xai|nvapi|hf|gh[opsur]|github_pat)[-_][\w.-]{6,}/g, "…")
    .replace(/\b(?:AIza|AKIA|ASIA|ya29\.|eyJ)[\w.-]{8,}/g, "…")
    .replace(
      /\b((?:[\w-]*(?:key|token|secret|password|authorization))["']?\s*[:=]\s*["']?)(?!…|bearer|basic)[^\s"',;&)]{6,}/gi,
      "$1…",
    )
    .replace(/\b(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{32,}\b/gi, "…");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is how terminals are told a colour
const ANSI_COLOUR = /\u001b\[[\d;]*m/g;
/** Characters without a shape, among them those that turn the direction of text. */
const FORMAT_CHARACTERS = /\p{Cf}+/gu;
