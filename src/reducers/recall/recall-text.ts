import { formatLocalMinute } from "../entries/sources.ts";
import { estimateTextTokens } from "../entries/tokens.ts";
import { asCleanLine } from "../ledger/memory-id.ts";
import type {
  Forgotten,
  Recalled,
  RecalledObservation,
  RecalledReflection,
  RecalledSource,
  RecordStatus,
} from "../ledger/recall.ts";
import { renderObservation, renderReflection } from "../ledger/summary.ts";
import { clipped, compact, countOf, grouped } from "../words.ts";
import { createOutputFolding } from "./output-folding.ts";
import { paginate, type Section } from "./pages.ts";
import { passagesOf } from "./passages.ts";

/** One page of a recall, at most about `maxTokens` estimated tokens of it, and how to get the next. */
export interface RecallPage {
  text: string;
  page: number;
  pages: number;
}

/** What a page has room for, in estimated tokens, unless it is asked for otherwise. */
export const RECALL_PAGE_TOKENS = 8000;
/** More than this fits no page, whoever asks: the next page has the rest. */
export const RECALL_MOST_TOKENS = 20_000;

/** What the passages that match a query have room for, in estimated tokens, unless they are asked for otherwise. */
export const RECALL_QUERY_TOKENS = 800;

export interface RecallOptions {
  /** About how many estimated tokens a page has, or with a query all passages; at most `RECALL_MOST_TOKENS` */
  maxTokens?: number | undefined;
  /** Counts from 1 */
  page?: number | undefined;
  /** Words: only the passages of the sources that have some of them are shown */
  query?: string | undefined;
}

/**
 * Renders what was recalled in words for the agent, page by page, or what of it matches a query. What outputs of tools repeat is
 * folded with a count. A `RangeError` for a page that is not there names the last one.
 */
export function renderRecall(
  recalled: Recalled,
  { maxTokens, page = 1, query = "" }: RecallOptions = {},
): RecallPage {
  const isNarrowed = query.trim() !== "";
  const room = Math.min(
    Math.max(1, maxTokens ?? (isNarrowed ? RECALL_QUERY_TOKENS : RECALL_PAGE_TOKENS)),
    RECALL_MOST_TOKENS,
  );
  const parts = describe(recalled);
  const texts = isNarrowed
    ? paginate(matching(recalled.id, parts, query, room).map(sectionOf), RECALL_MOST_TOKENS)
    : paginate(parts.map(sectionOf), room);
  const pages = texts.length;
  const text = texts[page - 1];
  if (text === undefined) {
    const last = pages === 1 ? "there is one page only, page 1" : `the last page is ${pages}`;
    throw new RangeError(`there is no page ${page} of what ${recalled.id} stands for; ${last}`);
  }
  if (pages === 1) return { text, page, pages };
  const more =
    page < pages
      ? `Call recall with { "id": "${recalled.id}", "page": ${page + 1} } for the next page.`
      : "This is the last page.";
  const place = `Page ${page} of ${pages}`;
  return { text: `${place}\n\n${text}\n\n[${place}. ${more}]`, page, pages };
}

/** A piece of the answer: a record or a note, or a source, which has a body if there is anything to read. */
interface Part {
  head: string;
  body?: string;
  /** The records that it belongs to, from the one that was asked for */
  within: readonly string[];
  /** The observation's line, where a reflection rests on it */
  line?: string;
  kind: "record" | "note" | "source" | "support";
}

/** As much of a record's line as a page repeats, in UTF-16 units */
const LONGEST_REPEATED = 200;

function sectionOf({ head, body, within }: Part): Section {
  const before = within.map((line) => clipped(line, LONGEST_REPEATED)).join("\n");
  const label = clipped(head.replaceAll("\n", " "), LONGEST_REPEATED);
  return {
    text: body === undefined ? head : `${head}\n${body}`,
    before,
    within: [before, `${label} (continued)`].filter((part) => part !== "").join("\n\n"),
  };
}

