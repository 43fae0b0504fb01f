import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ROOT } from "../../scripts/docs/generated-files.ts";

const page = readFileSync(join(ROOT, "docs/library.md"), "utf8");
const examples = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);

/** Where the package's doors lead in a checkout. */
const DOORS: Readonly<Record<string, string>> = {
  "pi-memory-lanes": join(ROOT, "src/index.ts"),
  "pi-memory-lanes/replay": join(ROOT, "src/replay.ts"),
};

describe("the examples of docs/library.md", () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(ROOT, "test/.examples-"));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it("are there", () => {
    expect(examples.length).toBeGreaterThan(3);
  });

  it.each(examples.map((code, index) => [index + 1, code] as const))(
    "run: number %i",
    async (number, code) => {
      const file = join(dir, `example-${number}.ts`);
      writeFileSync(
        file,
        code.replace(/from "([^"]+)"/g, (all, name) => (DOORS[name] ? `from "${DOORS[name]}"` : all)),
      );
      const said = vi.spyOn(console, "log").mockImplementation(() => {});
      try {
        await import(pathToFileURL(file).href);
        expect(said).toHaveBeenCalled();
        expect(said.mock.calls.flat()).not.toContain(undefined);
      } finally {
        said.mockRestore();
      }
    },
  );
});
