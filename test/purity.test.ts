import { globSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

/**
 * Dependencies point one way, host → effects → machines → reducers, no file imports itself by way of others, and the two
 * pure layers import nothing from Node or Pi. Time, chance and timers would break replay, so they may not name them.
 */
const ROOT = resolve(import.meta.dirname, "..");
const LAYERS = ["reducers", "machines", "effects", "host"] as const;
const PURE = ["reducers", "machines"] as const;
const PURE_PACKAGES = ["zod", "immer", "xstate", "rxjs", "minisearch", /^@noble\/hashes\//];
const IMPURE_NAMES =
  /\b(?:Date\.now|new Date\(\)|Math\.random|setTimeout|setInterval|process\.|console\.|fetch\()/;

interface Import {
  file: string;
  from: string;
  typeOnly: boolean;
}

function filesOf(layer: string): string[] {
  return globSync(`src/${layer}/**/*.ts`, { cwd: ROOT });
}

function importsOf(file: string): Import[] {
  const text = readFileSync(resolve(ROOT, file), "utf8");
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?[^;]*?from\s+"([^"]+)"/gm);
  const dynamic = text.matchAll(/(?<!typeof )\bimport\(\s*"([^"]+)"/g);
  return [
    ...[...statements].map(([, type, from = ""]) => ({ file, from, typeOnly: type !== undefined })),
    ...[...dynamic].map(([, from = ""]) => ({ file, from, typeOnly: false })),
  ];
}

describe("layers", () => {
  it.each(LAYERS)("%s imports only from itself and from the layers below", (layer) => {
    const allowed = LAYERS.slice(0, LAYERS.indexOf(layer) + 1) as readonly string[];
    const files = filesOf(layer);
    expect(files.length).toBeGreaterThan(0);
    const wrong = files
      .flatMap(importsOf)
      .filter(({ from }) => from.startsWith("."))
      .filter(({ file, from }) => {
        const target =
          relative(resolve(ROOT, "src"), resolve(ROOT, dirname(file), from)).split(/[\\/]/)[0] ?? "";
        return !allowed.includes(target) && !target.startsWith("..");
      });
    expect(wrong).toEqual([]);
  });

  it.each(PURE)("%s imports nothing from Node or Pi, and only the packages it is built on", (layer) => {
    const wrong = filesOf(layer)
      .flatMap(importsOf)
      .filter(({ from, typeOnly }) => !from.startsWith(".") && !typeOnly)
      .filter(
        ({ from }) =>
          !PURE_PACKAGES.some((allowed) =>
            typeof allowed === "string" ? allowed === from : allowed.test(from),
          ),
      );
    expect(wrong).toEqual([]);
  });

  it.each(PURE)("%s knows neither time nor chance nor the outside world", (layer) => {
    const wrong = filesOf(layer).filter((file) =>
      IMPURE_NAMES.test(code(readFileSync(resolve(ROOT, file), "utf8"))),
    );
    expect(wrong).toEqual([]);
  });

  it("leaves Pi's own package to the extension's entry, since Node and not Pi's loader loads the rest", () => {
    const wrong = ["effects", "host"]
      .flatMap(filesOf)
      .filter((file) => !/src.host.pi.(extension|entry-renderers)\.ts$/.test(file))
      .flatMap(importsOf)
      .filter(({ from, typeOnly }) => from.startsWith("@earendil-works/") && !typeOnly);
    expect(wrong).toEqual([]);
  });

  it("keeps timers, promises and invocations out of the machines", () => {
    const wrong = filesOf("machines").filter((file) =>
      /\b(?:invoke|after|fromPromise|sendTo|spawnChild)\s*[:(]|\basync\b|\bPromise\b/.test(
        code(readFileSync(resolve(ROOT, file), "utf8")),
      ),
    );
    expect(wrong).toEqual([]);
  });
});

describe("files", () => {
  it("import each other in one direction only", () => {
    const files = globSync("src/**/*.{ts,tsx}", { cwd: ROOT });
    const imports = new Map(
      files.map((file) => [
        file,
        importsOf(file)
          .filter(({ from }) => from.startsWith("."))
          .map(({ from }) => relative(ROOT, resolve(ROOT, dirname(file), from))),
      ]),
    );
    expect(files.flatMap((file) => wayBack(file, imports) ?? [])).toEqual([]);
  });
});

/** The files on the way from one back to itself. */
function wayBack(start: string, imports: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const from = new Map<string, string>();
  const queue = [start];
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    for (const next of imports.get(file) ?? []) {
      if (next === start) {
        const way = [start];
        for (let at: string | undefined = file; at !== undefined && at !== start; at = from.get(at))
          way.unshift(at);
        return [`${start} -> ${way.join(" -> ")}`];
      }
      if (from.has(next)) continue;
      from.set(next, file);
      queue.push(next);
    }
  }
  return undefined;
}

/** A file's text without comments, which may talk about anything. */
function code(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}