function describe(recalled: Recalled): Part[] {
  const { id, forgotten, observation, reflection, source } = recalled;
  if (forgotten) return [note(forgottenWords(id, forgotten))];
  if (source)
    return createSourceWords(recalled)(source, id).map((words) => ({ ...words, within: [], kind: "source" }));
  if (!observation && !reflection) {
    return [
      note(
        `No memory with the id ${id} on this branch. Ids are the 12 hex digits in brackets at the start of a memory line; memory recorded on another branch or in another session cannot be recalled here.`,
      ),
    ];
  }
  const sources = createSourceWords(recalled);
  const parts: Part[] = [];
  if (observation && reflection)
    parts.push(note(`The id ${id} stands for an observation and for a reflection; both follow.`));
  if (observation) parts.push(...describeObservation(observation, sources));
  if (reflection) parts.push(...describeReflection(reflection, sources));
  return parts;
}

function forgottenWords(id: string, { timestamp, reason }: Forgotten): string {
  const at = Date.parse(timestamp);
  const when = Number.isNaN(at) ? "" : ` on ${formatLocalMinute(at)}`;
  const why = reason === "" ? "" : ` The user's reason: ${clipped(asCleanLine(reason), LONGEST_REPEATED)}`;
  return `[${id}] is forgotten: the user has taken it out of memory${when}. Do not rely on it.${why}`;
}

function note(head: string, within: readonly string[] = []): Part {
  return { head, within, kind: "note" };
}

const STATUS_WORDS: Record<RecordStatus, string> = {
  active: "active",
  dropped: "dropped from active memory",
  promoted: "moved by the user into the project's AGENTS.md",
  dangling: "not part of this branch's memory: the range it covers is on another branch",
};

const REPLACED_BY = { observation: "superseded by", reflection: "replaced by" } as const;
const REPLACES = { observation: "supersedes", reflection: "replaces" } as const;

/** What became of a record, for whoever shows it: `superseded by [id], which was superseded by [id]; supersedes [id], [id]` */
export function fateWords(
  { status, replacedBy, replaces }: Pick<RecalledObservation, "status" | "replacedBy" | "replaces">,
  kind: "observation" | "reflection",
): string {
  const fate =
    status === "dropped" && replacedBy.length > 0
      ? replacedBy.map((id) => `${REPLACED_BY[kind]} [${id}]`).join(", which was ")
      : STATUS_WORDS[status];
  if (replaces.length === 0) return fate;
  return `${fate}; ${REPLACES[kind]} ${replaces.map((id) => `[${id}]`).join(", ")}`;
}

function describeObservation(
  recalled: RecalledObservation,
  sourceWords: SourceWords,
  above: readonly string[] = [],
): Part[] {
  const { observation, sources } = recalled;
  const line = renderObservation(observation);
  const within = [...above, line];
  return [
    {
      head: `Observation (${fateWords(recalled, "observation")})\n${line}`,
      within: above,
      ...(above.length > 0 ? { line, kind: "support" } : { kind: "record" }),
    },
    ...sources.flatMap((source) =>
      sourceWords(source, observation.id).map((words): Part => ({ ...words, within, kind: "source" })),
    ),
  ];
}

function describeReflection(recalled: RecalledReflection, sourceWords: SourceWords): Part[] {
  const { reflection, status, replaces, supporting, missingObservationIds, forgottenObservationIds } =
    recalled;
  const isPlain = status === "active" && replaces.length === 0;
  const fate = isPlain ? "" : ` (${fateWords(recalled, "reflection")})`;
  const line = renderReflection(reflection);
  const parts: Part[] = [{ head: `Reflection${fate}\n${line}`, within: [], kind: "record" }];
  if (supporting.length === 0) parts.push(note("None of its supporting observations is on this branch."));
  else parts.push(note(`It rests on ${countOf(supporting.length, "observation")}:`, [line]));
  for (const observation of supporting) parts.push(...describeObservation(observation, sourceWords, [line]));
  if (missingObservationIds.length > 0) {
    parts.push(note(`Cited but not on this branch: ${missingObservationIds.join(", ")}`));
  }
  if (forgottenObservationIds.length > 0) {
    parts.push(note(`Cited, and forgotten by the user: ${forgottenObservationIds.join(", ")}`));
  }
  return parts;
}

