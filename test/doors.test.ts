import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isIdentifier, isQualifiedName, type Node, SyntaxKind } from "typescript/unstable/ast";
import { API, type Project, SymbolFlags, type Symbol as TsSymbol } from "typescript/unstable/sync";
import { afterAll, beforeAll, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "..");

let dir: string;
let api: API;
let project: Project;

// The declarations as users get them: types that the compiler infers are written out there.
beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "memory-lanes-doors-")));
  const tsc = join(ROOT, "node_modules/typescript/lib/tsc.js");
  execFileSync(process.execPath, [tsc, "--project", join(ROOT, "tsconfig.build.json"), "--outDir", dir]);
  const config = join(dir, "tsconfig.json");
  writeFileSync(
    config,
    JSON.stringify({ compilerOptions: { module: "nodenext" }, files: ["index.d.ts", "replay.d.ts"] }),
  );
  api = new API({ cwd: dir });
  const [opened] = api.updateSnapshot({ openProjects: [config] }).getProjects();
  if (!opened) throw new Error("the declarations could not be opened");
  project = opened;
});
afterAll(() => {
  api?.close();
  rmSync(dir, { recursive: true, force: true });
});

const declaredHere = (symbol: TsSymbol) =>
  symbol.declarations.filter(({ path }) => path.startsWith(`${dir}/`));

function original(symbol: TsSymbol): TsSymbol {
  return symbol.flags & SymbolFlags.Alias ? project.checker.getAliasedSymbol(symbol) : symbol;
}

/** The types that a declaration names, but for type parameters and what stands for a value's type. */
function typesIn(node: Node): TsSymbol[] {
  if (node.kind === SyntaxKind.TypeQuery) return [];
  const named = isNameOfType(node) ? project.checker.getSymbolAtLocation(node) : undefined;
  const found = named ? [original(named)] : [];
  node.forEachChild((child) => {
    found.push(...typesIn(child));
  });
  return found.filter(({ flags }) => flags & SymbolFlags.Type && !(flags & SymbolFlags.TypeParameter));
}

function isNameOfType(node: Node): boolean {
  if (!isIdentifier(node)) return false;
  const of = isQualifiedName(node.parent) && node.parent.right === node ? node.parent.parent : node.parent;
  return [SyntaxKind.TypeReference, SyntaxKind.ImportType, SyntaxKind.ExpressionWithTypeArguments].includes(
    of.kind,
  );
}

it.each(["index", "replay"])(
  "the door %s exports every type that stands in its public signatures",
  (door) => {
    const file = project.program.getSourceFile(join(dir, `${door}.d.ts`));
    const self = file && project.checker.getSymbolAtLocation(file);
    if (!self) throw new Error(`there is no ${door}.d.ts`);
    const exported = project.checker.getExportsOfModule(self).map(original);
    const known = new Set(exported);
    const missing = new Set<string>();
    // What is missing counts as exported from there on, so that all that would be missing next is named at once.
    for (const symbol of known) {
      for (const declaration of declaredHere(symbol)) {
        const node = declaration.resolve(project);
        for (const type of node ? typesIn(node) : []) {
          if (known.has(type) || declaredHere(type).length === 0) continue;
          missing.add(`${type.name}, which ${symbol.name} names`);
          known.add(type);
        }
      }
    }
    expect(exported.length).toBeGreaterThan(20);
    expect([...missing]).toEqual([]);
  },
);
