import type { SessionManager } from "@earendil-works/pi-coding-agent";
import { describe, expect, it } from "vitest";
import { openOver } from "../../../bench/memory-stand-in.ts";
import { appendBatch, appendTurnPart, syntheticSession } from "../../../bench/synthetic-session.ts";
import { describeBranch } from "../../../src/host/pi/branch-sync.ts";
import { describeEntry } from "../../../src/reducers/entries/describe-entry.ts";
import { extendSession, sessionOf } from "../../../src/reducers/session.ts";

/**
 * What a user feels must not grow with the session. These count what is done, never how long it takes: milliseconds
 * belong to `npm run bench`.
 */
const SIZES = [400, 4000] as const;

/** A session manager that counts how often it is asked. */
function counted(manager: SessionManager): { manager: SessionManager; calls: Map<string, number> } {
  const calls = new Map<string, number>();
  const proxy = new Proxy(manager, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        calls.set(String(name), (calls.get(String(name)) ?? 0) + 1);
        return Reflect.apply(value, target, args);
      };
    },
  });
  return { manager: proxy, calls };
}

describe("a turn", () => {
  const asked = SIZES.map((size) => {
    const { manager, calls } = counted(syntheticSession(size, size * 0.3));
    const session = openOver(manager);
    calls.clear();
    for (let n = 0; n < 4; n++) appendTurnPart(manager, size + n);
    session.agentStarted();
    session.turnEnded();
    session.agentSettled(false);
    void session.close("quit");
    return Object.fromEntries(calls);
  });

  it("never reads the whole branch", () => {
    for (const calls of asked) {
      expect(calls.getBranch ?? 0).toBe(0);
      expect(calls.getEntries ?? 0).toBe(0);
    }
  });

  it("asks Pi the same, however long the session is", () => {
    expect(asked[1]).toEqual(asked[0]);
    expect(asked[0]?.getEntry).toBeLessThanOrEqual(8);
  });
});

describe("one more ledger entry", () => {
  it("leaves every record that is there what it is", () => {
    const manager = syntheticSession(200, 180);
    const before = sessionOf(describeBranch(manager));
    appendBatch(manager, manager.getLeafId() ?? "", 1_000_000);
    const entry = manager.getLeafEntry();
    if (!entry) throw new Error("nothing was appended");
    const after = extendSession(before, [describeEntry(entry, (id) => manager.getEntry(id))]);
    expect(after.ledger.observations.size).toBeGreaterThan(before.ledger.observations.size);
    for (const [id, record] of before.ledger.observations) {
      expect(after.ledger.observations.get(id)).toBe(record);
    }
  });
});