const SOURCE_WORDS = {
  found: "",
  omitted: " (an attempt that Pi has since taken out of the conversation)",
  missing: " is not on this branch: it may belong to another branch, or the session file lost it.",
  "not-a-source": " is not part of the conversation, so it is no evidence.",
} as const;

/** A source, and what Pi has put in its place, in words. */
type SourceWords = (source: RecalledSource, observationId: string) => Pick<Part, "head" | "body">[];

/** Shows each source of a recall once, however many of its observations rest on it. */
function createSourceWords({ observation, reflection }: Recalled): SourceWords {
  const fold = createOutputFolding();
  const shownUnder = new Map<string, string>();
  const cites = new Map<string, Set<string>>();
  for (const { observation: record, sources } of [observation, ...(reflection?.supporting ?? [])].flatMap(
    (one) => one ?? [],
  )) {
    for (const { entryId } of sources) cites.set(entryId, (cites.get(entryId) ?? new Set()).add(record.id));
  }
  return (source, observationId) => {
    const { entryId } = source;
    // Not the observer's block header: a recalled text may be observed in its turn, and must not look like a source.
    if (!("text" in source)) return [{ head: `Source ${entryId}${SOURCE_WORDS[source.status]}` }];
    const shown = shownUnder.get(entryId);
    if (shown !== undefined) return [{ head: `Source ${entryId}: shown above, under [${shown}]` }];
    shownUnder.set(entryId, observationId);
    const others = [...(cites.get(entryId) ?? [])].filter((id) => id !== observationId);
    const shared = others.length > 0 ? ` (also behind ${others.map((id) => `[${id}]`).join(", ")})` : "";
    const words = (name: string, text: string) => {
      const [speaker = "", ...lines] = text.split("\n");
      const body = lines.join("\n");
      return { head: `${name}\n${speaker}`, body: source.isOutput ? fold(entryId, body) : body };
    };
    const replaced = `Source ${entryId}, as Pi has shown it to the agent since it replaced the content`;
    return [
      words(`Source ${entryId}${SOURCE_WORDS[source.status]}${shared}`, source.text),
      ...(source.replacement === undefined ? [] : [words(replaced, source.replacement)]),
    ];
  };
}

/** As much of a query as an answer repeats, in UTF-16 units */
const LONGEST_ECHO = 80;

/** What of an answer a query asks for: its records, the passages of their sources that match, and what they leave out. */
function matching(id: string, parts: readonly Part[], query: string, maxTokens: number): Part[] {
  const bodies = parts.filter((part) => part.body !== undefined);
  const { texts, unmatched, leftOut } = passagesOf(
    bodies.map(({ body = "" }) => body),
    query,
    maxTokens,
  );
  const passages = new Map(bodies.map((part, at) => [part, texts[at]]));
  const isShown = (part: Part) => passages.get(part) !== undefined;
  const linesShown = new Set(parts.filter(isShown).flatMap(({ within }) => within));
  const kept = parts.filter(
    (part) =>
      part.kind === "record" || isShown(part) || (part.line !== undefined && linesShown.has(part.line)),
  );
  const asked = `"${clipped(asCleanLine(query.trim()), LONGEST_ECHO)}"`;
  const whole = bodies.reduce((sum, { body = "" }) => sum + estimateTextTokens(body), 0);
  const offer = `Without a query, recall gives the whole: about ${compact(whole)} tokens.`;
  const shown = kept.map((part) => (isShown(part) ? { ...part, body: passages.get(part) ?? "" } : part));
  if (!bodies.some(isShown)) return [...shown, note(`Nothing behind ${id} matches ${asked}. ${offer}`)];
  const isWhole = bodies.every((part) => passages.get(part) === part.body?.trimEnd());
  const notes = [
    ...(leftOut > 0
      ? [
          `${countOf(leftOut, "more line")} of it match ${asked} and had no room; a larger maxTokens or other words show them.`,
        ]
      : []),
    ...(unmatched.size > 0
      ? [
          `${countOf(unmatched.size, "source")} of ${grouped(bodies.length)} without a match ${unmatched.size === 1 ? "is" : "are"} left out.`,
        ]
      : []),
    ...(isWhole ? [] : [offer]),
  ];
  return notes.length === 0 ? shown : [...shown, note(notes.join(" "))];
}
