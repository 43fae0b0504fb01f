import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { scrubSession } from "../../../src/host/cli/input/session-secrets.ts";
import { scrubbedLine } from "../../../src/reducers/entries/scrub.ts";
import { redacted } from "../../../src/reducers/redact.ts";
import { run } from "../../support/programs/run-cli.ts";
import {
  compaction,
  folded,
  observationOf,
  observed,
  toolResult,
  user,
} from "../../support/sessions/builders.ts";
import { SESSION_HEADER } from "../../support/sessions/plain-session.ts";
import { anySecret, secretOf } from "../../support/sessions/secrets.ts";

const dir = mkdtempSync(join(tmpdir(), "memory-lanes-scrub-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const token = secretOf("GitHub classic token").text;
const key = secretOf("RSA key").text;
const record = observationOf(`The token is ${token}`, { sourceEntryIds: ["e1"] });
const entries = [
  user("e1", `deploy with ${token} and ${token}`),
  { ...toolResult("e2", key), parentId: "e1" },
  { ...observed("e3", [record], "e2"), parentId: "e2" },
  { ...compaction("e4", "e2", folded({ observations: [record] })), parentId: "e3" },
];

let files = 0;
function write(lines: readonly (object | string)[], end = "\n"): string {
  const file = join(dir, `s${++files}.jsonl`);
  const text = [SESSION_HEADER, ...lines].map((line) =>
    typeof line === "string" ? line : JSON.stringify(line),
  );
  writeFileSync(file, text.join("\n") + end);
  return file;
}

describe("memory-lanes scrub", () => {
  it("writes a copy in which ids and links hold, and says what it replaced and where", async () => {
    const file = write(entries);
    const { code, out } = await run(["scrub", file]);
    expect(code).toBe(0);
    const copy = file.replace(".jsonl", ".scrubbed.jsonl");
    expect(out).toBe(
      `Wrote ${copy}: replaced 4 github-token (lines 2, 4 and 5) and 1 private-key (line 3)\n`,
    );
    const clean = readFileSync(copy, "utf8");
    expect(clean).toBe(
      readFileSync(file, "utf8")
        .replaceAll(token, "[redacted:github-token]")
        .replace(JSON.stringify(key).slice(1, -1), "[redacted:private-key]"),
    );
    expect(statSync(copy).mode & 0o077).toBe(0);
    const recalled = await run(["recall", copy, record.id]);
    expect(recalled.code).toBe(0);
    expect(recalled.out).toContain("deploy with [redacted:github-token]");
    expect((await run(["view", copy])).out).toContain(`[${record.id}]`);
    expect(JSON.parse((await run(["scrub", file, "-o", `${copy}2`, "--json"])).out)).toEqual({
      type: "scrub",
      file: `${copy}2`,
      secrets: { "github-token": [2, 2, 4, 5], "private-key": [3] },
    });
  });

  it("overwrites nothing, not even the session itself, and takes nothing but a session", async () => {
    const file = write(entries);
    const before = readFileSync(file, "utf8");
    for (const output of [file, write([])]) {
      const { code, err } = await run(["scrub", file, "-o", output]);
      expect([code, err]).toEqual([
        2,
        `memory-lanes: ${output}: it is there already; name another with -o\n`,
      ]);
    }
    expect(readFileSync(file, "utf8")).toBe(before);
    expect((await run(["scrub", join(dir, "none.jsonl")])).code).toBe(2);
    const other = join(dir, "other.txt");
    writeFileSync(other, "plain text\n");
    expect((await run(["scrub", other])).err).toMatch(/not a Pi session/);
    expect((await run(["scrub", file, "-o", join(dir, "no", "folder")])).code).toBe(2);
  });

  it("changes no byte where there is no secret, whatever the bytes are", () => {
    const header = Buffer.from(`${JSON.stringify(SESSION_HEADER)}\n`);
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 }), (lines) => {
        const file = Buffer.concat([
          header,
          ...lines.map((line) => Buffer.concat([line, Buffer.from("\r\n")])),
        ]);
        expect(scrubSession(file).bytes.equals(file)).toBe(true);
      }),
    );
  });

  it("finds a secret in a line that is damaged, torn, or no UTF-8", () => {
    const torn = `{"type":"message","id":"e9","message":{"content":"${token}`;
    const file = Buffer.from(
      `${[JSON.stringify(SESSION_HEADER), `{oops ${token}`, `"\\x${token}"`, torn].join("\n")}`,
    );
    const latin = Buffer.concat([
      file,
      Buffer.from([0x0a, 0x22, 0xe9, 0x20]),
      Buffer.from(`${token}"`),
      Buffer.from([0xff]),
    ]);
    const { bytes, secrets } = scrubSession(latin);
    expect(bytes.includes(token)).toBe(false);
    expect(bytes.at(-1)).toBe(0xff);
    expect([...secrets.values()].flat().length).toBe(4);
  });

  it("reads strings as JSON means them, and leaves all other strings as they are written", () => {
    const escaped = [...token]
      .map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join("");
    const line = `{ "caf\\u00e9" : "\\/ \\u00e9", "x":"${escaped}" ,"n":1.0 }`;
    expect(scrubbedLine(line, new Set(), () => {})).toBe(
      '{ "caf\\u00e9" : "\\/ \\u00e9", "x":"[redacted:github-token]" ,"n":1.0 }',
    );
    expect(scrubbedLine(`{"id":"${token}"}`, new Set([token]), () => {})).toContain(token);
  });

  it("means what redacting the values means", () => {
    const words = fc.oneof(
      anySecret.map(({ text }) => text),
      fc.string(),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(words, words).map(([a, b]) => `${a} ${b}`)), (texts) => {
        const clean = scrubbedLine(JSON.stringify({ texts }), new Set(), () => {});
        expect(JSON.parse(clean)).toEqual({ texts: texts.map((text) => redacted(text)) });
        expect(scrubbedLine(clean, new Set(), () => {})).toBe(clean);
      }),
    );
  });
});
