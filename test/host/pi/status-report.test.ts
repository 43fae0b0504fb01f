import { describe, expect, it } from "vitest";
import { statusReport } from "../../../src/host/pi/ui/status-report.ts";
import { createEngine } from "../../../src/machines/engine.ts";
import type { Unstamped } from "../../../src/reducers/engine/events.ts";
import { describeEntry } from "../../../src/reducers/entries/describe-entry.ts";
import type { EntryLike, EntryLookup } from "../../../src/reducers/entries/entry.ts";
import { renderSummary } from "../../../src/reducers/ledger/summary.ts";
import {
  compaction,
  folded,
  observation,
  observed,
  opened,
  stamped,
  user,
} from "../../support/sessions/builders.ts";

const A = "aaaaaaaaaaaa";

/** What status says of a session that was just opened. */
function statusOf(entries: readonly EntryLike[], ...then: Unstamped[]): string {
  const lookup: EntryLookup = (id) => entries.find((one) => one.id === id);
  const engine = createEngine();
  engine.step(stamped(opened(entries.map((one) => describeEntry(one, lookup)))));
  for (const event of then) engine.step(stamped(event));
  const { state, snapshot } = engine;
  const report = statusReport({ state, snapshot, lookup, problems: [], models: ["p/m"] });
  engine.stop();
  return report;
}

function folds(notes: Parameters<typeof renderSummary>[1]): EntryLike[] {
  const memory = { observations: [observation(A, ["e1"])], reflections: [] };
  return [
    user("e1", "Hello."),
    observed("o", memory.observations, "e1"),
    { ...compaction("c", "", folded(memory)), summary: renderSummary(memory, notes) } as EntryLike,
  ];
}

describe("the status of a session that is opened again", () => {
  it("names the lines that the last fold had no room for, and what the user asked of it", () => {
    const status = statusOf(folds({ leftOut: 12, instructions: "keep the ports" }));
    expect(status).toContain("\n  left out  12 lines of the last fold, for want of room\n");
    expect(status).toContain("\n  asked     of the last fold: keep the ports");
    expect(statusOf(folds({ leftOut: 1 }))).toContain("\n  left out  1 line of the last fold");
  });

  it("says neither where there is nothing to say, or where the text only looks like it", () => {
    for (const status of [
      statusOf([user("e1", "Hello.")]),
      statusOf(folds({})),
      statusOf(
        folds({ touched: "Failed: 3 lines of memory had no room here, the least relevant and the oldest;" }),
      ),
    ]) {
      expect(status).not.toMatch(/left out|asked {4}/);
    }
  });
});

describe("problems in the status", () => {
  const replaced: Unstamped = {
    type: "compaction.finished",
    folded: false,
    offered: true,
    fromExtension: true,
  };
  const foreign = { ...compaction("c", ""), summary: "Another's." } as EntryLike;
  const extended = (entry: EntryLike): Unstamped => ({
    type: "branch.extended",
    entries: [describeEntry(entry, () => undefined)],
  });

  it("stay while they hold and leave when they no longer do: folds that were not used", () => {
    const before = statusOf([user("e1", "Hello.")], extended(foreign), replaced);
    expect(before).toContain("1 fold not used");
    const memory = { observations: [observation(A, ["e1"])], reflections: [] };
    const ours = { ...compaction("d", "", folded(memory)), parentId: "c" } as EntryLike;
    const after = statusOf([user("e1", "Hello.")], extended(foreign), replaced, extended(ours), {
      type: "compaction.finished",
      folded: true,
      offered: true,
      fromExtension: true,
    });
    expect(after).not.toContain("Problems");
  });

  it("a compaction by hand that failed while none was due is no problem of memory", () => {
    const failed: Unstamped = {
      type: "compaction.failed",
      failure: { kind: "failed", message: "too small" },
    };
    expect(statusOf([user("e1", "Hello.")], failed)).not.toContain("Problems");
  });
});
