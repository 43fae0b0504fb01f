import { describe, expect, it } from "vitest";
import type { EntryKind } from "../../../src/reducers/entries/entry-fact.ts";
import { proposedCut } from "../../../src/reducers/ledger/proposed-cut.ts";
import { sessionOf } from "../../../src/reducers/session.ts";
import { fact } from "../../support/sessions/builders.ts";

/** Where Pi would cut a branch of entries of 100 tokens each, after a compaction that kept from `kept` on. */
function cut(kinds: EntryKind[], keepTokens: number, kept?: string): string | undefined {
  const facts = kinds.map((kind, n) => ({ ...fact.user(`e${n}`), kind }));
  if (kept !== undefined) facts.push(fact.compaction("c", kept, false));
  const { branch, ledger } = sessionOf(facts);
  return proposedCut(branch, ledger, keepTokens);
}

const TALK: EntryKind[] = ["user", "assistant", "user", "assistant", "user"];

describe("the cut that Pi would propose", () => {
  it("keeps as many of the last entries as have the tokens to keep", () => {
    expect([1, 100, 101, 300, 400].map((keep) => cut(TALK, keep))).toEqual(["e4", "e4", "e3", "e2", "e1"]);
  });

  it("is none when all fits, or would have to keep the very first entry", () => {
    expect(cut(TALK, 401)).toBeUndefined();
    expect(cut(TALK, 1000)).toBeUndefined();
    expect(cut([], 0)).toBeUndefined();
  });

  it("does not stand before a tool result: the nearest message after it, or else before it, is kept from", () => {
    const batch: EntryKind[] = ["user", "assistant", "toolResult", "toolResult", "assistant"];
    expect(cut(batch, 200)).toBe("e4");
    expect(cut(["user", "assistant", "toolResult", "toolResult"], 100)).toBe("e1");
  });

  it("does not reach behind what the last compaction kept", () => {
    expect(cut(TALK, 200, "e2")).toBe("e3");
    expect(cut(TALK, 300, "e2")).toBeUndefined();
  });
});
