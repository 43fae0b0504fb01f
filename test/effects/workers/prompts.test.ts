import { describe, expect, it } from "vitest";
import { DROPPER_SYSTEM_PROMPT, dropperPrompt } from "../../../src/effects/workers/prompts/dropper-prompt.ts";
import {
  OBSERVER_SYSTEM_PROMPT,
  observerPrompt,
} from "../../../src/effects/workers/prompts/observer-prompt.ts";
import {
  REFLECTOR_SYSTEM_PROMPT,
  reflectorPrompt,
} from "../../../src/effects/workers/prompts/reflector-prompt.ts";
import {
  collectDrops,
  collectObservations,
  collectReflections,
} from "../../../src/effects/workers/tools/worker-tools.ts";
import { renderSources } from "../../../src/reducers/entries/sources.ts";
import { renderObservation } from "../../../src/reducers/ledger/summary.ts";
import { observationOf, reflectionOf, user } from "../../support/sessions/builders.ts";

const SYSTEM_PROMPTS = { OBSERVER_SYSTEM_PROMPT, REFLECTOR_SYSTEM_PROMPT, DROPPER_SYSTEM_PROMPT };

describe("the observer's prompt", () => {
  const of2019 = { ...user("e1", "Do it today."), timestamp: "2019-03-04T05:06:07.000Z" };
  const { text: chunk } = renderSources([of2019], { maxTokens: 1000 });
  const old = observationOf("User wants tabs.", { timestamp: "2019-03-01 12:00" });

  it("names no date but those of the session and of memory", () => {
    const prompt = observerPrompt({
      chunk,
      priorObservations: [old],
      priorReflections: [reflectionOf("User is patient.")],
      priorBudget: 1000,
    });
    const years = [OBSERVER_SYSTEM_PROMPT, prompt].flatMap((text) => text.match(/\b(?:19|20)\d\d\b/g) ?? []);
    expect(new Set(years)).toEqual(new Set(["2019"]));
    expect(OBSERVER_SYSTEM_PROMPT).toContain("Each block has its own time");
  });

  it("asks for no conclusion of its own, and takes no habit of the agent for an agreement", () => {
    expect(OBSERVER_SYSTEM_PROMPT).toContain("Conclude nothing yourself");
    expect(OBSERVER_SYSTEM_PROMPT).toMatch(/by its own habit is no agreement/);
    expect(REFLECTOR_SYSTEM_PROMPT).toMatch(/routine that the agent follows by itself, holds nothing/);
  });

  it("keeps critical for the few: the task that is finished, not each step", () => {
    const [, critical = "", medium = ""] =
      /- critical: (.*)\n[\s\S]*- medium: (.*)\n/.exec(OBSERVER_SYSTEM_PROMPT) ?? [];
    expect(critical).toContain("finished as a whole");
    expect(medium).toContain("each step of it that is done");
  });
});

describe("what a request begins with", () => {
  const pool = [observationOf("User wants tabs."), observationOf("Done: tabs are set.")];
  const frame = { observationLines: pool.map(renderObservation), reflectionBudget: 1000 };
  const memory = { ...frame, observations: pool, reflections: [reflectionOf("User is patient.")] };
  const covered = { ...memory, coverage: new Map(pool.map(({ id }) => [id, "strong"] as const)) };
  const uncovered = { ...memory, coverage: new Map() };
  const numbers = { maximum: 2, poolTokens: 50, targetTokens: 40, newest: "2026-01-15 14:30" };
  const lines = memory.observationLines.join("\n");

  it.each([
    ["reflector", reflectorPrompt(covered), reflectorPrompt(uncovered)],
    ["dropper", dropperPrompt({ ...covered, ...numbers }), dropperPrompt({ ...uncovered, ...numbers })],
  ])("is the %s's pool, whatever is known of it", (_name, one, other) => {
    const end = one.indexOf(lines) + lines.length;
    expect(end).toBeGreaterThan(lines.length);
    expect(other.slice(0, end)).toBe(one.slice(0, end));
  });

  it("has no number that could differ in a tool's description", () => {
    const memory = { statusOf: () => "unknown" as const, isShown: () => false };
    const tools = [
      collectObservations(new Map(), memory),
      collectReflections(() => true, memory),
      collectDrops(() => true),
    ].map(({ tool }) => tool);
    for (const { description } of tools) expect(description).not.toMatch(/\d/);
  });
});

describe.each(Object.entries(SYSTEM_PROMPTS))("%s", (name, prompt) => {
  it("asks for one call with done: true, and says what to answer when there is nothing", () => {
    expect(prompt).toMatch(/Call \w+ once, .*done: true/);
    expect(prompt).toContain('answer with the single word "nothing" and no call');
  });

  it("explains the words for coverage where they are shown", () => {
    const explained = ["Strong: ", "Partial: ", "None "].map((word) => prompt.includes(word));
    expect(new Set(explained)).toEqual(new Set([name !== "OBSERVER_SYSTEM_PROMPT"]));
  });
});
