import { existsSync, readdirSync, statSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import packageJson from "../../../../package.json" with { type: "json" };
import { countOf } from "../../words.ts";
import { asList, asRecord, asText, packageAround, readJson } from "./files.ts";
import { type Finding, findingsOf, type Surroundings } from "./finding.ts";

const finding = findingsOf("extension");

/** An extension or package that Pi's settings or folders load. */
interface Loaded {
  /** As it stands in the settings, or the file in an extensions folder */
  source: string;
  /** The settings file or the folder */
  from: string;
  path: string | undefined;
}

/** Whether Pi may read the project's own settings, as far as its list of decisions tells. */
export function isProjectTrusted({ agentDir, cwd }: Surroundings): boolean {
  const decisions = asRecord(readJson(join(agentDir, "trust.json")));
  for (let dir = resolve(cwd); ; dir = join(dir, "..")) {
    const decision = decisions[dir];
    if (typeof decision === "boolean") return decision;
    if (join(dir, "..") === dir) break;
  }
  return asRecord(readJson(join(agentDir, "settings.json"))).defaultProjectTrust === "always";
}

/** Which copy of this extension Pi loads, and whether another one would get in its way. */
export function checkExtension(around: Surroundings, projectTrusted: boolean): Finding[] {
  const projectDir = join(around.cwd, ".pi");
  const all = [
    ...loadedFrom(around.agentDir, around),
    ...(projectTrusted && projectDir !== around.agentDir ? loadedFrom(projectDir, around) : []),
  ];
  const findings: Finding[] = [];
  const copies = new Map<string, Loaded>();
  const rivals: string[] = [];
  for (const loaded of all) {
    const found = loaded.path === undefined ? undefined : packageAround(loaded.path);
    if (found?.name === packageJson.name) {
      copies.set(found.dir, loaded);
      const where = `${found.name} ${found.version} in ${found.dir}, by ${loaded.source} in ${loaded.from}`;
      findings.push(finding("ok", `Pi loads ${where}`));
    } else if (isOurs(loaded.source) && (loaded.path === undefined || !existsSync(loaded.path))) {
      const advice = `pi remove ${loaded.source}, then pi install npm:${packageJson.name}`;
      findings.push(finding("error", `${loaded.source} in ${loaded.from} is not installed`, advice));
    } else if (/observational-memory/.test(found?.name ?? loaded.source)) rivals.push(loaded.source);
  }
  if (copies.size === 0 && findings.length === 0) {
    const advice = `pi install npm:${packageJson.name}, or load a checkout with pi -e PATH`;
    findings.push(finding("warning", "no settings load Memory Lanes", advice));
  }
  if (copies.size > 1) {
    const advice = "keep one: pi remove SOURCE takes a package out of the settings";
    findings.push(
      finding("error", `${countOf(copies.size, "copy", "copies")} of it are loaded at once`, advice),
    );
  }
  for (const rival of copies.size > 0 ? rivals : []) {
    const message = `${rival} is loaded too: both would write memory into the same sessions`;
    findings.push(
      finding("error", message, `pi remove ${rival}; its sessions open in Memory Lanes as they are`),
    );
  }
  return findings;
}

function isOurs(source: string): boolean {
  return source.includes(packageJson.name);
}

/** What a settings folder loads: its packages, its extensions, and what lies in its extensions folder. */
function loadedFrom(dir: string, { home }: Surroundings): Loaded[] {
  const file = join(dir, "settings.json");
  const settings = asRecord(readJson(file));
  const packages = asList(settings.packages).flatMap((entry) => {
    const source = asText(entry) ?? asText(asRecord(entry).source);
    return source === undefined ? [] : [{ source, from: file, path: packagePath(source, dir, home) }];
  });
  const extensions = asList(settings.extensions).flatMap((entry) => {
    const source = asText(entry);
    return source === undefined || /^[!+-]/.test(source)
      ? []
      : [{ source, from: file, path: localPath(source, dir, home) }];
  });
  const folder = join(dir, "extensions");
  const found = statSync(folder, { throwIfNoEntry: false })?.isDirectory()
    ? readdirSync(folder).map((name) => ({ source: name, from: folder, path: join(folder, name) }))
    : [];
  return [...packages, ...extensions, ...found];
}

/** Where Pi puts a package: npm ones under `npm`, clones under `git`, local ones stay where they are. */
function packagePath(source: string, dir: string, home: string): string | undefined {
  if (source.startsWith("npm:")) {
    const name = /^npm:((?:@[^/]+\/)?[^@]+)/.exec(source)?.[1];
    return name === undefined ? undefined : join(dir, "npm", "node_modules", name);
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
