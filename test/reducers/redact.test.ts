import { lintSource } from "@secretlint/core";
import { creator as recommended } from "@secretlint/secretlint-rule-preset-recommend";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderSources } from "../../src/reducers/entries/sources.ts";
import { memoryId } from "../../src/reducers/ledger/memory-id.ts";
import { recall } from "../../src/reducers/memory.ts";
import { renderRecall } from "../../src/reducers/recall/recall-text.ts";
import { redacted, redactedEntry } from "../../src/reducers/redact.ts";
import {
  assistant,
  call,
  observationOf,
  observed,
  text,
  toolResult,
  user,
} from "../support/sessions/builders.ts";
import { anySecret, SECRET_FORMS, secretOf } from "../support/sessions/secrets.ts";

/** What a well-kept scanner finds in a text. */
async function scanned(content: string): Promise<string[]> {
  const config = { rules: [{ id: "preset", rule: recommended }] };
  const source = { filePath: "text.txt", content, contentType: "text" as const };
  const { messages } = await lintSource({ source, options: { config } } as Parameters<typeof lintSource>[0]);
  return messages.map(({ ruleId, messageId }) => `${ruleId} ${messageId}`);
}

/** Every run of so many characters, none of which may be left. */
const TELLING = 8;

function leftOf(body: string, result: string): string[] {
  const pieces = [];
  for (let at = 0; at + TELLING <= body.length; at++) pieces.push(body.slice(at, at + TELLING));
  return pieces.filter((piece) => result.includes(piece));
}

describe("a secret", () => {
  it.each(Object.keys(SECRET_FORMS))("of the form %s is replaced whole, by its kind", (name) => {
    fc.assert(
      fc.property(SECRET_FORMS[name] ?? anySecret, ({ kind, text, body }) => {
        const result = redacted(`Here it is: ${text}\nand that was it.`);
        expect(result).toContain(`[redacted:${kind}]`);
        expect(result.startsWith("Here it is: ") && result.endsWith("\nand that was it.")).toBe(true);
        expect(leftOf(body, result)).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it("that a scanner knows is found by it before, and never after", async () => {
    const found = new Set<string>();
    for (const name of Object.keys(SECRET_FORMS)) {
      for (let seed = 1; seed <= 5; seed++) {
        const { text } = secretOf(name, seed);
        if ((await scanned(`key = ${text}\n`)).length > 0) found.add(name);
        // It takes whatever stands in a password's place for one.
        const clean = redacted(`key = ${text}\n`).replace("[redacted:url-password]", "");
        expect([name, await scanned(clean)]).toEqual([name, []]);
      }
    }
    expect(found.size).toBeGreaterThan(20);
  });

  it("is found wherever it is glued to: quotes, escapes, colours, assignments, the ends of text", () => {
    const around = fc.constantFrom(
      "",
      " ",
      '"',
      "'",
      "`",
      "=",
      ":",
      "\\n",
      "\\t",
      "\n",
      "%3D",
      "\u001b[32m",
      "(",
      ",",
      "/",
    );
    fc.assert(
      fc.property(anySecret, around, around, ({ kind, text, body }, before, after) => {
        // A run that goes on is another run: only what ends it may follow.
        fc.pre(!(after === "=" || after === "/" || after === ":"));
        const result = redacted(`${before}${text}${after}`);
        expect(result).toContain(`[redacted:${kind}]`);
        expect(leftOf(body, result)).toEqual([]);
      }),
    );
  });

  it("among others goes like them, and doing it twice changes nothing more", () => {
    const piece = fc.oneof(
      anySecret.map((secret) => secret.text),
      fc.string(),
      fc.constantFrom(
        "://",
        "@",
        ":",
        "[redacted:jwt]",
        "a://b:",
        "eyJ",
        "sk-",
        `${"-".repeat(5)}BEGIN PRIVATE KEY${"-".repeat(5)}`,
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const once = redacted(pieces.join(""));
        expect(redacted(once)).toBe(once);
      }),
      { numRuns: 500 },
    );
  });

  it("of a key block is replaced also where the block was cut", () => {
    const { text, body } = secretOf("RSA key");
    const lines = text.split("\n");
    for (const cut of [lines.slice(0, -2), lines.slice(2), lines.slice(1, 6).concat(lines.slice(-1))]) {
      const result = redacted(`$ cat key\n${cut.join("\n")}\n[output truncated]`);
      expect(leftOf(body, result)).toEqual([]);
      expect(result).toContain("$ cat key\n");
      expect(result).toContain("\n[output truncated]");
    }
  });

  it("keeps what stands around it: user and host of a URL, the name of a setting", () => {
    expect(redacted(`psql postgres://app:${"s3cret"}pw@db.example.com/main`)).toBe(
      "psql postgres://app:[redacted:url-password]@db.example.com/main",
    );
    expect(redacted(`_auth${"Token="}${"ab12".repeat(9)}`)).toBe("_authToken=[redacted:registry-token]");
  });
});

describe("what is no secret", () => {
  it.each([
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixes it",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "session 01a23ac3-cbc9-74aa-89f4-dae4959cccce, request 550e8400-e29b-41d4-a716-446655440000",
    "toolu_01A09q90qw90lq917835lq9, call_abcDEF1234567890abcdefgh, msg_01XFDUDYJgAACzvnptvVoYEL",
    "the disk-usage-of-the-whole-build-folder-2024 task and a sk-learn-pipeline-with-many-steps-in-it",
    "https://example.com:8080/a@b, git@github.com:org/repo.git, ssh://git@host:22/x, http://localhost:3000/@scope/name",
    "postgres://user:$PASSWORD@host/db, https://me:<token>@host, redis://:{REDIS_PASSWORD}@host, ftp://a:****@b",
    "Authorization: Bearer $TOKEN, and Authorization: Bearer <token>",
    "a global-constant-with-a-long-kebab-case-name, task-proj-with-some-very-long-name-here",
    `It begins with ${"-".repeat(5)}BEGIN PRIVATE KEY${"-".repeat(5)} as all of them do`,
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  ])("stays: %s", (words) => expect(redacted(words)).toBe(words));

  it("stays, whatever hashes, ids and base64 there are", () => {
    const base64 = fc
      .uint8Array({ minLength: 40, maxLength: 400 })
      .map((bytes) => Buffer.from(bytes).toString("base64"));
    const hex = fc
      .uint8Array({ minLength: 20, maxLength: 32 })
      .map((bytes) => Buffer.from(bytes).toString("hex"));
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.uuid(), hex, base64, fc.webUrl(), fc.lorem())), (words) => {
        expect(redacted(words.join(" "))).toBe(words.join(" "));
      }),
    );
  });

  it("is passed at a cost that is linear, however it tries", () => {
    const dashes = "-".repeat(5);
    const hostile = [
      "eyJ",
      "sk-",
      "://",
      "a://a:",
      "ghs_1_a.",
      "AKIA",
      "SG.a.",
      `${dashes}BEGIN PRIVATE KEY${dashes}`,
    ];
    const tails = [`${dashes}END PRIVATE KEY${dashes}\n`, "abcdefghijklmnopqrstuvwx\n", "[1;1;1m", "\\n"];
    for (const words of [...hostile, ...tails]) {
      const cost = (length: number) => {
        const long = words.repeat(Math.ceil(length / words.length));
        const costs = [1, 2, 3].map(() => {
          const start = performance.now();
          redacted(long);
          return performance.now() - start;
        });
        return Math.min(...costs);
      };
      expect(cost(1_600_000), words).toBeLessThan(100 * Math.max(cost(100_000), 2));
    }
  });
});

