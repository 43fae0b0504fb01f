import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { observerPrompt } from "../../src/effects/workers/prompts/observer-prompt.ts";
import { memoryId, type Observation, renderSources, renderSummary } from "../../src/index.ts";
import { estimateTextTokens } from "../../src/reducers/entries/tokens.ts";
import { oneLine } from "../../src/reducers/ledger/memory-id.ts";
import { RELEVANCES } from "../../src/reducers/ledger/records.ts";
import { observationOf, reflectionOf } from "../support/sessions/builders.ts";
import { CODE, DATA, PROSE } from "../support/sessions/token-corpus.ts";

const EMOJI = "Shipped it 🚀 and the tests pass ✅ but the build on Windows is red ❌ 😅\n".repeat(40);
const CORPUS = { ...PROSE, ...CODE, ...DATA, emoji: EMOJI };

/** What we render and send, against a tokeniser: never more than 10 % below, never more than 25 % above. */
function expectClose(rendered: string, estimate = estimateTextTokens(rendered)): void {
  const share = estimate / countTokens(rendered, { allowedSpecial: "all" });
  expect(share).toBeGreaterThanOrEqual(0.9);
  expect(share).toBeLessThanOrEqual(1.25);
}

describe.each(Object.entries(CORPUS))("the estimate of what is rendered of %s", (_name, text) => {
  const lines = text
    .split("\n")
    .map(oneLine)
    .filter((line) => line.length > 20);
  const observations: Observation[] = lines.map((content, n) =>
    observationOf(content, {
      timestamp: `2026-01-15 14:${String(n % 60).padStart(2, "0")}`,
      relevance: RELEVANCES[n % RELEVANCES.length] ?? "low",
      sourceEntryIds: [`e${n}`],
    }),
  );
  const reflections = observations.slice(0, 5).map(({ id, content }) => reflectionOf(content, [id]));
  const summary = renderSummary({ observations, reflections });
  const entries = [text, ...lines].map((said, n) => ({
    type: "message",
    id: memoryId(`${n}`).slice(0, 8),
    parentId: null,
    timestamp: "2026-01-15T14:30:00.000Z",
    message:
      n % 3 === 0
        ? { role: "user", content: said }
        : n % 3 === 1
          ? {
              role: "assistant",
              content: [
                { type: "toolCall", id: `c${n}`, name: "edit", arguments: { path: "src/a.ts", text: said } },
              ],
            }
          : {
              role: "toolResult",
              toolName: "edit",
              toolCallId: `c${n - 1}`,
              content: [{ type: "text", text: said }],
            },
  }));

  it("is close for a summary, and for the records in it", () => {
    expectClose(summary);
    const records = observations.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
    expectClose(lines.join("\n"), records);
  });

  it("is close for a chunk, in whole and cut short", () => {
    for (const maxTokens of [100_000, 900]) {
      const { text: chunk, tokens } = renderSources(entries, { maxTokens });
      expectClose(chunk, tokens);
      expect(tokens).toBeLessThanOrEqual(maxTokens);
    }
  });

  it("is close for an observer's prompt", () => {
    const { text: chunk } = renderSources(entries, { maxTokens: 4000 });
    const memory = { priorObservations: observations, priorReflections: reflections, priorBudget: 2000 };
    expectClose(observerPrompt({ chunk, ...memory }));
  });
});
