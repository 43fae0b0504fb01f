import { harmlessText } from "../../harmless-text.ts";
import { asCleanLine } from "../../ledger/memory-id.ts";
import { clipped, countOf, grouped } from "../../words.ts";
import { queryWords } from "../query-words.ts";
import type { SearchHit, SearchResult, Standing } from "./search-index.ts";

/** UTF-16 units of a hit's text that are shown */
const LONGEST_HIT = 280;
/** As much of a query as an answer repeats */
const LONGEST_ECHO = 60;

const STANDING_WORDS: Readonly<Record<Standing, string>> = {
  holds: "",
  dropped: "dropped",
  superseded: "superseded",
  promoted: "stands in AGENTS.md now",
  dangling: "not part of this branch's memory",
  omitted: "taken out of the conversation",
};

/** Who reads the answer, and what that reader is told to do next. */
export interface SearchWords {
  /** Where was searched: `this branch` */
  where: string;
  /** What finds more when nothing was found */
  widen: string;
  /** What opens a hit: `recall opens an id.` */
  next: string;
}

/** What is wrong with a query; undefined when it can be searched for. */
export function queryProblem(query: string): string | undefined {
  if (queryWords(query).length > 0) return undefined;
  return query.trim() === ""
    ? "Nothing to search for: give some words."
    : `Nothing to search for in ${quoted(query)}: it has neither a letter nor a digit.`;
}

/** A search's answer as lines for the agent or for people. */
export function searchText(query: string, result: SearchResult, { where, widen, next }: SearchWords): string {
  const { hits, found, searched, isSimilar } = result;
  const asked = quoted(query);
  if (hits.length === 0)
    return `Nothing in ${where} matches ${asked}; searched: ${countOf(searched, "line of memory or message", "lines of memory and messages")}. ${widen}`;
  const head = isSimilar
    ? `Nothing in ${where} has ${asked} as it stands; similar:`
    : `${countOf(found, "match", "matches")} for ${asked} in ${where}${found > hits.length ? `, the best ${grouped(hits.length)}` : ""}:`;
  return [head, "", ...hits.map(hitLine), "", next].join("\n");
}

/** A hit on one line, its id first and, where it does not hold, how it stands. */
export function hitLine({ kind, id, standing, replacedBy, text }: SearchHit): string {
  const fate = `${STANDING_WORDS[standing]}${replacedBy === undefined ? "" : ` by [${replacedBy}]`}`;
  const words = clipped(asCleanLine(text.replace(`[${id}] `, "")), LONGEST_HIT);
  return `[${id}] ${fate === "" ? "" : `(${fate}) `}${kind === "reflection" ? "reflection: " : ""}${words}`;
}

function quoted(query: string): string {
  return `"${clipped(harmlessText(asCleanLine(query.trim())), LONGEST_ECHO)}"`;
}
