import { describe, expect, it } from "vitest";
import { idAt } from "../../../src/reducers/branch.ts";
import type { EntryKind } from "../../../src/reducers/entries/entry-fact.ts";
import { planCut, unobservedTail } from "../../../src/reducers/ledger/compaction-plan.ts";
import type { FoldRoom } from "../../../src/reducers/ledger/fold-room.ts";
import { sessionOf } from "../../../src/reducers/session.ts";
import { fact } from "../../support/sessions/builders.ts";

/** A branch of entries of 100 tokens each; `observed` names the last one that observations cover. */
function session(kinds: EntryKind[], { observed, cut }: { observed?: number; cut?: number } = {}) {
  const facts = kinds.map((kind, n) => ({
    ...(kind === "other" ? fact.other(`e${n}`) : fact.user(`e${n}`)),
    kind,
  }));
  if (observed !== undefined) facts.push(fact.observed("o", `e${observed}`));
  if (cut !== undefined) facts.push(fact.compaction("c", `e${cut}`, false));
  return sessionOf(facts);
}

function tail(...given: Parameters<typeof session>) {
  const { branch, ledger } = session(...given);
  return unobservedTail(branch, ledger);
}

/** From which entry a fold keeps when Pi proposes `proposed`. */
function kept(
  kinds: EntryKind[],
  {
    proposed,
    gap,
    room,
    ...given
  }: { proposed: string; gap: number; observed?: number; cut?: number; room?: FoldRoom },
) {
  const { branch, ledger } = session(kinds, given);
  const plan = planCut(
    branch,
    ledger,
    { firstKeptEntryId: proposed, room },
    {
      compactionGapMaxTokens: gap,
      observationsPoolMaxTokens: 1000,
      foldPolicy: "pressure",
      summaryFiles: true,
    },
  );
  if (plan.cut < branch.length) expect(plan.firstKeptEntryId).toBe(idAt(branch, plan.cut));
  return plan.firstKeptEntryId;
}

describe("the unobserved tail", () => {
  it("is nothing when all is observed", () => {
    expect(tail(["user", "assistant"], { observed: 1 })).toEqual({ tokens: 0, splitsBatch: false });
    expect(tail([])).toEqual({ tokens: 0, splitsBatch: false });
  });

  it("begins with the first unobserved entry where a cut may stand before it", () => {
    expect(tail(["user", "assistant", "user"])).toEqual({ tokens: 300, splitsBatch: false });
    expect(tail(["user", "assistant", "user"], { observed: 0 })).toEqual({ tokens: 200, splitsBatch: false });
  });

  it("begins with the call when a batch of tool results is observed in part", () => {
    const batch: EntryKind[] = ["user", "assistant", "toolResult", "toolResult", "assistant"];
    expect(tail(batch, { observed: 2 })).toEqual({ tokens: 400, splitsBatch: true });
    expect(tail(batch, { observed: 3 })).toEqual({ tokens: 100, splitsBatch: false });
  });

  it("does not reach behind an earlier compaction", () => {
    expect(tail(["user", "assistant", "user"], { cut: 2 })).toEqual({ tokens: 100, splitsBatch: false });
    const results: EntryKind[] = ["assistant", "toolResult", "toolResult"];
    expect(tail(results, { observed: 1, cut: 1 })).toEqual({ tokens: Infinity, splitsBatch: false });
  });
});

describe("a fold", () => {
  const talk: EntryKind[] = ["user", "assistant", "user", "assistant", "user"];

  it("keeps from where Pi proposes when all before that is observed", () => {
    expect(kept(talk, { proposed: "e3", gap: 1000, observed: 2 })).toBe("e3");
    expect(kept(talk, { proposed: "e3", gap: 1000, observed: 4 })).toBe("e3");
    expect(kept(talk, { proposed: "e1", gap: 1000, observed: 2 })).toBe("e1");
  });

  it("keeps what is unobserved before that too, if it is no more than the gap allows", () => {
    const longer: EntryKind[] = ["other", "assistant", ...talk];
    expect(kept(longer, { proposed: "e5", gap: 200, observed: 2 })).toBe("e3");
    expect(kept(longer, { proposed: "e5", gap: 199, observed: 2 })).toBe("e5");
  });

  it("keeps no more of it than half of what Pi would cut: what frees next to nothing comes again at once", () => {
    expect(kept(talk, { proposed: "e4", gap: 1000, observed: 1 })).toBe("e2");
    expect(kept(talk, { proposed: "e4", gap: 1000, observed: 0 })).toBe("e4");
    expect(kept(talk, { proposed: "e4", gap: 1000 })).toBe("e4");
  });

  it("keeps no more of it than the window has room for beside a summary", () => {
    const inWindow = (together: number) =>
      kept(talk, { proposed: "e4", gap: 1000, observed: 1, room: { together, summary: 50 } });
    // Two hundred more than the hundred that Pi keeps, and the summary.
    expect(inWindow(350)).toBe("e2");
    expect(inWindow(349)).toBe("e4");
  });

  it("keeps it also when Pi would keep nothing at all", () => {
    expect(kept(talk, { proposed: "gone", gap: 200, observed: 2 })).toBe("e3");
    expect(kept(talk, { proposed: "gone", gap: 199, observed: 2 })).toBe("gone");
  });

  it("does not bring back what an earlier compaction has cut", () => {
    expect(kept([...talk, "user"], { proposed: "e5", gap: 1000, cut: 2 })).toBe("e5");
    expect(kept([...talk, "user"], { proposed: "e5", gap: 1000, cut: 2, observed: 3 })).toBe("e4");
  });

  it("keeps a tool result with its call, and the whole batch of one that is unobserved", () => {
    const batch: EntryKind[] = ["user", "assistant", "toolResult", "toolResult", "assistant"];
    expect(kept(batch, { proposed: "e3", gap: 200, observed: 4 })).toBe("e1");
    expect(kept(batch, { proposed: "e3", gap: 199, observed: 4 })).toBe("e3");
    const later: EntryKind[] = ["user", "assistant", "user", ...batch];
    expect(kept(later, { proposed: "e7", gap: 300, observed: 5 })).toBe("e4");
    expect(kept(later, { proposed: "e7", gap: 299, observed: 5 })).toBe("e7");
    // What is unobserved does not fit, the call of the proposed result does.
    expect(kept(["user", ...batch], { proposed: "e4", gap: 200 })).toBe("e2");
  });

  it("looks behind whatever stands between a call and its result", () => {
    const noted: EntryKind[] = ["user", "assistant", "toolResult", "other", "toolResult", "assistant"];
    expect(kept(noted, { proposed: "e3", gap: 1000, observed: 5 })).toBe("e1");
    const steered: EntryKind[] = ["user", "assistant", "user", "toolResult"];
    expect(kept(steered, { proposed: "e2", gap: 1000, observed: 3 })).toBe("e1");
    // A note after the last result separates nothing.
    expect(kept([...steered, "other", "user"], { proposed: "e4", gap: 1000, observed: 5 })).toBe("e4");
  });

  it("leaves the cut where Pi proposes when no cut may stand before what is unobserved", () => {
    expect(kept(["toolResult", "user"], { proposed: "e1", gap: 1000 })).toBe("e1");
    expect(kept(["toolResult", "other", "user"], { proposed: "e1", gap: 1000 })).toBe("e1");
  });
});
