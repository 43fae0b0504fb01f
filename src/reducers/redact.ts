import type { EntryLike, EntryLookup } from "./entries/entry.ts";
import type { Projection } from "./ledger/records.ts";

/**
 * Secrets of a known shape give way to `[redacted:KIND]`. Shapes only, never a guess from entropy: a hash, a UUID or an id is a
 * fact, however random it looks.
 *
 * A shape is how its vendor begins it, and then one run of a class, or something bounded; a beginning that its own run could hold
 * again counts only where a word begins. So a text costs linear time, whatever is in it.
 */
type Shape = readonly [
  kind: string,
  /** Literal beginnings, with spaces between them. None is the beginning of another, so that a place in a text has one at most. */
  starts: string,
  /** What follows them. A group `secret`, at its end, stands where the rest is context and stays. */
  rest: string,
];

/** An assignment, in JSON, in code or in a shell */
const IS = String.raw`\\?["']?\s{0,4}(?::|=>?)\s{0,4}\\?["']?`;
/** The next word may be a secret key's whole value, which is no longer than this. */
const AWS_SECRET = `${IS}(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])`;
/** `$PASSWORD`, `${PASSWORD}`, `<password>`, `****`, `{password}`, `%s`: a place for a password is none. */
const PLACEHOLDER = String.raw`(?:\$\w+|\$?\{+[^{}@\s]*\}+|<[^<>@\s]*>|\*+|%\w)@`;

const SHAPES: readonly Shape[] = [
  ["aws-key", "AKIA ASIA AGPA AIDA AROA AIPA ANPA ANVA ABIA ACCA", "(?<=WORD)[A-Z0-9]{16}(?![A-Za-z0-9])"],
  ["aws-key", "ecretAccessKey ecret_access_key ECRET_ACCESS_KEY ecret_key ECRET_KEY", AWS_SECRET],
  ["aws-key", "A3T", "(?<=WORD)[A-Z0-9]{17}(?![A-Za-z0-9])"],
  ["aws-key", "ABSK", "[A-Za-z0-9+/]{100,}={0,2}"],
  ["google-key", "AIza", String.raw`[\w-]{35,}`],
  ["google-key", "GOCSPX-", String.raw`[\w-]{28,}`],
  ["google-key", "ya29.", String.raw`(?<=\bya29\.)[\w-]{20,}`],
  ["azure-key", "AccountKey= SharedAccessKey=", "(?<secret>[A-Za-z0-9+/]{40,}={0,2})"],
  ["cloud-key", "dop_v1_ doo_v1_ dor_v1_", "[a-f0-9]{64,}"],
  ["cloud-key", "cfk_ cfut_ cfat_", "[A-Za-z0-9]{40,}"],
  ["cloud-key", "vcp_ vci_ vca_ vcr_ vck_", "[A-Za-z0-9]{20,}"],
  ["github-token", "ghs_", String.raw`\d{1,20}_[\w-]+\.[\w-]+\.[\w-]+`],
  ["github-token", "ghp_ gho_ ghs_ ghu_ ghr_", String.raw`\w{36,}`],
  ["github-token", "github_pat_", String.raw`\w{22,}`],
  ["github-token", "://", String.raw`(?<secret>[^\s:/@[\]]{1,256})(?=:x-oauth-basic@)`],
  [
    "gitlab-token",
    "glpat- gloas- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glwt- glsoat- glffct-",
    String.raw`[\w-]{20,}(?:\.[\w-]{1,64}){0,3}`,
  ],
  ["bitbucket-token", "ATBB ATCTT3 ATATT3", String.raw`(?<!\w{9})[\w=-]{24,}`],
  ["registry-token", "npm_", String.raw`\w{36,}`],
  ["registry-token", "_authToken _auth= _password=", String.raw`=?\s{0,4}(?<secret>[^\s$"'[\]\x60\\]{16,})`],
  ["registry-token", "pypi-AgE", String.raw`[\w-]{50,}`],
  ["registry-token", "rubygems_", "[a-f0-9]{48,}"],
  ["registry-token", "dckr_pat_ dckr_oat_", String.raw`[\w-]{27,}`],
  ["anthropic-key", "sk-", String.raw`(?<=WORD)ant-[\w-]{20,}`],
  ["openai-key", "sk-", String.raw`(?<=WORD)(?:proj|svcacct|admin|None)-[\w-]{20,}`],
  ["model-key", "sk-", String.raw`(?<=WORD)(?:or-v1|lf|kimi)-[\w-]{32,}`],
  ["openai-key", "sk-", "(?<=WORD)[A-Za-z0-9]{32,}"],
  ["model-key", "hf_ gsk_", "(?<=WORD)[A-Za-z0-9]{30,}"],
  ["model-key", "xai- pplx- r8_", "(?<=WORD)[A-Za-z0-9]{37,}"],
  ["model-key", "nvapi- tgp_v1_", String.raw`[\w-]{40,}`],
  ["slack-token", "xoxa- xoxb- xoxc- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", "[A-Za-z0-9-]{10,}"],
  ["slack-token", "hooks.slack.com/", String.raw`(?:services|workflows|triggers)/(?<secret>[\w/+-]{20,})`],
  ["chat-token", ".com/api/webhooks/", String.raw`\d{10,24}/(?<secret>[\w-]{50,})`],
  ["chat-token", ":AA", String.raw`(?<=\d{8,10}:AA)[\w-]{33,}`],
  ["stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", "[A-Za-z0-9]{16,}"],
  ["stripe-key", "whsec_", "[A-Za-z0-9+/]{32,}={0,2}"],
  ["service-token", "SG.", String.raw`(?<=WORD)[\w-]{1,128}\.[\w-]{16,}`],
  ["service-token", "SK key-", "(?<=WORD)[a-f0-9]{32}(?![A-Za-z0-9])"],
  ["service-token", "shpat_ shpca_ shppa_ shpss_", "[A-Za-z0-9]{32,}"],
  ["service-token", "lin_api_ lin_oauth_", String.raw`\w{32,}`],
  ["service-token", "ntn_", "[A-Za-z0-9]{40,}"],
  ["service-token", "figd_", String.raw`[\w-]{40,}`],
  ["service-token", "dapi", "(?<=WORD)[A-Fa-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])"],
  ["service-token", "hvs. hvb. hvr.", String.raw`(?<=WORD)[\w-]{24,}`],
  ["service-token", "glc_", "[A-Za-z0-9+/]{32,}={0,2}"],
  ["service-token", "glsa_", String.raw`[A-Za-z0-9]{32}_\w{8,}`],
  ["service-token", "ops_ey", String.raw`[\w+/=-]{100,}`],
  ["service-token", "tskey-", String.raw`[a-z]{2,20}-[\w-]{16,}`],
  ["service-token", "PMAK-", "[a-f0-9]{24}-[a-f0-9]{34,}"],
  ["service-token", "sntrys_ sntryu_", String.raw`[\w+/=-]{40,}`],
  ["service-token", "sb_secret_", String.raw`[\w-]{20,}`],
  ["service-token", "AGE-SECRET-KEY-1", "[A-Z0-9]{58,}"],
  ["jwt", "eyJ", String.raw`(?<=WORD)[\w-]{8,}\.(?:eyJ[\w-]{8,}\.[\w-]*|[\w-]*\.[\w-]*\.[\w-]*\.[\w-]+)`],
  [
    "url-password",
    "://",
    String.raw`[^\s:/@"'<>\x60[\]]{0,128}:(?!${PLACEHOLDER})(?<secret>(?:(?!\[redacted:)[^\s/@"'<>\x60]){1,256})(?=@[\w[])`,
  ],
  [
    "authorization",
    "uthorization",
    String.raw`${IS}(?:[Bb]asic|[Bb]earer|[Tt]oken)\s{1,4}(?<secret>[\w.~+/-]{16,}={0,2})`,
  ],
];

