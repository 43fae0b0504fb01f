import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { estimateTokens } from "@earendil-works/pi-coding-agent";
import fc from "fast-check";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { estimateMessageTokens, estimateTextTokens } from "../../../src/reducers/entries/tokens.ts";
import { CODE, DATA, PROSE } from "../../support/sessions/token-corpus.ts";

type Message = Parameters<typeof estimateTokens>[0];

const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constant(""));
const textBlock = fc.record({ type: fc.constant("text"), text });
const imageBlock = fc.record({ type: fc.constant("image"), data: text, mimeType: fc.constant("image/png") });
const blocks = fc.array(fc.oneof(textBlock, imageBlock));
const content = fc.oneof(text, blocks);
const thinking = fc.record({ type: fc.constant("thinking"), thinking: text, thinkingSignature: text });
const toolCall = fc.record({
  type: fc.constant("toolCall"),
  id: text,
  name: text,
  arguments: fc.dictionary(fc.string(), fc.jsonValue()),
});

/** Well-formed messages of every role that Pi knows. */
const message: fc.Arbitrary<Message> = fc
  .oneof(
    fc.record({ role: fc.constant("user"), content }),
    fc.record({
      role: fc.constant("assistant"),
      content: fc.oneof(text, fc.array(fc.oneof(textBlock, thinking, toolCall))),
    }),
    fc.record({ role: fc.constant("toolResult"), toolName: text, content: blocks }),
    fc.record({ role: fc.constant("custom"), customType: text, content }),
    fc.record({ role: fc.constant("bashExecution"), command: text, output: text }),
    fc.record({ role: fc.constantFrom("branchSummary", "compactionSummary"), summary: text }),
    fc.record(
      {
        role: fc.constant("system"),
        content: fc.oneof(text, fc.array(textBlock)),
        sections: fc.dictionary(fc.string(), fc.option(text)),
        toolsAdded: fc.array(fc.record({ name: text, description: text, parameters: fc.jsonValue() })),
      },
      { requiredKeys: ["role", "content"] },
    ),
    fc.record({ role: fc.constant("of a newer Pi"), content }),
  )
  .map((fields) => ({ timestamp: 0, ...fields }) as Message);

describe("estimateMessageTokens", () => {
  it("is Pi's estimate for every well-formed message", () => {
    fc.assert(
      fc.property(message, (given) => {
        expect(estimateMessageTokens(given)).toBe(estimateTokens(given));
      }),
      { numRuns: 1000 },
    );
  });

  it("counts what can be counted of any other, and throws for none", () => {
    const roles = ["user", "assistant", "toolResult", "custom", "bashExecution", "branchSummary", "system"];
    const junk = fc.anything({ withBigInt: true, withNullPrototype: true });
    const odd = fc.record(
      {
        role: fc.constantFrom<unknown>(...roles, null, 7),
        content: fc.oneof(junk, fc.array(junk)),
        sections: junk,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(junk, odd), (given) => {
        const tokens = estimateMessageTokens(given);
        expect(Number.isInteger(tokens) && tokens >= 0).toBe(true);
      }),
    );
  });

  it.each([
    ["no content", { role: "user", content: null }, 0],
    ["a reply that is text in place of blocks", { role: "assistant", content: "twelve chars" }, 0],
    ["a block that is no object", { role: "user", content: [null, 7, { type: "text", text: "four" }] }, 1],
    ["arguments that cannot be written", { role: "assistant", content: [callOf({ n: 1n })] }, 1],
    ["a call without arguments", { role: "assistant", content: [{ type: "toolCall", name: "read" }] }, 1],
    ["a command without output", { role: "bashExecution", command: "ls -la /tmp" }, 3],
  ])("counts %s", (_case, given, tokens) => {
    expect(estimateMessageTokens(given)).toBe(tokens);
  });
});

function callOf(args: unknown): unknown {
  return { type: "toolCall", name: "read", arguments: args };
}

/** What the estimate promises of text of a few hundred tokens or more, as shares of a tokeniser's count. */
const LOWEST = 0.9;
const HIGHEST = 1.25;

function ratio(given: string): number {
  return estimateTextTokens(given) / countTokens(given, { allowedSpecial: "all" });
}

function expectClose(given: string): void {
  expect(ratio(given)).toBeGreaterThanOrEqual(LOWEST);
  expect(ratio(given)).toBeLessThanOrEqual(HIGHEST);
}

