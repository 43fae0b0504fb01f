import { describe, expect, it } from "vitest";
import { simulate } from "../support/sessions/long-session.ts";

/** How late a healthy observer is, in turns of the agent. */
const LATENCIES: Record<string, (random: () => number) => number> = {
  "by the end of the next turn": () => 0,
  "two turns later": () => 1,
  "up to four turns later": (random) => Math.floor(random() * 4),
};

describe.each(Object.entries(LATENCIES))("two million tokens, observed %s", (_when, latency) => {
  const session = { tokens: 2_000_000, latency };

  it("lose nothing at any compaction of ours, with tool results of up to 150,000 tokens", () => {
    const compactions = simulate({ ...session, contextWindow: 10_000_000, seed: 1 });
    expect(compactions.length).toBeGreaterThan(2);
    for (const { by, unobserved } of compactions) {
      expect({ by, unobserved }).toEqual({ by: "lane", unobserved: { entries: 0, tokens: 0 } });
    }
  });

  it("lose nothing of ours when Pi itself has to compact in between, and says what it lost", () => {
    const compactions = simulate({ ...session, contextWindow: 200_000, seed: 3 });
    expect(compactions.some(({ by }) => by === "window")).toBe(true);
    for (const { by, unobserved } of compactions) {
      if (by === "lane") expect(unobserved).toEqual({ entries: 0, tokens: 0 });
    }
  });
});

describe("two million tokens with tool results as large as Pi's own tools give them", () => {
  it("lose nothing, whoever compacts", () => {
    const latency = (random: () => number) => Math.floor(random() * 4);
    const size = { tokens: 2_000_000, contextWindow: 200_000, largestResult: 12_500 };
    const compactions = simulate({ ...size, latency, seed: 4 });
    expect(compactions.length).toBeGreaterThan(15);
    for (const { unobserved } of compactions) expect(unobserved).toEqual({ entries: 0, tokens: 0 });
  });
});
