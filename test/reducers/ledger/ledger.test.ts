import { describe, expect, it } from "vitest";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import { memoryStatus } from "../../../src/reducers/ledger/ledger.ts";
import { coverageTiers, isPoolOverTarget, maximumDrops } from "../../../src/reducers/ledger/pool.ts";
import {
  clocksOfSession,
  emptySession,
  extendSession,
  hasUnreflected,
  sessionOf,
} from "../../../src/reducers/session.ts";
import { DEFAULT_SETTINGS } from "../../../src/reducers/settings.ts";
import { fact } from "../../support/sessions/builders.ts";

const { observed, reflected, dropped, superseded, replaced, compaction: compacted, user: say } = fact;
const TALK = ["e0", "e1", "e2", "e3"].map((id) => say(id));

/** The session of these facts after the talk: folded at once, and one by one, which comes to the same. */
function fold(...facts: EntryFact[]) {
  const all = [...TALK, ...facts];
  const cold = sessionOf(all);
  let live = emptySession();
  for (const fact of all) live = extendSession(live, [fact]);
  expect(clocksOfSession(live)).toEqual(clocksOfSession(cold));
  expect(live.ledger).toEqual(cold.ledger);
  return live;
}

describe("an observation", () => {
  it("is kept with its first and its last source, its watermark and where its text is", () => {
    const { ledger } = fold(observed("o1", "e2", "a:10@e2+e1", "b:20@gone", "c:5@e0+gone+e1"));
    expect([...ledger.observations.values()]).toEqual([
      {
        id: "a",
        tokens: 10,
        relevance: "high",
        firstSource: 1,
        lastSource: 2,
        watermark: 2,
        droppedAt: undefined,
        replacedBy: undefined,
        entry: 4,
        index: 0,
      },
      {
        id: "b",
        tokens: 20,
        relevance: "high",
        firstSource: -1,
        lastSource: 2,
        watermark: 2,
        droppedAt: undefined,
        replacedBy: undefined,
        entry: 4,
        index: 1,
      },
      {
        id: "c",
        tokens: 5,
        relevance: "high",
        firstSource: 0,
        lastSource: 1,
        watermark: 2,
        droppedAt: undefined,
        replacedBy: undefined,
        entry: 4,
        index: 2,
      },
    ]);
    expect(ledger.counts).toEqual({ observations: 3, reflections: 0, active: 3, dropped: 0, takenOut: 0 });
    expect(ledger.activeTokens).toBe(35);
    expect(ledger.watermarks).toEqual({ observe: 2, reflect: -1, drop: -1 });
  });

  it("counts once: the first record of an id wins, in a batch and in a later one", () => {
    const { ledger } = fold(observed("o1", "e1", "a:10", "a:11"), observed("o2", "e2", "a:12", "b:1"));
    expect([...ledger.observations.values()].map(({ id, tokens }) => [id, tokens])).toEqual([
      ["a", 10],
      ["b", 1],
    ]);
    expect(ledger.activeTokens).toBe(11);
    expect(ledger.counts).toMatchObject({ observations: 2, active: 2 });
  });

  it("never moves a watermark back", () => {
    expect(fold(observed("o1", "e2"), observed("o2", "e0")).ledger.watermarks.observe).toBe(2);
    expect(fold(reflected("r1", "e2"), reflected("r2", "e0")).ledger.watermarks.reflect).toBe(2);
    expect(fold(dropped("d1", "e2"), dropped("d2", "e0")).ledger.watermarks.drop).toBe(2);
  });
});

describe("a reflection", () => {
  it("counts once, with its tokens", () => {
    const { ledger } = fold(reflected("r1", "e1", "r:10", "s:5"), reflected("r2", "e2", "r:7", "t:1"));
    expect([...ledger.reflections.values()].map(({ id }) => id)).toEqual(["r", "s", "t"]);
    expect(ledger.reflectionTokens).toBe(16);
    expect(ledger.counts.reflections).toBe(3);
  });
});