/** Where a word begins. One that is glued to an escape (`\n` in JSON, `%3D` in a URL, the end of a colour) begins there, too. */
const WORD_BEGINS = String.raw`(?:(?<![\w-])|(?<=\\[bfnrtv]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\[[0-9;]{0,12}m))`;

interface Rest {
  kind: string;
  pattern: RegExp;
}

/** The rests that may follow a beginning, in their order. */
const RESTS = new Map<string, Rest[]>();
for (const [kind, starts, rest] of SHAPES) {
  for (const start of starts.split(" ")) {
    const pattern = rest.replace("WORD", WORD_BEGINS + literally(start));
    RESTS.set(start, [...(RESTS.get(start) ?? []), { kind, pattern: new RegExp(pattern, "y") }]);
  }
}
const START = new RegExp([...RESTS.keys()].map(literally).join("|"), "g");

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/**
 * The text with every secret of a known shape replaced; the text itself when it holds none. Doing it twice changes nothing more.
 * `onSecret` hears the kind of each, and where in the text it stood.
 */
export function redacted(text: string, onSecret: (kind: string, at: number) => void = () => {}): string {
  const clean = withoutTokens(withoutPrivateKeys(text, onSecret), onSecret);
  // What stands beside a secret may be one only once that is gone.
  return clean === text ? text : redacted(clean, onSecret);
}

function mark(kind: string): string {
  return `[redacted:${kind}]`;
}

function withoutTokens(text: string, onSecret: (kind: string, at: number) => void): string {
  let result = "";
  let done = 0;
  START.lastIndex = 0;
  for (let found = START.exec(text); found; found = START.exec(text)) {
    const after = found.index + found[0].length;
    for (const { kind, pattern } of RESTS.get(found[0]) ?? []) {
      pattern.lastIndex = after;
      const rest = pattern.exec(text);
      if (!rest) continue;
      const secret = rest.groups?.secret;
      const end = after + rest[0].length;
      const start = secret === undefined ? found.index : end - secret.length;
      onSecret(kind, start);
      result += text.slice(done, start) + mark(kind);
      done = end;
      START.lastIndex = end;
      break;
    }
  }
  return done === 0 ? text : result + text.slice(done);
}