describe("an entry", () => {
  const { text: key } = secretOf("GitHub classic token");

  it("without a secret is itself", () => {
    const entry = user("e1", "plain words, and a hash 3f786850e387550fdab836ed7e6dc881de23001b");
    expect(redactedEntry(entry)).toBe(entry);
  });

  it("loses its secrets wherever they stand, and keeps what it is", () => {
    const entry = assistant("e1", [text(`use ${key}`), call("c1", "bash", { env: [{ [key]: key }] })]);
    const clean = redactedEntry(entry);
    expect(clean).toEqual(JSON.parse(JSON.stringify(entry).replaceAll(key, "[redacted:github-token]")));
    expect(redactedEntry(entry)).toBe(clean);
    expect(JSON.stringify(entry)).toContain(key);
  });

  it("nested deeper than the stack is no trouble", () => {
    const deep = JSON.parse(`${"[".repeat(50_000)}"${key}"${"]".repeat(50_000)}`);
    expect(() => redactedEntry(assistant("e1", [call("c1", "bash", deep)]))).not.toThrow();
  });

  it("is cut only after its secrets are gone, in a chunk and on a page", () => {
    for (const [name] of Object.entries(SECRET_FORMS)) {
      const secret = secretOf(name);
      for (let before = 300; before < 2000; before += 97) {
        const long = toolResult("e1", `${"word ".repeat(before / 5)}${secret.text}${" more".repeat(2000)}`);
        const chunk = renderSources([redactedEntry(long)], { maxTokens: 600 });
        expect(leftOf(secret.body, chunk.text)).toEqual([]);
      }
      const source = redactedEntry(user("e1", `${"word ".repeat(395)}${secret.text}${" more".repeat(900)}`));
      const record = observationOf("What was said", { sourceEntryIds: ["e1"] });
      const recalled = recall([source, observed("e2", [record], "e1")], record.id);
      for (let page = 1, pages = 1; page <= pages; page++) {
        const shown = renderRecall(recalled, { page, maxTokens: 500 });
        pages = shown.pages;
        expect(leftOf(secret.body, shown.text)).toEqual([]);
      }
    }
  });

  it("of memory keeps its id, by which it is recalled", () => {
    const record = observationOf(`The key is ${key}`, { sourceEntryIds: ["e1"] });
    const branch = [user("e1", `my key is ${key}`), observed("e2", [record], "e1")].map(redactedEntry);
    const { text: shown } = renderRecall(recall(branch, memoryId(`The key is ${key}`)));
    expect(shown).toContain("The key is [redacted:github-token]");
    expect(shown).toContain("my key is [redacted:github-token]");
    expect(shown).not.toContain(key);
  });
});