describe("a drop", () => {
  it("takes its observation out of the pool, once, and counts from its earliest watermark", () => {
    const base = [observed("o1", "e2", "a:10", "b:20")];
    const once = fold(...base, dropped("d1", "e2", "a"));
    expect(once.ledger).toMatchObject({ activeTokens: 20 });
    expect(once.ledger.counts).toMatchObject({ active: 1, dropped: 1 });
    expect(once.ledger.observations.get("a")?.droppedAt).toBe(2);
    const again = fold(...base, dropped("d1", "e2", "a"), dropped("d2", "e1", "a"), dropped("d3", "e3", "a"));
    expect(again.ledger).toMatchObject({ activeTokens: 20 });
    expect(again.ledger.counts).toMatchObject({ active: 1, dropped: 1 });
    expect(again.ledger.observations.get("a")?.droppedAt).toBe(1);
    expect(["a", "b", "c"].map((id) => memoryStatus(again.ledger, "observations", id))).toEqual([
      "dropped",
      "active",
      "unknown",
    ]);
  });

  it("that came before its observation waits for it, with its earliest watermark", () => {
    const { ledger } = fold(
      dropped("d1", "e2", "a"),
      dropped("d2", "e1", "a"),
      dropped("d3", "e3", "a"),
      observed("o1", "e3", "a:10", "b:20"),
    );
    expect([...ledger.observations.values()].map(({ droppedAt }) => droppedAt)).toEqual([1, undefined]);
    expect(ledger).toMatchObject({ activeTokens: 20, counts: { observations: 2, active: 1, dropped: 1 } });
  });
});

describe("what is superseded or replaced", () => {
  it("is dropped, and keeps what the first drop that names one puts in its place", () => {
    const { ledger } = fold(
      observed("o1", "e1", "a:10", "b:20"),
      dropped("d", "e2", "a"),
      superseded("s1", "e1", { a: "b" }),
      superseded("s2", "e3", { a: "c", d: "b" }),
    );
    expect(ledger.observations.get("a")).toMatchObject({ droppedAt: 1, replacedBy: "b" });
    expect(ledger.earlyDrops.observations.get("d")).toEqual({ droppedAt: 3, replacedBy: "b" });
    expect(ledger).toMatchObject({ activeTokens: 20, watermarks: { drop: 3 } });
    expect(ledger.counts).toMatchObject({ active: 1, dropped: 1 });
    expect(memoryStatus(ledger, "observations", "d")).toBe("dropped");
  });

  it("takes a reflection out of the counts, also before it is recorded, and an observation of its id not", () => {
    const { ledger } = fold(
      replaced("x", "e0", { r: "s" }),
      observed("o1", "e1", "r:3"),
      reflected("r1", "e1", "r:10@r", "s:5@r+u", "t:2"),
      replaced("y", "e2", { t: "s" }),
    );
    expect(ledger.counts).toEqual({ observations: 1, reflections: 1, active: 1, dropped: 0, takenOut: 0 });
    expect(ledger).toMatchObject({ reflectionTokens: 5, activeTokens: 3, watermarks: { drop: -1 } });
    expect(ledger.reflections.get("r")).toMatchObject({ droppedAt: 0, replacedBy: "s" });
    expect(ledger.reflections.get("t")).toMatchObject({ droppedAt: 2, replacedBy: "s" });
    // What is replaced preserves nothing.
    expect(coverageTiers(ledger).get("r")).toBe("partial");
  });
});

describe("an id that is recorded again", () => {
  it("keeps its first record in memory, and the place of each later one for recall", () => {
    const { ledger } = fold(
      observed("o1", "e1", "a:10@e0", "a:20@e1"),
      observed("o2", "gone", "a:30@e1"),
      observed("o3", "e2", "a:40@e2"),
      reflected("r1", "e1", "r:1@a", "a:1@a"),
      reflected("r2", "e1", "r:2@b"),
    );
    expect([...ledger.observations.values()].map(({ tokens }) => tokens)).toEqual([10]);
    expect([...ledger.unshown]).toEqual([
      [
        "a",
        [
          { id: "a", kind: "observation", entry: 4, index: 1 },
          { id: "a", kind: "observation", entry: 5, index: 0 },
          { id: "a", kind: "observation", entry: 6, index: 0 },
        ],
      ],
      ["r", [{ id: "r", kind: "reflection", entry: 8, index: 0 }]],
    ]);
    expect(ledger).toMatchObject({ activeTokens: 10, reflectionTokens: 2 });
  });

  it("counts evidence that a record names twice once", () => {
    const { ledger } = fold(observed("o1", "e1", "a:10"), reflected("r1", "e1", "r:1@a+a+a"));
    expect(ledger.reflections.get("r")?.supports).toEqual(["a"]);
    expect([...coverageTiers(ledger)]).toEqual([["a", "strong"]]);
  });
});

