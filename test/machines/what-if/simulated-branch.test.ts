import { describe, expect, it } from "vitest";
import { createBranchChanges } from "../../../src/machines/what-if/simulated-branch.ts";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import { fact } from "../../support/sessions/builders.ts";

const facts = (...ids: string[]): EntryFact[] => ids.map((id) => fact.user(id, 1));
const ids = (branch: readonly EntryFact[]) => branch.map(({ id }) => id).join(" ");

describe("a simulation's branch", () => {
  it("is the recorded one as long as nothing differs", () => {
    const changes = createBranchChanges();
    changes.extend(facts("a", "b"));
    expect(ids(changes.moveTo(facts("a", "b", "c")))).toBe("a b c");
    expect(ids(changes.moveTo([]))).toBe("");
  });

  it("lacks what was left out, wherever it goes", () => {
    const changes = createBranchChanges();
    changes.leaveOut(facts("b", "d"));
    expect(ids(changes.moveTo(facts("a", "b", "c", "d")))).toBe("a c");
    expect(ids(changes.moveTo(facts("b")))).toBe("");
  });

  it("has modelled entries after the recorded ones of then, in their order", () => {
    const changes = createBranchChanges();
    changes.extend(facts("a"));
    changes.insert(fact.user("m1", 0));
    changes.insert(fact.user("m2", 0));
    changes.extend(facts("b"));
    changes.insert(fact.user("m3", 0));
    changes.extend([]);
    changes.insert(fact.user("m4", 0));
    expect(ids(changes.moveTo(facts("a", "b", "c")))).toBe("a m1 m2 b m3 m4 c");
  });

  it("leaves behind what was appended after the entry to which the session moves", () => {
    const changes = createBranchChanges();
    changes.extend(facts("a", "b"));
    changes.insert(fact.user("m1", 0));
    expect(ids(changes.moveTo(facts("a", "b")))).toBe("a b");
    // From there it grows anew; on the way back all of it stands.
    changes.insert(fact.user("m2", 0));
    expect(ids(changes.moveTo(facts("a")))).toBe("a");
    changes.insert(fact.user("m3", 0));
    expect(ids(changes.moveTo(facts("a", "b", "c")))).toBe("a m3 b m1 m2 c");
  });

  it("has what came before the first recorded entry nowhere, as no branch tells where", () => {
    const changes = createBranchChanges();
    changes.insert(fact.user("m1", 0));
    expect(ids(changes.moveTo(facts("a", "b")))).toBe("a b");
  });

  it("takes a branch of which all was left out for an empty one", () => {
    const changes = createBranchChanges();
    changes.leaveOut(facts("a"));
    changes.moveTo(facts("a"));
    changes.insert(fact.user("m1", 0));
    expect(ids(changes.moveTo(facts("a", "b")))).toBe("b");
  });
});
