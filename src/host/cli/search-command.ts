import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { createSessionSearch } from "../../effects/session-search.ts";
import type { EntryLike } from "../../reducers/entries/entry.ts";
import { sessionOfEntries } from "../../reducers/memory.ts";
import { SEARCH_LIMIT, type SearchHit } from "../../reducers/recall/search/search-index.ts";
import { hitLine, queryProblem } from "../../reducers/recall/search/search-text.ts";
import { redactedLookup } from "../../reducers/redact.ts";
import { clipped, countOf } from "../../reducers/words.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import { examples, ordinalOf } from "./options.ts";
import { complainOfLines, openSession } from "./replay/replay-source.ts";

interface SearchCommandOptions {
  allBranches?: boolean;
  limit: number;
  json?: boolean;
}

/** A hit, and where it was found: a file, and the last entry of a branch of it */
type PlacedHit = SearchHit & { session: string; branch: string };

export function searchCommand(io: Io, exit: (code: number) => void): Command {
  return new Command("search")
    .description("Find lines of memory and messages in Pi sessions by their words")
    .argument("<words>", "what to look for; put several words in quotes")
    .argument(
      "[files...]",
      "Pi sessions: files, folders of them, or the beginnings of their ids (default: the latest session of this folder)",
    )
    .option("--all-branches", "also the branches that were left")
    .option("--limit <n>", "how many matches of a branch are shown", ordinalOf, SEARCH_LIMIT)
    .option("--json", "one JSON object per match, and a last one with the counts")
    .addHelpText("after", examples(['search "release port"', "in what this folder's sessions remember"]))
    .action(async (words: string, files: string[], options: SearchCommandOptions) =>
      exit(await search(io, words, files, options)),
    );
}

async function search(
  io: Io,
  words: string,
  files: readonly string[],
  { allBranches = false, limit, json = false }: SearchCommandOptions,
): Promise<number> {
  const problem = queryProblem(words);
  if (problem) throw new UsageError(problem);
  const sessions = files.length > 0 ? files.flatMap(sessionsIn) : [undefined];
  let [found, searched, read] = [0, 0, 0];
  for (const file of sessions) {
    try {
      const result = await searchFile(io, file, words, allBranches, limit);
      read++;
      found += result.found;
      searched += result.searched;
      show(io, result.hits, json);
    } catch (error) {
      // One session that cannot be read hides no other; alone, it is what the user has to put right.
      if (!(error instanceof UsageError) || sessions.length === 1) throw error;
      io.complain(`memory-lanes: ${error.message}`);
    }
    await io.ready();
    if (io.closed) break;
  }
  if (read === 0) {
    io.complain("memory-lanes: none of these files could be searched");
    return EXIT.difference;
  }
  const counts = `${countOf(read, "session")}, ${countOf(searched, "line of memory or message", "lines of memory and messages")}`;
  if (json) io.json({ type: "searched", sessions: read, searched, found });
  else if (found > 0) io.line(`${countOf(found, "match", "matches")} (${counts}).`);
  else {
    io.line(`Nothing matches "${clipped(words, LONGEST_ECHO)}".\nSearched: ${counts}.`);
    io.line(`Try fewer or other words${allBranches ? "" : ", or --all-branches"}.`);
  }
  return found > 0 ? EXIT.ok : EXIT.difference;
}

/** Characters of what the user gave that an answer repeats */
const LONGEST_ECHO = 40;
/** Columns where the output is no terminal */
const COLUMNS = 80;

function show(io: Io, hits: readonly PlacedHit[], json: boolean): void {
  let place = "";
  for (const hit of hits) {
    if (json) {
      io.json({ type: "hit", ...hit });
      continue;
    }
    const here = `${hit.session}\n  branch that ends with ${hit.branch}`;
    if (here !== place) io.line(io.paint("bold", here));
    place = here;
    for (const line of wrapped(hitLine(hit), (io.columns ?? COLUMNS) - 4)) io.line(`    ${line}`);
  }
  if (hits.length > 0 && !json) io.line("");
}

/** A text in lines of at most so many characters, broken at spaces where there are any. */
function wrapped(text: string, width: number): string[] {
  const room = Math.max(20, width);
  const lines = text.match(new RegExp(`.{1,${room}}(?:\\s+|$)|.{1,${room}}`, "gu")) ?? [];
  return lines.map((line) => line.trimEnd());
}

async function searchFile(
  io: Io,
  file: string | undefined,
  words: string,
  allBranches: boolean,
  limit: number,
) {
  const { file: name, session, reading } = await openSession(io, file, undefined);
  complainOfLines(io, name, reading);
  const { lookup } = sessionOfEntries(session.all);
  const index = createSessionSearch(redactedLookup(lookup));
  const branches = [session.entries, ...(allBranches ? otherBranches(session.all, session.entries) : [])];
  // What several branches share is named once, with the first of them.
  const seen = new Set<string>();
  const hits: PlacedHit[] = [];
  let [found, searched] = [0, 0];
  for (const entries of branches) {
    const result = await index.search(sessionOfEntries(entries).session, words, { limit, seen });
    const branch = entries.at(-1)?.id ?? "";
    searched = result.searched;
    found += result.found;
    hits.push(...result.hits.map((hit) => ({ ...hit, session: name, branch })));
  }
  return { hits, found, searched };
}

/** The file's branches beside this one, the newest first, each root first. */
function otherBranches(all: readonly EntryLike[], current: readonly EntryLike[]): EntryLike[][] {
  const byId = new Map(all.map((entry) => [entry.id, entry]));
  const parents = new Set(all.map(({ parentId }) => parentId));
  const tip = current.at(-1)?.id;
  const leaves = all.filter(({ id }) => !parents.has(id) && id !== tip).reverse();
  return leaves.map((leaf) => {
    const path = new Set<EntryLike>();
    for (let at: EntryLike | undefined = leaf; at && !path.has(at); at = byId.get(at.parentId ?? ""))
      path.add(at);
    return [...path].reverse();
  });
}

/** The sessions that a path names: itself, or whatever a folder and its folders hold. */
function sessionsIn(path: string): string[] {
  if (path === "-" || !statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path];
  const files = globSync("**/*.jsonl", { cwd: path, exclude: ["**/node_modules/**"] }).sort();
  if (files.length === 0) throw new UsageError(`${path}: there is no session (.jsonl) in this folder`);
  return files.map((name) => join(path, name));
}
