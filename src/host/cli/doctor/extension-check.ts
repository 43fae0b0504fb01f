import { existsSync, readdirSync, statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import packageJson from "../../../../package.json" with { type: "json" };
import { fieldsOf, textOf } from "../../../reducers/entries/entry.ts";
import { countOf } from "../../../reducers/words.ts";
import { readJson, type Surroundings } from "../input/surroundings.ts";
import { type Finding, findingsOf, listOf, packageAround } from "./finding.ts";

const finding = findingsOf("extension");

/** An extension or package that Pi's settings or folders load. */
interface Loaded {
  /** As it stands in the settings, or the file in an extensions folder */
  source: string;
  /** The settings file or the folder */
  from: string;
  path: string;
}

/** Which copy of this extension Pi loads, and whether another one would get in its way. */
export function checkExtension(around: Surroundings, projectTrusted: boolean): Finding[] {
  const projectDir = join(around.cwd, ".pi");
  const all = [
    ...loadedFrom(around.agentDir, around),
    ...(projectTrusted && projectDir !== around.agentDir ? loadedFrom(projectDir, around) : []),
  ];
  const findings: Finding[] = [];
  const complain = (level: "error" | "warning", message: string, advice: string) =>
    findings.push(finding(level, message, advice));
  const copies = new Set<string>();
  const rivals: string[] = [];
  for (const { source, from, path } of all) {
    const found = packageAround(path);
    if (found?.name === packageJson.name) {
      copies.add(found.dir);
      const where = `${found.name} ${found.version} in ${found.dir}, by ${source} in ${from}`;
      findings.push(finding("ok", `Pi loads ${where}`));
    } else if (source.includes(packageJson.name) && !existsSync(path)) {
      const advice = `pi remove ${source}, then pi install npm:${packageJson.name}`;
      complain("error", `${source} in ${from} is not installed`, advice);
    } else if (/observational-memory/.test(found?.name ?? source)) rivals.push(source);
  }
  if (findings.length === 0) {
    const advice = `pi install npm:${packageJson.name}, or load a checkout with pi -e PATH`;
    complain("warning", "no settings load Memory Lanes", advice);
  }
  if (copies.size > 1) {
    const advice = "keep one: pi remove SOURCE takes a package out of the settings";
    complain("error", `${countOf(copies.size, "copy", "copies")} of it are loaded at once`, advice);
  }
  for (const rival of copies.size > 0 ? rivals : []) {
    const advice = `pi remove ${rival}; its sessions open in Memory Lanes as they are`;
    complain("error", `${rival} is loaded too: both would write memory into the same sessions`, advice);
  }
  return findings;
}

/** What a settings folder loads: its packages, its extensions, and what lies in its extensions folder. */
function loadedFrom(dir: string, { home }: Surroundings): Loaded[] {
  const file = join(dir, "settings.json");
  const settings = readJson(file);
  const packages = listOf(settings.packages)
    .map((entry) => textOf(entry) || textOf(fieldsOf(entry).source))
    .filter((source) => source !== "")
    .map((source) => ({ source, from: file, path: packagePath(source, dir, home) }));
  const extensions = listOf(settings.extensions)
    .map(textOf)
    .filter((source) => source !== "" && !/^[!+-]/.test(source))
    .map((source) => ({ source, from: file, path: localPath(source, dir, home) }));
  const folder = join(dir, "extensions");
  const found = statSync(folder, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(folder).map((name) => ({ source: name, from: folder, path: join(folder, name) }))
    : [];
  return [...packages, ...extensions, ...found];
}

/** Where Pi puts a package: npm ones under `npm`, clones under `git`, local ones stay where they are. */
function packagePath(source: string, dir: string, home: string): string {
  if (source.startsWith("npm:")) {
    const [, name = ""] = /^npm:((?:@[^/]+\/)?[^@]+)/.exec(source) ?? [];
    return join(dir, "npm", "node_modules", name);
  }
  const git = /^(?:git:|https?:\/\/|ssh:\/\/|git@)(.+)$/.exec(source)?.[1];
  if (git === undefined) return localPath(source, dir, home);
  const place = git
    .replace(/^(?:https?:\/\/|ssh:\/\/)?(?:[^@/]+@)?/, "")
    .replace(":", "/")
    .replace(/(?:\.git)?(?:[@#][^/]*)?$/, "");
  return join(dir, "git", place);
}

function localPath(source: string, dir: string, home: string): string {
  const path = source.replace(/^file:/, "").replace(/^~(?=$|[\\/])/, home);
  return isAbsolute(path) ? path : resolve(dir, path);
}
