import { randomUUID } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { messageOf } from "../../../reducers/message-of.ts";

/** Something about the file that the user has to put right first. */
export class AgentsFileError extends Error {
  override name = "AgentsFileError";
}

/** A project's `AGENTS.md` as it was read, or as it will be made. */
export interface AgentsFile {
  /** What the user calls it */
  path: string;
  /** Where its bytes are: elsewhere in the project if it is a link */
  target: string;
  /** Undefined: there is none yet. */
  bytes: Buffer | undefined;
  /** Its text, a byte order mark included */
  text: string;
  stats: Stats | undefined;
}

const NAME = "AGENTS.md";
/** What Pi looks for in a folder, in its order: it reads the first that is there, and no other. */
const READ_BY_PI = ["AGENTS.override.md", NAME, "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"] as const;

/**
 * Finds the `AGENTS.md` of a project's folder and reads it; there may be none yet. Throws `AgentsFileError` where what would be
 * written there could not be, would go elsewhere, or would not be read by Pi.
 */
export function readAgentsFile(folder: string): AgentsFile {
  const name = READ_BY_PI.find((candidate) => isFile(join(folder, candidate))) ?? NAME;
  if (name === "AGENTS.override.md") {
    throw new AgentsFileError(
      `Pi reads ${name} in this folder and not ${NAME}, so that nobody would see what is promoted. Make one file of the two first.`,
    );
  }
  if (name.startsWith("CLAUDE")) {
    throw new AgentsFileError(
      `Pi reads ${name} in this folder, and would no longer if there were an ${NAME} beside it. Rename it to ${NAME}, or link ${NAME} to it, first.`,
    );
  }
  const path = join(folder, name);
  const target = targetOf(path, folder);
  if (target === undefined) {
    const root = realpathSync(folder);
    if (!isWritable(root)) throw new AgentsFileError(`${folder}: nothing may be written into this folder.`);
    return { path, target: join(root, name), bytes: undefined, text: "", stats: undefined };
  }
  const stats = statSync(target);
  if (!stats.isFile()) throw new AgentsFileError(`${path} is no file.`);
  // Whoever runs Pi as root could write it all the same, and would not be who meant it to stay as it is.
  if ((stats.mode & 0o222) === 0 || !isWritable(target) || !isWritable(dirname(target))) {
    throw new AgentsFileError(`${path} is read-only. Make it writable first.`);
  }
  const bytes = readFileSync(target);
  return { path, target, bytes, text: textOf(bytes, path), stats };
}

/**
 * Writes the file anew, whole or not at all, with the rights that it had. Throws `AgentsFileError` when that fails, and when
 * somebody has changed the file since it was read.
 */
export function writeAgentsFile({ path, target, bytes, stats }: AgentsFile, text: string): void {
  const draft = join(dirname(target), `.${basename(target)}.${randomUUID()}.tmp`);
  try {
    writeDraft(draft, text, stats);
    if (!isStill(target, bytes)) {
      throw new AgentsFileError(`${path} was changed meanwhile, so nothing was written. Promote again.`);
    }
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { force: true });
    if (error instanceof AgentsFileError) throw error;
    throw new AgentsFileError(`${path} could not be written, and is as it was: ${messageOf(error)}`);
  }
}

function writeDraft(draft: string, text: string, stats: Stats | undefined): void {
  const descriptor = openSync(draft, "wx", stats?.mode ?? 0o666);
  try {
    writeFileSync(descriptor, text);
    if (stats) {
      fchmodSync(descriptor, stats.mode);
      try {
        fchownSync(descriptor, stats.uid, stats.gid);
      } catch {
        // Only root may give a file away, and only root's would be somebody else's now.
      }
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function isStill(target: string, bytes: Buffer | undefined): boolean {
  try {
    const now = readFileSync(target);
    return bytes?.equals(now) === true;
  } catch (error) {
    return bytes === undefined && codeOf(error) === "ENOENT";
  }
}

/** Where a path leads; undefined when nothing is there. It must lead to within the folder. */
function targetOf(path: string, folder: string): string | undefined {
  try {
    lstatSync(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw new AgentsFileError(`${path} cannot be looked at: ${messageOf(error)}`);
  }
  let target: string;
  try {
    target = realpathSync(path);
  } catch (error) {
    throw new AgentsFileError(`${path} is a link that leads nowhere: ${messageOf(error)}`);
  }
  const way = relative(realpathSync(folder), target);
  if (way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) {
    throw new AgentsFileError(
      `${path} is a link to ${target}, outside this project, where nothing is written. Put a file of its own in its place first.`,
    );
  }
  return target;
}

function textOf(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new AgentsFileError(
      `${path} is not UTF-8, so that it could not be written back as it is. Save it as UTF-8 first.`,
    );
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
