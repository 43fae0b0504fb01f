import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  AgentsFileError,
  readAgentsFile,
  writeAgentsFile,
} from "../../../../src/host/pi/promote/agents-file.ts";

let outside: string;
let project: string;
let path: string;
beforeEach(() => {
  outside = realpathSync(mkdtempSync(join(tmpdir(), "memory-lanes-agents-")));
  project = join(outside, "project");
  mkdirSync(project);
  path = join(project, "AGENTS.md");
});
afterEach(() => rmSync(outside, { recursive: true, force: true }));

function expectRefusal(words: RegExp): void {
  const before = readdirSync(project);
  expect(() => readAgentsFile(project)).toThrow(AgentsFileError);
  expect(() => readAgentsFile(project)).toThrow(words);
  expect(readdirSync(project)).toEqual(before);
}

describe("a project's AGENTS.md", () => {
  it("is made where there is none", () => {
    const file = readAgentsFile(project);
    expect(file).toMatchObject({ path, text: "", bytes: undefined });
    writeAgentsFile(file, "# New\n");
    expect(readFileSync(path, "utf8")).toBe("# New\n");
    expect(readdirSync(project)).toEqual(["AGENTS.md"]);
  });

  it("is written as a whole, with the bytes that were kept and the rights that it had", () => {
    const text = "\uFEFF# Rules\r\nfür alle 🛶";
    writeFileSync(path, text);
    chmodSync(path, 0o640);
    const file = readAgentsFile(project);
    expect(file.text).toBe(text);
    writeAgentsFile(file, `${file.text}\r\nmore`);
    expect(readFileSync(path)).toEqual(Buffer.from(`${text}\r\nmore`));
    if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(project)).toEqual(["AGENTS.md"]);
  });

  it("is left alone when somebody has changed, made or removed it since", () => {
    const absent = readAgentsFile(project);
    writeFileSync(path, "mine");
    expect(() => writeAgentsFile(absent, "ours")).toThrow(/was changed meanwhile/);
    const file = readAgentsFile(project);
    writeFileSync(path, "mine!");
    expect(() => writeAgentsFile(file, "ours")).toThrow(/was changed meanwhile/);
    expect(readFileSync(path, "utf8")).toBe("mine!");
    rmSync(path);
    expect(() => writeAgentsFile(file, "ours")).toThrow(/was changed meanwhile/);
    expect(readdirSync(project)).toEqual([]);
  });

  it("is refused when it is read-only, no file or no UTF-8", () => {
    mkdirSync(path);
    expectRefusal(/AGENTS\.md is no file/);
    rmSync(path, { recursive: true });
    writeFileSync(path, Buffer.from("# R\xe9gles\n", "latin1"));
    expectRefusal(/is not UTF-8/);
    writeFileSync(path, "# Rules\n");
    chmodSync(path, 0o444);
    expectRefusal(/AGENTS\.md is read-only/);
  });

  it.skipIf(process.platform === "win32")("may be a link within the project, and stays one", () => {
    writeFileSync(join(project, "CLAUDE.md"), "# Rules\n");
    symlinkSync("CLAUDE.md", path);
    writeAgentsFile(readAgentsFile(project), "# Rules\nmore\n");
    expect(readFileSync(join(project, "CLAUDE.md"), "utf8")).toBe("# Rules\nmore\n");
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
  });

  it.skipIf(process.platform === "win32")("may not be a link that leads elsewhere or nowhere", () => {
    const elsewhere = join(outside, "other.md");
    writeFileSync(elsewhere, "# Others\n");
    symlinkSync(elsewhere, path);
    expectRefusal(new RegExp(`is a link to ${elsewhere}, outside this project`));
    rmSync(path);
    symlinkSync(join(project, "gone.md"), path);
    expectRefusal(/is a link that leads nowhere/);
    rmSync(path);
    symlinkSync(path, path);
    expectRefusal(/is a link that leads nowhere/);
    // A folder whose name begins like the project's is not within it.
    rmSync(path);
    mkdirSync(join(outside, "project-2"));
    writeFileSync(join(outside, "project-2", "a.md"), "");
    symlinkSync("../project-2/a.md", path);
    expectRefusal(/outside this project/);
  });

  it("is refused where Pi reads another file in its place", () => {
    writeFileSync(join(project, "CLAUDE.md"), "# Rules\n");
    expectRefusal(/Pi reads CLAUDE\.md .* link AGENTS\.md to it/);
    writeFileSync(path, "# Rules\n");
    expect(readAgentsFile(project).text).toBe("# Rules\n");
    writeFileSync(join(project, "AGENTS.override.md"), "# Mine\n");
    expectRefusal(/Pi reads AGENTS\.override\.md in this folder and not AGENTS\.md/);
  });
});
