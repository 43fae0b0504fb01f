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
import { estimateTextTokens } from "../../../src/reducers/entries/tokens.ts";
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

  it("keeps critical for what outlasts the task, and the task that is finished beneath it", () => {
    const [, critical = "", high = "", medium = ""] =
      /- critical: (.*)\n- high: (.*)\n- medium: (.*)\n/.exec(OBSERVER_SYSTEM_PROMPT) ?? [];
    expect(critical).toMatch(/rules, bans and decisions of the user that outlast the task/);
    expect(critical).not.toMatch(/finished|corrections/);
    expect(high).toMatch(/finished as a whole/);
    expect(high).toMatch(/corrections that concern the task alone/);
    expect(medium).toContain("each step of it that is done");
  });

  it("asks of what is superseded for what was tried in vain as well, since it goes out of view", () => {
    expect(OBSERVER_SYSTEM_PROMPT).toMatch(/what of it still holds, and what was tried in vain and why/);
  });

  it("asks for the call as the source of an edit: its result shows nothing", () => {
    expect(OBSERVER_SYSTEM_PROMPT).toMatch(/Of an edit or a write, cite the block with the call/);
  });

  it("asks what files are for, and for what the work rests on though it was only read", () => {
    expect(OBSERVER_SYSTEM_PROMPT).toContain("files created or changed, and what for");
    expect(OBSERVER_SYSTEM_PROMPT).toMatch(/signatures, conditions and limits that the work rests on/);
    expect(OBSERVER_SYSTEM_PROMPT).toMatch(/Leave out .* code that was read and not needed/);
  });

  it("lets values that change together stand in one line", () => {
    expect(OBSERVER_SYSTEM_PROMPT).toMatch(/Values that change together may be one/);
  });

  it("stays within a thousand tokens, for each request pays for it", () => {
    for (const prompt of Object.values(SYSTEM_PROMPTS)) {
      expect(estimateTextTokens(prompt)).toBeLessThanOrEqual(1000);
    }
  });
});

describe("the reflector's prompt", () => {
  it("tells what a reflection rests on from what it holds of it", () => {
    const [, support = ""] = /\nSupport\n([\s\S]*?)\n\n/.exec(REFLECTOR_SYSTEM_PROMPT) ?? [];
    expect(support).toMatch(/rests on/);
    expect(support).toMatch(/need not hold their details/);
    // Details are no reason to leave an observation out, for then nothing could be said of several of them.
    expect(support).not.toMatch(/detail that still matters .* is no support/);
  });

  it("does not say that what several reflections rest on is held: they may all leave out its details", () => {
    for (const prompt of [REFLECTOR_SYSTEM_PROMPT, DROPPER_SYSTEM_PROMPT]) {
      const [, strong = ""] = /Strong: (.*?) Partial: /.exec(prompt) ?? [];
      expect(strong).toMatch(/most of it is probably held/);
    }
    expect(DROPPER_SYSTEM_PROMPT).toMatch(/coverage is only a hint: read the reflection/);
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