describe("a record that is not valid", () => {
  it.each([
    ["is not on the branch", "gone"],
    ["is the entry itself", "o1"],
    ["comes later", "later"],
  ])("is left out of memory, but can be recalled, when its watermark %s", (_case, marker) => {
    const facts = [
      observed("o1", marker, "a:10", "b:1"),
      say("later"),
      reflected("r1", "gone", "r:1", "a:1"),
    ];
    const { ledger } = fold(...facts, dropped("d1", "gone", "a"));
    expect(ledger.counts).toEqual({ observations: 0, reflections: 0, active: 0, dropped: 0, takenOut: 0 });
    expect([...ledger.unshown.values()]).toEqual([
      [
        { id: "a", kind: "observation", entry: 4, index: 0 },
        { id: "a", kind: "reflection", entry: 6, index: 1 },
      ],
      [{ id: "b", kind: "observation", entry: 4, index: 1 }],
      [{ id: "r", kind: "reflection", entry: 6, index: 0 }],
    ]);
    expect(ledger.ignored).toEqual({ malformed: 0, dangling: 3, v2: 0 });
    expect(ledger.watermarks).toEqual({ observe: -1, reflect: -1, drop: -1 });
  });

  it("is counted, and the latest five entries are named", () => {
    const odd = [1, 2, 3, 4, 5, 6].map(
      (n): EntryFact => ({ id: `x${n}`, kind: "ledger", tokens: 0, ignored: { reason: "v2", records: n } }),
    );
    const { ledger } = fold(...odd);
    expect(ledger.ignored.v2).toBe(21);
    expect(ledger.ignoredEntries.map(({ id }) => id)).toEqual(["x2", "x3", "x4", "x5", "x6"]);
  });
});

describe("a compaction", () => {
  it("is known by where it cut; only ours is visible memory, and only a full fold moves the boundary", () => {
    const ours = fold(compacted("c1", "e1", true, true), compacted("c2", "e2"), compacted("c3", "e3", false));
    expect(ours.ledger).toMatchObject({
      compactions: 3,
      latestCompaction: { entry: 6, cut: 3, folded: false },
      latestFolded: { entry: 5, cut: 2, folded: true },
      fullFoldBoundary: 1,
    });
    expect(fold(compacted("c1", "e1", false, true)).ledger).toMatchObject({
      latestFolded: null,
      fullFoldBoundary: -1,
    });
  });

  it("that keeps nothing cut at itself", () => {
    const { latestCompaction, fullFoldBoundary } = fold(compacted("c1", "gone", true, true)).ledger;
    expect([latestCompaction?.cut, fullFoldBoundary]).toEqual([4, 3]);
  });
});

describe("the clocks", () => {
  it("count from each coverage, from the cut inclusively, and from the compaction", () => {
    const session = fold(
      observed("o1", "e2"),
      reflected("r1", "e1"),
      dropped("d1", "e0"),
      compacted("c1", "e3"),
      say("e9", 7),
    );
    expect(clocksOfSession(session)).toEqual({
      observe: 107,
      reflect: 207,
      drop: 307,
      compact: 107,
      sinceCompaction: 7,
    });
  });

  it("count everything while nothing was covered or cut", () => {
    expect(clocksOfSession(fold())).toEqual({
      observe: 400,
      reflect: 400,
      drop: 400,
      compact: 400,
      sinceCompaction: 400,
    });
  });
});

describe("the reflector", () => {
  it("has work once an observation covers what no reflection does", () => {
    expect(hasUnreflected(fold())).toBe(false);
    expect(hasUnreflected(fold(observed("o1", "e1")))).toBe(true);
    expect(hasUnreflected(fold(observed("o1", "e1"), reflected("r1", "e1")))).toBe(false);
  });
});

describe("the pool", () => {
  const settings = { ...DEFAULT_SETTINGS, observationsPoolTargetTokens: 100 };

  it("is over its target above it, and the dropper may take what is over, as average observations", () => {
    const { ledger } = fold(observed("o1", "e1", "a:60", "b:40"));
    expect([isPoolOverTarget(ledger, settings), maximumDrops(ledger, settings)]).toEqual([false, 0]);
    const more = fold(observed("o1", "e1", "a:60", "b:40", "c:50")).ledger;
    expect([isPoolOverTarget(more, settings), maximumDrops(more, settings)]).toEqual([true, 1]);
    const most = fold(observed("o1", "e1", "a:60", "b:40", "c:51")).ledger;
    expect(maximumDrops(most, settings)).toBe(2);
    expect(maximumDrops(most, { ...settings, observationsPoolTargetTokens: 0 })).toBe(3);
    expect(maximumDrops(fold().ledger, { ...settings, observationsPoolTargetTokens: -1 })).toBe(0);
  });

  it("tells how well reflections preserve each active observation", () => {
    const { ledger } = fold(
      observed("o1", "e1", "a:1", "b:1", "c:1", "d:1", "gone:1"),
      reflected("r1", "e1", "r:1@b+c", "s:1@c+gone", "t:1@d"),
      dropped("d1", "e1", "gone"),
    );
    expect([...coverageTiers(ledger)]).toEqual([
      ["a", "none"],
      ["b", "partial"],
      ["c", "strong"],
      ["d", "strong"],
    ]);
  });
});