const KEY_MARKER = /-{5}(BEGIN|END) ?[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{5}/g;
const LONGEST_KEY = 32_768;

/** Blocks of private keys, also where a block's beginning or end was cut off, or its line breaks are escaped. */
function withoutPrivateKeys(text: string, onSecret: (kind: string, at: number) => void): string {
  if (!text.includes("PRIVATE KEY")) return text;
  const markers = [...text.matchAll(KEY_MARKER)];
  let result = "";
  let done = 0;
  /** The end of the last marker or block */
  let last = 0;
  for (const [at, { index, 0: marker, 1: side }] of markers.entries()) {
    if (index < done) continue;
    const next = markers[at + 1];
    const afterMarker = index + marker.length;
    let [start, end] = [index, afterMarker];
    if (side === "END") start -= bodyBefore(text.slice(Math.max(last, index - LONGEST_KEY), index));
    else if (next?.[1] === "END" && next.index - index < LONGEST_KEY) end = next.index + next[0].length;
    else end += bodyAfter(text.slice(afterMarker, Math.min(next?.index ?? text.length, end + LONGEST_KEY)));
    last = end;
    // A marker by itself is a word about keys.
    if (end - start === marker.length) continue;
    onSecret("private-key", start);
    result += text.slice(done, start) + mark("private-key");
    done = end;
  }
  return done === 0 ? text : result + text.slice(done);
}

/** White space, escaped or not, and what quotes a line */
const BETWEEN_LINES = /((?:\s|\\[nrt]|["'>|])+)/;
const BODY_LINE = /^[A-Za-z0-9+/=]{16,}$/;
const LAST_LINE = /^[A-Za-z0-9+/=]+$/;
const HEADERS = /^\s{0,4}(?:[\w-]{1,40}: [^\n]{0,200}\n){0,8}/;

/** How many characters of a key's body, its headers included, a text begins with. */
function bodyAfter(text: string): number {
  const headers = HEADERS.exec(text)?.[0].length ?? 0;
  const body = bodyLength(text.slice(headers).split(BETWEEN_LINES), false);
  return body === 0 ? 0 : headers + body;
}

/** How many characters of a key's body a text ends with. */
function bodyBefore(text: string): number {
  return bodyLength(text.split(BETWEEN_LINES).reverse(), true);
}

/** Of lines and what is between them, by turns: full lines of a key, and the one that is its last and may be shorter. */
function bodyLength(parts: readonly string[], isReversed: boolean): number {
  let length = 0;
  let body = 0;
  let fullLines = 0;
  let hasShort = false;
  for (const [at, part] of parts.entries()) {
    length += part.length;
    if (at % 2 === 1 || part === "") continue;
    if (BODY_LINE.test(part) && (isReversed || !hasShort)) fullLines++;
    else if (LAST_LINE.test(part) && !hasShort && isReversed === (fullLines === 0)) hasShort = true;
    else break;
    body = length;
  }
  return fullLines === 0 ? 0 : body;
}

/** Shorter than any secret with what shows that it is one, and longer than the ids that entries are full of. */
const SHORTEST = 10;
/** Whatever is nested deeper is nothing that somebody has said. */
const DEEPEST = 200;

const seen = new WeakMap<object, object>();

/** An entry with every secret in its texts replaced; the entry itself when it holds none. What it is and where stays. */
export function redactedEntry<E extends EntryLike>(entry: E): E {
  const known = seen.get(entry);
  if (known) return known as E;
  const { id, parentId, type, timestamp, ...rest } = entry;
  const clean = redactedValue(rest, 0);
  const result = clean === rest ? entry : ({ ...clean, id, parentId, type, timestamp } as unknown as E);
  seen.set(entry, result);
  return result;
}

/** A lookup that finds the same entries with their secrets replaced. */
export function redactedLookup(lookup: EntryLookup): EntryLookup {
  return (id) => {
    const entry = lookup(id);
    return entry && redactedEntry(entry);
  };
}

/** Memory records with the secrets in their texts replaced; their ids stay. */
export function redactedMemory({ observations, reflections }: Projection): Projection {
  const clean = <T extends { content: string }>(record: T): T => {
    const content = redacted(record.content);
    return content === record.content ? record : { ...record, content };
  };
  return { observations: observations.map(clean), reflections: reflections.map(clean) };
}

function redactedValue<T>(value: T, depth: number): T;
function redactedValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.length < SHORTEST ? value : redacted(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST) return null;
  if (Array.isArray(value)) {
    const list = value.map((item) => redactedValue(item, depth + 1));
    return list.some((item, at) => item !== value[at]) ? list : value;
  }
  const { type, data } = value as { type?: unknown; data?: unknown };
  let isClean = true;
  const fields = Object.entries(value).map(([name, field]) => {
    // The bytes of an image are shown to nobody.
    const isImage = type === "image" && field === data;
    const clean = isImage ? field : redactedValue(field, depth + 1);
    const cleanName = name.length < SHORTEST ? name : redacted(name);
    isClean &&= clean === field && cleanName === name;
    return [cleanName, clean];
  });
  return isClean ? value : Object.fromEntries(fields);
}
