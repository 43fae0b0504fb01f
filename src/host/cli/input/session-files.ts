import { closeSync, existsSync, globSync, openSync, readSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fieldsOf, textOf } from "../../../reducers/entries/entry.ts";
import { formatLocalMinute } from "../../../reducers/entries/sources.ts";
import { countOf } from "../../../reducers/words.ts";
import { type Io, UsageError } from "../io.ts";
import { type Surroundings, sessionsDir, surroundings } from "./surroundings.ts";
import { tryJson } from "./try-json.ts";

/** A session's file among those that Pi keeps. */
export interface SessionFileName {
  file: string;
  /** When it was last written; milliseconds since the epoch */
  at: number;
}

/** The same with what its first line says of the session; both are empty where it does not tell. */
export interface PiSession extends SessionFileName {
  id: string;
  cwd: string;
}

/** All of Pi's session files, the one written last first. */
export function sessionFiles(around: Surroundings): SessionFileName[] {
  const dir = sessionsDir(around);
  if (!existsSync(dir)) return [];
  return globSync("**/*.jsonl", { cwd: dir })
    .map((name) => join(dir, name))
    .flatMap((file) => {
      // A link may lead nowhere.
      const stats = statSync(file, { throwIfNoEntry: false });
      return stats?.isFile() ? [{ file, at: stats.mtimeMs }] : [];
    })
    .sort((a, b) => b.at - a.at);
}

/** Those whose session was held in this folder, the one written last first; read as far as they are asked for. */
export function* sessionsHere(around: Surroundings): Generator<PiSession> {
  const here = resolve(around.cwd);
  for (const named of sessionFiles(around)) {
    const session = withHeader(named);
    if (session.cwd !== "" && resolve(session.cwd) === here) yield session;
  }
}

/**
 * The file that a command's argument means: a path; else the session whose id begins so; with no argument the latest
 * session of this folder. `chosen` says which it is where the user did not name it by its path. Throws `UsageError`.
 */
export function givenFile(
  argument: string | undefined,
  around = surroundings(),
): { file: string; chosen?: string } {
  if (argument === undefined) {
    const [latest] = sessionsHere(around);
    if (latest) return chosen("Latest session of this folder", latest);
    throw new UsageError(
      `there is no session of this folder in ${sessionsDir(around)}; name a file, or a session's id`,
    );
  }
  if (argument === "-" || !BEGINS_AN_ID.test(argument) || existsSync(argument)) return { file: argument };
  const found = sessionFiles(around).filter((named) => hasId(named, argument));
  if (found.length > 1) {
    throw new UsageError(
      `${argument}: ${countOf(found.length, "session")} have an id that begins so; write more of it`,
    );
  }
  const [session] = found;
  if (session) return chosen("Session", session);
  throw new UsageError(`${argument}: there is no such file, and no session's id begins so`);
}

/** The same file; which one it is is told on stderr where the user did not name it by its path. */
export function fileFor(io: Io, argument: string | undefined): string {
  const { file, chosen } = givenFile(argument);
  if (chosen !== undefined) io.complain(chosen);
  return file;
}

/** The file of the session with this very id; undefined when there is none. */
export function sessionFileOf(id: string, around: Surroundings): string | undefined {
  return sessionFiles(around).find(({ file }) => basename(file).endsWith(`_${id}.jsonl`))?.file;
}

/** An id of Pi's is a UUID; fewer than its first four digits would be a word. */
const BEGINS_AN_ID = /^[0-9a-f]{4}[0-9a-f-]{0,32}$/i;

function hasId(session: SessionFileName, beginning: string): boolean {
  // Pi names a file TIME_ID.jsonl; one that was renamed still holds its id.
  const named = /_([^_]+)\.jsonl$/.exec(basename(session.file))?.[1] ?? withHeader(session).id;
  return named.toLowerCase().startsWith(beginning.toLowerCase());
}

function chosen(what: string, { file, at }: SessionFileName): { file: string; chosen: string } {
  return { file, chosen: `${what}, last written ${formatLocalMinute(at)}: ${file}` };
}

const LONGEST_HEADER = 64 * 1024;

/** A session file with what its first line says. */
export function withHeader(named: SessionFileName): PiSession {
  const { id, cwd } = fieldsOf(tryJson(firstLineOf(named.file)));
  return { ...named, id: textOf(id), cwd: textOf(cwd) };
}

function firstLineOf(file: string): string {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, "r");
    const buffer = Buffer.alloc(LONGEST_HEADER);
    const text = buffer.toString("utf8", 0, readSync(descriptor, buffer, 0, LONGEST_HEADER, 0));
    return text.replace(/^\uFEFF/, "").split("\n", 1)[0] ?? "";
  } catch {
    return "";
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
