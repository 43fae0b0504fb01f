import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** A JSON file's value; undefined when there is none, or it is no JSON. */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  } catch {
    return undefined;
  }
}

export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The package that a file or folder belongs to. */
export interface PackageFound {
  /** Its folder, links resolved */
  dir: string;
  name: string;
  version: string;
}

export function packageAround(path: string): PackageFound | undefined {
  if (!existsSync(path)) return undefined;
  for (let dir = realpathSync(path); ; dir = dirname(dir)) {
    const { name, version } = asRecord(readJson(join(dir, "package.json")));
    if (typeof name === "string") return { dir, name, version: asText(version) ?? "without a version" };
    if (dirname(dir) === dir) return undefined;
  }
}
