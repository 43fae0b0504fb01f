import { describe, expect, it } from "vitest";
import {
  emptyBranch,
  extendBranch,
  idAt,
  isSourceAt,
  kindAt,
  nextSource,
  positionOf,
  tipOf,
  tokensAfter,
  tokensAt,
  tokensThrough,
} from "../../src/reducers/branch.ts";
import type { EntryFact } from "../../src/reducers/entries/entry-fact.ts";
import { fact } from "../support/sessions/builders.ts";

const { user: say, other: note, edit } = fact;

const branchOf = (facts: EntryFact[]) => extendBranch(emptyBranch(), facts);

/** The branch, made at once and entry by entry; both must be told apart by nothing. */
function both(facts: EntryFact[]) {
  return [branchOf(facts), facts.reduce((branch, fact) => extendBranch(branch, [fact]), emptyBranch())];
}

describe("a branch", () => {
  it("knows what stands where, and nothing beyond its ends", () => {
    for (const branch of both([say("a", 10), note("n"), say("b", 5)])) {
      expect(["a", "n", "b", "c"].map((id) => positionOf(branch, id))).toEqual([0, 1, 2, -1]);
      expect([0, 2, 3, -1].map((at) => idAt(branch, at))).toEqual(["a", "b", undefined, undefined]);
      expect([0, 1, 3, -1].map((at) => kindAt(branch, at))).toEqual(["user", "other", undefined, undefined]);
      expect([-1, 0, 1, 2, 3].map((at) => isSourceAt(branch, at))).toEqual([false, true, false, true, false]);
      expect([-1, 0, 1].map((at) => nextSource(branch, at))).toEqual([0, 2, 2]);
      expect(nextSource(branch, 2)).toBe(-1);
      expect(tipOf(branch)).toBe("b");
    }
    expect(tipOf(emptyBranch())).toBeNull();
  });

  it("counts its source tokens through, after and at each place", () => {
    for (const branch of both([say("a", 10), note("n"), say("b", 5)])) {
      expect([-1, 0, 1, 2, 9].map((at) => tokensThrough(branch, at))).toEqual([0, 10, 10, 15, 15]);
      expect([-1, 0, 1, 2].map((at) => tokensAfter(branch, at))).toEqual([15, 5, 5, 0]);
      expect([0, 1, 2].map((at) => tokensAt(branch, at))).toEqual([10, 0, 5]);
    }
    expect(tokensThrough(emptyBranch(), 3)).toBe(0);
  });

  it("counts an edited entry as its latest edit says, wherever that stands", () => {
    const facts = [say("a", 10), say("b", 20), say("c", 30), edit("x", "b", 5), edit("y", "a", 1)];
    for (const branch of both(facts)) {
      expect([0, 1, 2].map((at) => tokensThrough(branch, at))).toEqual([1, 6, 36]);
    }
    for (const branch of both([...facts, edit("z", "b", null)])) {
      expect([0, 1, 2].map((at) => tokensThrough(branch, at))).toEqual([1, 1, 31]);
      expect([0, 1, 2].map((at) => isSourceAt(branch, at))).toEqual([true, false, true]);
      expect(nextSource(branch, 0)).toBe(2);
    }
  });

  it("takes no notice of an edit of what is not conversation, or not there", () => {
    for (const branch of both([say("a", 10), note("n"), edit("x", "n", 9), edit("y", "gone", 9)])) {
      expect(branch.edits).toEqual([]);
      expect(tokensThrough(branch, 3)).toBe(10);
    }
  });

  it("stays what it was when two others grow from it", () => {
    const trunk = branchOf([say("a", 10)]);
    const left = extendBranch(trunk, [say("b", 1)]);
    const right = extendBranch(extendBranch(trunk, [say("c", 2)]), [say("d", 3)]);
    expect([trunk, left, right].map((branch) => tokensAfter(branch, -1))).toEqual([10, 11, 15]);
    expect([trunk, left, right].map((branch) => positionOf(branch, "b"))).toEqual([-1, 1, -1]);
    expect([trunk, left, right].map((branch) => positionOf(branch, "d"))).toEqual([-1, -1, 2]);
    expect([left, right].map((branch) => kindAt(branch, 1))).toEqual(["user", "user"]);
    expect([idAt(trunk, 1), kindAt(trunk, 1)]).toEqual([undefined, undefined]);
    expect(isSourceAt(trunk, 1)).toBe(false);
  });

  it("shares its rows with one that grew by the very same entry, and with no other", () => {
    const trunk = branchOf([say("a", 10)]);
    const grown = extendBranch(trunk, [say("b", 1)]);
    expect(extendBranch(trunk, [say("b", 1)]).log).toBe(grown.log);
    const others = [say("c", 1), say("b", 2), { ...say("b", 1), kind: "assistant" as const }, note("b")];
    for (const other of others) {
      const made = extendBranch(trunk, [other]);
      expect(made.log).not.toBe(grown.log);
      expect(tokensAfter(made, -1)).toBe(10 + other.tokens);
    }
    expect(tokensAfter(grown, -1)).toBe(11);
  });

  it("finds each of many entries, and the first of those with the same id", () => {
    const facts = Array.from({ length: 500 }, (_, n) => say(`e${n}`, 1));
    for (const branch of both([...facts, say("e7", 1)])) {
      expect(facts.map(({ id }) => positionOf(branch, id))).toEqual(facts.map((_, n) => n));
      expect(positionOf(branch, "e500")).toBe(-1);
    }
  });
});
