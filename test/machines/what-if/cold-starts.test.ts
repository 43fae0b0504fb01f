import { describe, expect, it } from "vitest";
import { createColdStarts } from "../../../src/machines/what-if/cold-starts.ts";
import type { Settings } from "../../../src/reducers/settings.ts";
import { schedule } from "../../support/engine/schedule.ts";
import { fact, MEMORY } from "../../support/sessions/builders.ts";

const NEVER = { observeAfterTokens: 1_000_000, reflectAfterTokens: 1_000_000, compactAfterTokens: 1_000_000 };

/** A session that grew to 50,000 observed tokens, of which a compaction would keep 20,000 and a bit. */
function session(changes: Partial<Settings> = {}) {
  const s = schedule({ ...NEVER, ...changes });
  s.tell({ type: "branch.extended", entries: [...MEMORY] });
  for (let n = 0; n < 5; n++) s.turn(10_000);
  const seen = fact.recorded("observer", "seen", s.tip, "0000000000aa:40");
  s.tell({ type: "branch.extended", entries: [seen] });
  s.settle();
  return {
    ...s,
    expire: (contextTokens = 60_000, usdPerMillion: number | undefined = 5) =>
      s.tell({
        ...{ type: "cache.expired", reason: "lifetime", contextTokens, keepTokens: 20_000 },
        ...(usdPerMillion > 0 && { usdPerMillion }),
      }),
    goOn: () => {
      s.tell({ type: "agent.started" });
      s.settle();
    },
    sum() {
      const coldStarts = createColdStarts();
      for (const step of s.steps) coldStarts.take(step);
      return coldStarts.sum();
    },
  };
}

describe("cold starts of a recording", () => {
  it("are none where no cache ran out, nobody came back, or another branch was taken", () => {
    const s = session();
    s.goOn();
    s.expire();
    s.tell({ type: "branch.replaced", branch: [...MEMORY] });
    s.goOn();
    s.expire();
    expect(s.sum()).toMatchObject({ count: 0, usd: 0, savedUsd: 0 });
  });

  it("cost their context, and less by what a compaction before would have cut", () => {
    const s = session();
    s.expire();
    s.goOn();
    const { usd, savedUsd, ...counts } = s.sum();
    expect(counts).toEqual({ count: 1, unpriced: 0, compactions: 1 });
    expect(usd).toBeCloseTo(0.3);
    expect(savedUsd).toBeCloseTo(0.15, 2);
  });

  it("go on saving what was cut, without another compaction, until the session itself compacts", () => {
    const s = session();
    for (let n = 0; n < 2; n++) {
      s.expire();
      s.goOn();
    }
    expect(s.sum()).toMatchObject({ count: 2, compactions: 1 });
    expect(s.sum().savedUsd).toBeCloseTo(0.3, 1);
    const before = s.sum().savedUsd;
    s.compact("e4");
    s.expire(30_000);
    s.goOn();
    expect(s.sum()).toMatchObject({ count: 3, compactions: 1 });
    expect(s.sum().savedUsd).toBe(before);
  });

  it("save nothing below the margin, and are counted apart without a price", () => {
    const s = session();
    s.expire(60_000, 1);
    s.goOn();
    s.expire(60_000, 0);
    s.goOn();
    expect(s.sum()).toMatchObject({ count: 2, unpriced: 1, savedUsd: 0, compactions: 0 });
  });

  it("are counted the same where the setting was on, and the session did compact", () => {
    const s = session({ idleCompaction: "auto" });
    s.expire();
    s.compact("e4");
    s.goOn();
    expect(s.sum()).toMatchObject({ count: 1, compactions: 1 });
    expect(s.sum().savedUsd).toBeCloseTo(0.15, 2);
  });
});