describe("estimateTextTokens against a tokeniser", () => {
  it.each(Object.entries({ ...PROSE, ...CODE, ...DATA }))("%s", (_class, given) => {
    expectClose(given);
  });

  const bytes = pseudoRandomBytes(6000);
  const hex = Buffer.from(bytes).toString("hex");
  const base64 = Buffer.from(bytes).toString("base64");
  it.each([
    ["hex in one line", hex],
    ["hex in capitals", hex.toUpperCase()],
    ["a hex dump", hex.replace(/(..)/g, "$1 ").replace(/(.{48})/g, "$1\n")],
    ["checksums", hex.replace(/(.{64})/g, "$1  src/file.ts\n")],
    ["UUIDs", hex.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/g, "$1-$2-$3-$4-$5\n")],
    ["base64 in one line", base64],
    ["base64 in lines, as in a certificate", base64.replace(/(.{64})/g, "$1\n")],
    ["base64 for URLs", base64.replaceAll("+", "-").replaceAll("/", "_")],
    ["numbers", Array.from(bytes, (byte, n) => (byte * 977 * (n + 1)) % 1_000_003).join(", ")],
  ])("%s", (_class, given) => {
    expectClose(given);
  });

  const faces = "😀 😂 🤣 😊 😍 😭 👍 🙏 🔥 ✨ 🎉 💯 🚀 ✅ ❌ ⚠️ 👀 💡 🐛 📝 🔧 ❤️ 🤔 😅".split(" ");
  it.each([
    ["emoji alone", faces.join("").repeat(10)],
    ["emoji with spaces", `${faces.join(" ")} `.repeat(10)],
    ["emoji of several code points", "👩‍💻 👨‍👩‍👧‍👦 👍🏽 🏳️‍🌈 🇩🇪 🇯🇵 ".repeat(20)],
    [
      "emoji in sentences",
      faces.map((face) => `Great work on this one ${face} let's ship it ${face}${face}!`).join("\n"),
    ],
    ["rarer pictographs", Array.from({ length: 600 }, (_, n) => String.fromCodePoint(0x1f300 + n)).join("")],
  ])("%s", (_class, given) => {
    expectClose(given);
  });

  it.each([
    ["deep indentation", CODE.TypeScript?.replace(/^/gm, " ".repeat(24)) ?? ""],
    ["indentation with tabs", CODE.Python?.replace(/ {4}/g, "\t").replace(/^/gm, "\t\t\t") ?? ""],
    ["blank lines", PROSE["English, a report"]?.replace(/ /g, "\n\n\n") ?? ""],
    ["blanks at the ends of lines", PROSE["English, a report"]?.replace(/\n/g, "        \n") ?? ""],
    ["carriage returns", CODE.Rust?.replace(/\n/g, "\r\n") ?? ""],
    [
      "padded columns",
      Array.from(bytes, (byte) => `${"cell".padEnd(30)}|${String(byte).padStart(12)}|`).join("\n"),
    ],
    ["nothing but spaces", `x${" ".repeat(4000)}x`],
    ["a table of box characters", "│ name   │ size │\n├────────┼──────┤\n│ a.ts   │ 12   │\n".repeat(30)],
  ])("%s", (_class, given) => {
    expectClose(given);
  });

  it("every source file and page of this project", () => {
    const root = resolve(import.meta.dirname, "../../..");
    const files = globSync(["src/**/*.ts", "docs/**/*.md", "package.json", "tsconfig.json"], { cwd: root });
    expect(files.length).toBeGreaterThan(20);
    const wrong = files.flatMap((file) => {
      const given = readFileSync(resolve(root, file), "utf8");
      const share = given.length < 400 ? 1 : ratio(given);
      return share < LOWEST || share > HIGHEST ? [{ file, share }] : [];
    });
    expect(wrong).toEqual([]);
  });
});

describe("estimateTextTokens", () => {
  it("is a whole number of tokens for any text, none for none", () => {
    expect(estimateTextTokens("")).toBe(0);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" }), loneSurrogates), (given) => {
        const tokens = estimateTextTokens(given);
        expect(Number.isInteger(tokens)).toBe(true);
        expect(tokens >= (given === "" ? 0 : 1) && tokens <= 4 * given.length).toBe(true);
      }),
    );
  });

  it("is never more for text in a row than for its lines one by one, so that blocks can be budgeted singly", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (lines) => {
        const single = lines.reduce((sum, line) => sum + estimateTextTokens(`${line}\n`), 0);
        expect(estimateTextTokens(lines.map((line) => `${line}\n`).join(""))).toBeLessThanOrEqual(single);
      }),
    );
  });

  it.each(["English, a report", "Chinese, simplified"])(
    "takes but a few times the time of a bare loop: %s",
    (name) => {
      const given = (PROSE[name] ?? "").repeat(3000).slice(0, 1_000_000);
      // About nine times as long as only looking at each character; against that, because tests share their machine.
      expect(quickest(() => estimateTextTokens(given))).toBeLessThan(40 * quickest(() => sumOfCodes(given)));
    },
  );
});

function quickest(work: () => number): number {
  const times = Array.from({ length: 5 }, () => {
    const started = performance.now();
    return work() >= 0 ? performance.now() - started : 0;
  });
  return Math.min(...times);
}

function sumOfCodes(given: string): number {
  let sum = 0;
  for (let i = 0; i < given.length; i++) sum += given.charCodeAt(i);
  return sum;
}

const loneSurrogates = fc.string({ unit: fc.constantFrom("\ud800", "\udfff", "\ud83d", "a", " ") });

/** The same bytes in every run, without pattern. */
function pseudoRandomBytes(length: number): Uint8Array {
  let state = 0x2545f491;
  return Uint8Array.from({ length }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 0xff;
  });
}
