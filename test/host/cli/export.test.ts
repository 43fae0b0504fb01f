import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ExportSchema } from "../../../src/host/cli/export/exported-memory.ts";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { ROOT, run, start } from "../../support/programs/run-cli.ts";
import {
  observation,
  observed,
  reflected,
  reflection,
  replaced,
  superseded,
  toolResult,
  user,
} from "../../support/sessions/builders.ts";
import { DISGUISED, disguisedSession, OBEYED_OR_HIDDEN } from "../../support/sessions/disguised-session.ts";
import { SESSION_HEADER } from "../../support/sessions/plain-session.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "memory-lanes-export-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const FERRIES = join(ROOT, "test/fixtures/v3-normal-folds.jsonl");
const [A, B, R, S] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "dddddddddddd", "eeeeeeeeeeee"];

let files = 0;
function put(...entries: EntryLike[]): string {
  const file = join(dir, `session-${++files}.jsonl`);
  const chained = entries.map((entry, at) => ({ ...entry, parentId: entries[at - 1]?.id ?? null }));
  writeFileSync(file, [SESSION_HEADER, ...chained].map((line) => `${JSON.stringify(line)}\n`).join(""));
  return file;
}

const document = async (...args: string[]) => (await run(["export", ...args])).out;
const json = async (...args: string[]) => ExportSchema.parse(JSON.parse(await document(...args, "--json")));

/** Two days; the second observation takes the place of the first, the second reflection that of the first. */
const twoDays = () =>
  put(
    user("u1", "Deploy on Friday."),
    toolResult("t1", "no `deploy.sh`\n```\nhere"),
    observed(
      "o1",
      [
        observation(A, ["u1"], {
          content: "User wants the deploy on Friday.",
          timestamp: "2026-01-15 14:30",
        }),
        observation(B, ["u1", "t1", "gone"], { content: "It is on Monday.", timestamp: "2026-01-16 09:00" }),
      ],
      "t1",
    ),
    reflected("r1", [reflection(R, [A], "Fridays are for deploys.")], "t1"),
    reflected("r2", [reflection(S, [A, B], "Mondays are for deploys.")], "t1"),
    superseded("d1", { [A]: B }, "t1"),
    replaced("d2", [R], S, "t1"),
  );

