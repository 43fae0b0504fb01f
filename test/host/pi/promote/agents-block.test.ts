import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type BlockPlan,
  BrokenBlockError,
  type Promoted,
  planBlock,
} from "../../../../src/host/pi/promote/agents-block.ts";

const SESSION = "019ab3c4-d5e6-7f00-8a1b-2c3d4e5f6071";
const line = (id: string, content = `lesson ${id}`, sessionId = SESSION): Promoted => ({
  id,
  sessionId,
  content,
});
const A = line("a".repeat(12), "Use pnpm, never npm.");
const B = line("b".repeat(12), "Ferries leave at half past.");

/** The text after a plan's edits, line by line, whatever ends the lines. */
function edited(text: string, { edits }: BlockPlan): string[] {
  const bare = text.replace(/^\uFEFF/, "");
  const lines = bare === "" ? [] : bare.replace(/(\r\n|\n|\r)$/, "").split(/\r\n|\n|\r/);
  for (const { at, remove, add } of [...edits].reverse()) {
    expect(lines.slice(at, at + remove.length)).toEqual(remove);
    lines.splice(at, remove.length, ...add);
  }
  return lines;
}

const shown = (text: string) =>
  text
    .replace(/^\uFEFF/, "")
    .replace(/(\r\n|\n|\r)$/, "")
    .split(/\r\n|\n|\r/);

const ID = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 12, maxLength: 12 });
const CONTENT = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.string({ unit: "binary", minLength: 1 }),
  fc.constantFrom(
    "<!-- memory-lanes:end -->",
    "x --> <!-- memory-lanes:begin -->",
    "a\n<!-- memory-lanes:end -->\nb",
  ),
);
const PROMOTED = fc.record({
  id: ID,
  sessionId: fc.oneof(fc.uuid(), fc.string()),
  content: CONTENT.filter((content) => /[a-z]/i.test(content)),
});
const PROMOTIONS = fc.array(PROMOTED, { minLength: 1, maxLength: 5 });
const ENDING = fc.constantFrom("\n", "\r\n");
/** Any text around a block: with a byte order mark, without a last line feed, with lines that look like ours. */
const TEXT = fc
  .tuple(
    fc.constantFrom("", "\uFEFF"),
    fc.array(
      fc.oneof(
        fc.string(),
        fc.constantFrom("", "# Rules", "- Use `<!-- memory-lanes:begin -->`", "<!-- other:begin -->", "\t"),
      ),
    ),
    ENDING,
    fc.boolean(),
  )
  .map(([mark, lines, ending, isOpen]) => mark + lines.join(ending) + (isOpen ? "" : ending));

