import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../io.ts";

const GLOB = /[*?[\]{}]/;
const IN_FOLDERS = "**/*.{jsonl,ndjson}";

/**
 * The files that arguments mean, each once, in the order given: a file, whatever sessions and recordings a folder and its folders
 * hold, whatever a glob matches. Throws `UsageError` for a folder or a glob in which there is none.
 */
export function batchFiles(args: readonly string[]): string[] {
  return [...new Set(args.flatMap(filesOf))];
}

/** Whether arguments mean several files, or may. */
export function isBatch(args: readonly string[]): boolean {
  return args.length > 1 || args.some((arg) => isFolder(arg) || isGlob(arg));
}

function filesOf(arg: string): string[] {
  if (isFolder(arg)) {
    const found = globSync(IN_FOLDERS, { cwd: arg, exclude: ["**/node_modules/**"] }).sort();
    if (found.length === 0) throw new UsageError(`${arg}: no session or recording is in this folder`);
    return found.map((name) => join(arg, name));
  }
  if (!isGlob(arg)) return [arg];
  const found = globSync(arg)
    .filter((file) => !isFolder(file))
    .sort();
  if (found.length === 0) throw new UsageError(`${arg}: no file matches`);
  return found;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** A file that is named like a glob is the file. */
function isGlob(arg: string): boolean {
  return GLOB.test(arg) && statSync(arg, { throwIfNoEntry: false }) === undefined;
}