describe("memory-lanes export", () => {
  it("writes what holds and what happened, by day in the order of a summary, and what each rests on", async () => {
    expect(await document(twoDays())).toBe(`# What is remembered

Session \`s\` in \`/\`, up to entry \`d2\`: 1 reflection and 1 observation. \`memory-lanes recall\` with the id of a line shows exactly what it rests on.

## What holds

- Mondays are for deploys. \`${S}\`  
  rests on \`${A}\` (not shown) and \`${B}\`

## What happened

### 2026-01-16

- 09:00 (high) It is on Monday. \`${B}\`  
  rests on entries \`u1\`, \`t1\` and \`gone\`
`);
  });

  it("shows what no longer holds where asked, struck out, with what stands in its place", async () => {
    const file = twoDays();
    const all = await document(file, "--all");
    expect(all).toContain(`- ~~Fridays are for deploys.~~ \`${R}\` (replaced by \`${S}\`)`);
    expect(all).toContain(`### 2026-01-15\n\n- 14:30 (high) ~~User wants the deploy on Friday.~~ \`${A}\``);
    expect(all.indexOf("2026-01-15")).toBeLessThan(all.indexOf("2026-01-16"));
    const { reflections, observations } = await json(file, "--all");
    expect(
      [...reflections, ...observations].map(({ id, status, replacedBy }) => [id, status, replacedBy]),
    ).toEqual([
      [R, "dropped", [S]],
      [S, "active", []],
      [A, "dropped", [B]],
      [B, "active", []],
    ]);
  });

  it("has sources as footnotes where asked, each once, in a block that their text cannot end", async () => {
    const file = twoDays();
    const text = await document(file, "--all", "--sources");
    expect(text).toMatch(new RegExp(`${A}\` \\(replaced by \`${B}\`\\)\\[\\^1\\]\n`));
    expect(text).toMatch(new RegExp(`${B}\`\\[\\^1\\]\\[\\^2\\]\\[\\^3\\]\n`));
    expect(text).toMatch(
      /\[\^2\]: Entry `t1`:\n\n {4}````\n {4}\[Tool result [^\n]*\n {4}no `deploy.sh`\n {4}```\n {4}here\n {4}````\n/,
    );
    expect(text).toContain("[^3]: Entry `gone` is not on this branch.");
    expect((await json(file, "--sources")).sources?.map(({ entryId, status }) => [entryId, status])).toEqual([
      ["u1", "found"],
      ["t1", "found"],
      ["gone", "missing"],
    ]);
  });

  it("cuts a long source in the document and says how much is left, and has all of it in JSON", async () => {
    const file = put(user("u1", "x".repeat(10_000)), observed("o1", [observation(A, ["u1"])], "u1"));
    expect(await document(file, "--sources")).toMatch(/\n {4}… and 6,0\d\d more characters/);
    expect((await json(file, "--sources")).sources?.[0]?.text).toContain("x".repeat(10_000));
  });

  it("lets nothing in a line count as markup but code", async () => {
    const content = "see `a*b` and <!-- x --> [l](u) ![i](u) **b** snake_case _i_ ~~s~~ `open";
    const file = put(user("u1", "hi"), observed("o1", [observation(A, ["u1"], { content })], "u1"));
    expect(await document(file)).toContain(
      "see `a*b` and \\<!-- x --\\> \\[l\\](u) !\\[i\\](u) \\*\\*b\\*\\* snake_case \\_i\\_ \\~\\~s\\~\\~ \\`open",
    );
  });

  it.each([
    ["# x", "\\# x"],
    ["- x", "\\- x"],
    ["+ x", "\\+ x"],
    ["1. x", "1\\. x"],
    ["2) x 3. y", "2\\) x 3. y"],
    ["__proto__", "\\_\\_proto\\_\\_"],
  ])("takes %j at the beginning of a line for text", async (content, shown) => {
    const records = [
      observed("o1", [observation(A, ["u1"])], "u1"),
      reflected("r1", [reflection(R, [A], content)], "u1"),
    ];
    expect(await document(put(user("u1", "hi"), ...records))).toContain(`\n- ${shown} \`${R}\``);
  });

  it("shows a day again where the order leaves it, and a time that is none as it stands", async () => {
    const stamps = ["2026-01-15 10:00", "2026-01-16 10:00", "2026-01-15 11:00", "once"];
    const records = stamps.map((timestamp, at) => observation(`${at}`.repeat(12), ["u1"], { timestamp }));
    const text = await document(put(user("u1", "hi"), observed("o1", records, "u1")));
    expect(text.match(/^### .*/gm)).toEqual([
      "### 2026-01-15",
      "### 2026-01-16",
      "### 2026-01-15",
      "### Undated",
    ]);
    expect(text).toContain("- once (high)");
  });

  it("holds no secret and nothing that a terminal obeys; what is empty says so", async () => {
    const key = `ghp_${"a1B2".repeat(9)}`;
    const content = `The token is ${key}.`;
    const file = put(user("u1", content), observed("o1", [observation(A, ["u1"], { content })], "u1"));
    for (const args of [[], ["--json"]]) {
      const text = await document(file, "--sources", ...args);
      expect(text).not.toContain(key);
      expect(text).toContain("redacted:github-token");
    }
    const disguised = join(dir, "disguised.jsonl");
    writeFileSync(
      disguised,
      disguisedSession()
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    );
    const out = join(dir, "disguised.md");
    expect(start(["export", disguised, "--sources"]).out).not.toMatch(OBEYED_OR_HIDDEN);
    expect(start(["export", disguised, "--sources", "-o", out])).toMatchObject({ out: "", code: 0 });
    expect(readFileSync(out, "utf8")).not.toMatch(OBEYED_OR_HIDDEN);
    expect(start(["export", disguised, "--json"]).out).toContain(JSON.stringify(DISGUISED));
    expect(await document(put(user("u1", "hi")))).toContain("Nothing is recorded on this branch yet.");
  });

  it("writes into a file that is not there yet, for nobody else to read", async () => {
    const out = join(dir, "memory.md");
    expect(await run(["export", FERRIES, "-o", out])).toMatchObject({
      out: "",
      err: `Wrote ${out}\n`,
      code: 0,
    });
    expect(readFileSync(out, "utf8")).toBe(await document(FERRIES));
    if (process.platform !== "win32") expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(await run(["export", FERRIES, "-o", out])).toMatchObject({
      err: expect.stringMatching(/memory\.md: it is there already; name another with -o/),
      code: 2,
    });
    expect(await run(["export", FERRIES, "--md", "--json"])).toMatchObject({
      err: expect.stringContaining("it is one of the two"),
      code: 2,
    });
  });
});
