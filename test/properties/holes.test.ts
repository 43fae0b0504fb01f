import { buildContextEntries, buildSessionProjection } from "@earendil-works/pi-coding-agent";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CompactionPlan, planCompaction, readClocks } from "../../src/index.ts";
import type { EntryLike } from "../../src/reducers/entries/entry.ts";
import { fieldsOf } from "../../src/reducers/entries/entry.ts";
import { asPi, proposedCut, sourcesInContext, sourcesOf } from "../support/sessions/pi-oracle.ts";
import { randomConversation } from "../support/sessions/random-conversation.ts";

const RUNS = { numRuns: 1000 };

describe("source entries of a random branch", () => {
  it("are what Pi's projection has, with Pi's estimate", () => {
    fc.assert(
      fc.property(randomConversation, (entries) => {
        const sum = (sources: { tokens: number }[]) => sources.reduce((all, { tokens }) => all + tokens, 0);
        const covered = coveredThrough(entries);
        const after = new Set(entries.slice(covered + 1).map(({ id }) => id));
        expect(readClocks(entries)).toMatchObject({
          observe: sum(sourcesOf(entries).filter(({ id }) => after.has(id))),
          reflect: sum(sourcesOf(entries)),
          compact: sum(sourcesInContext(entries)),
        });
      }),
      RUNS,
    );
  });
});

describe("a compaction", () => {
  it("leaves each source entry in context, or observed, or counted as neither, at the cut that Pi proposes", () => {
    fc.assert(
      fc.property(randomConversation, fc.nat(4000), fc.nat(4000), (entries, keepRecent, gap) => {
        const plan = planAt(entries, keepRecent, gap);
        if (plan) expect(plan.unobserved).toEqual(lostBy(entries, plan));
      }),
      RUNS,
    );
  });

  it("does so at any cut at all, and says what is neither", () => {
    fc.assert(
      fc.property(randomConversation, fc.integer({ min: -2, max: 100 }), fc.nat(4000), (entries, at, gap) => {
        const cut = at === -2 ? "" : (entries[at]?.id ?? "nowhere");
        const plan = planCompaction(entries, cut, { compactionGapMaxTokens: gap });
        if (!plan) return;
        expect(plan.unobserved).toEqual(lostBy(entries, plan));
        expect(plan.summary.includes("had not been observed")).toBe(plan.unobserved.entries > 0);
      }),
      RUNS,
    );
  });

  it("keeps tool calls and their results together, and begins with no result", () => {
    fc.assert(
      fc.property(randomConversation, fc.nat(4000), fc.nat(4000), (entries, keepRecent, gap) => {
        const plan = planAt(entries, keepRecent, gap);
        if (!plan || !keepsCallsWhole(entries) || keepsCallsWhole(compacted(entries, plan))) return;
        // What Pi proposes may itself separate them, further apart than the gap allows to mend; no other cut does.
        const proposed = { ...plan, firstKeptEntryId: proposedCut(entries, keepRecent) ?? "" };
        expect(plan.firstKeptEntryId).toBe(proposed.firstKeptEntryId);
        const mended = planAt(entries, keepRecent, 1_000_000);
        if (mended) expect(keepsCallsWhole(compacted(entries, mended))).toBe(true);
      }),
      RUNS,
    );
  });

  it("keeps at most the allowed gap more than Pi would", () => {
    fc.assert(
      fc.property(randomConversation, fc.nat(4000), fc.nat(4000), (entries, keepRecent, gap) => {
        const plan = planAt(entries, keepRecent, gap);
        if (!plan) return;
        const place = (id: string) => entries.findIndex((entry) => entry.id === id);
        const proposed = place(proposedCut(entries, keepRecent) ?? "");
        const more = new Set(entries.slice(place(plan.firstKeptEntryId), proposed).map(({ id }) => id));
        const tokens = sourcesOf(entries)
          .filter(({ id }) => more.has(id))
          .reduce((sum, source) => sum + source.tokens, 0);
        expect(place(plan.firstKeptEntryId)).toBeLessThanOrEqual(proposed);
        expect(tokens).toBeLessThanOrEqual(gap);
      }),
      RUNS,
    );
  });
});

function planAt(entries: EntryLike[], keepRecentTokens: number, gap: number): CompactionPlan | undefined {
  const cut = proposedCut(entries, keepRecentTokens);
  return cut === undefined ? undefined : planCompaction(entries, cut, { compactionGapMaxTokens: gap });
}

/** What is neither in context after the compaction nor covered by observations. */
function lostBy(entries: EntryLike[], plan: CompactionPlan): CompactionPlan["unobserved"] {
  const inContext = new Set(buildContextEntries(asPi(compacted(entries, plan))).map(({ id }) => id));
  const uncovered = new Set(entries.slice(coveredThrough(entries) + 1).map(({ id }) => id));
  const lost = sourcesOf(entries).filter(({ id }) => !inContext.has(id) && uncovered.has(id));
  return { entries: lost.length, tokens: lost.reduce((sum, { tokens }) => sum + tokens, 0) };
}

/** Whether every tool result that is in context follows its call there. */
function keepsCallsWhole(entries: EntryLike[]): boolean {
  const called = new Set<unknown>();
  return buildSessionProjection(asPi(entries)).messages.every((message) => {
    const { role, content, toolCallId } = fieldsOf(message);
    if (role === "assistant" && Array.isArray(content)) for (const { id } of content) called.add(id);
    return role !== "toolResult" || called.has(toolCallId);
  });
}

/** The branch after Pi has appended the compaction. */
function compacted(
  entries: EntryLike[],
  { firstKeptEntryId, summary, details }: CompactionPlan,
): EntryLike[] {
  const compaction = {
    type: "compaction",
    id: "compaction",
    parentId: entries.at(-1)?.id ?? null,
    timestamp: "2026-01-15T15:00:00.000Z",
    ...{ firstKeptEntryId, summary, details, tokensBefore: 1, fromHook: true },
  };
  return [...entries, compaction];
}

/** The furthest position that a valid batch of observations covers; -1 for none. */
function coveredThrough(entries: EntryLike[]): number {
  const covered = entries.map((entry, at) => {
    const { customType, data } = fieldsOf(entry);
    if (customType !== "om.observations.recorded") return -1;
    const marker = entries.findIndex(({ id }) => id === fieldsOf(data).coversUpToId);
    return marker < at ? marker : -1;
  });
  return Math.max(-1, ...covered);
}