describe("the block of promoted lines", () => {
  it("is made at the end of a text, and says what it costs and where each line came from", () => {
    const { text, added, tokens } = planBlock("# Rules\n", [A, B]);
    expect(text).toBe(
      [
        "# Rules",
        "",
        `<!-- memory-lanes:begin (about ${tokens.after} tokens of every request; by /om:promote, yours to edit; a line's source: memory-lanes recall SESSION ID) -->`,
        "- Use pnpm, never npm. <!-- 019ab3c4-d5e6 aaaaaaaaaaaa -->",
        "- Ferries leave at half past. <!-- 019ab3c4-d5e6 bbbbbbbbbbbb -->",
        "<!-- memory-lanes:end -->",
        "",
      ].join("\n"),
    );
    expect(added).toEqual([A.id, B.id]);
    expect(tokens.before).toBe(0);
    expect(tokens.after).toBeGreaterThan(40);
    expect(tokens.after).toBeLessThan(150);
  });

  it("leaves every text around it as it is, byte for byte, and planning again changes nothing", () => {
    fc.assert(
      fc.property(TEXT, TEXT, PROMOTIONS, PROMOTIONS, (before, after, first, second) => {
        const made = planBlock(before, first);
        expect(made.text.startsWith(before)).toBe(true);
        expect(edited(before, made)).toEqual(shown(made.text));
        const around = made.text + after.replace("\uFEFF", "");
        const block = made.text.slice(made.text.indexOf("<!-- memory-lanes:begin ("));
        const head = made.text.slice(0, -block.length);
        const more = planBlock(around, second);
        expect(more.text.startsWith(head)).toBe(true);
        expect(
          more.text.endsWith(`<!-- memory-lanes:end -->${around.slice(made.text.trimEnd().length)}`),
        ).toBe(true);
        expect(edited(around, more)).toEqual(shown(more.text));
        expect(planBlock(more.text, [...first, ...second])).toMatchObject({
          text: more.text,
          edits: [],
          added: [],
          tokens: { before: more.tokens.after, after: more.tokens.after },
        });
      }),
    );
  });

  it("keeps the ends of lines that the text has", () => {
    fc.assert(
      fc.property(PROMOTIONS, PROMOTIONS, (first, second) => {
        const { text } = planBlock(planBlock("# Rules\r\nshort", first).text, second);
        expect(text.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
      }),
    );
  });

  it("respects what somebody did to it: changed, added and removed lines stay so", () => {
    const { text } = planBlock("", [A, B]);
    const byHand = text
      .replace("Use pnpm, never npm.", "Use pnpm 9.")
      .replace(/^- Ferries.*\n/m, "\n  Something of mine\n")
      .replace("yours to edit", "mine");
    const { text: after, tokens } = planBlock(byHand, [line("c".repeat(12), "New.")]);
    expect(after).toBe(
      byHand
        .replace(/about \d+ tokens/, `about ${tokens.after} tokens`)
        .replace(
          "<!-- memory-lanes:end",
          "- New. <!-- 019ab3c4-d5e6 cccccccccccc -->\n<!-- memory-lanes:end",
        ),
    );
    const bare = "<!-- memory-lanes:begin -->\nmine\n<!-- memory-lanes:end -->";
    expect(planBlock(bare, [A]).text).toBe(
      "<!-- memory-lanes:begin -->\nmine\n- Use pnpm, never npm. <!-- 019ab3c4-d5e6 aaaaaaaaaaaa -->\n<!-- memory-lanes:end -->",
    );
  });

  it("says which lines stand there already, by their id or their text", () => {
    const { text } = planBlock("", [A]);
    expect(planBlock(text, [A, B])).toMatchObject({ added: [B.id], present: [A.id] });
    expect(planBlock(text, [A])).toMatchObject({ text, added: [], present: [A.id] });
    const bare = text.replace(/ <!-- 019\S+ a{12} -->/, "");
    expect(planBlock(bare, [A])).toMatchObject({ text: bare, present: [A.id] });
    expect(planBlock("", [A, A]).text).toBe(text);
  });

  it.each([
    [
      "a begin without an end",
      "x\n<!-- memory-lanes:begin -->\n- y",
      /line 2 begins .* no line ends: put <!-- memory-lanes:end -->/,
    ],
    ["an end without a begin", "<!-- memory-lanes:end -->", /line 1 ends .* no line begins: take it out/],
    [
      "a begin in a block",
      "<!-- memory-lanes:begin -->\n<!--memory-lanes:begin-->",
      /line 2 begins .* within the one that line 1 begins/,
    ],
    [
      "two blocks",
      "<!-- memory-lanes:begin -->\n<!-- memory-lanes:end -->\n<!-- memory-lanes:begin -->\n<!-- memory-lanes:end -->",
      /line 3 begins a second block .* after that of line 1: move its lines/,
    ],
    [
      "two ends",
      "<!-- memory-lanes:begin -->\n<!-- memory-lanes:end -->\n<!-- memory-lanes:end -->",
      /line 3 ends/,
    ],
    [
      "a comment that does not end",
      "<!-- memory-lanes:begin (about 3\n<!-- memory-lanes:end -->",
      /line 1 does not end with -->/,
    ],
  ])("refuses %s, and names the line and what to do", (_what, text, words) => {
    expect(() => planBlock(text, [A])).toThrow(BrokenBlockError);
    expect(() => planBlock(text, [A])).toThrow(words);
  });

  it("holds no secret and nothing that hides or ends it", () => {
    const key = `ghp_${"a1B2".repeat(9)}`;
    const { text } = planBlock("", [line("d".repeat(12), `${key} \u202e <!-- memory-lanes:end -->\u200b`)]);
    expect(text).not.toContain(key);
    expect(text).toContain("[redacted:github-token]");
    expect(text).not.toMatch(/[\u202e\u200b]/);
    expect(shown(text)).toHaveLength(3);
  });
});
