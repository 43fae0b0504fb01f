import { describe, it } from "vitest";
import type { Settings } from "../../../src/reducers/settings.ts";
import {
  agentIsBusy,
  agentStarts,
  append,
  asksToCompact,
  compact,
  compactionFails,
  event,
  given as givenNothing,
  type Happening,
  remember,
  settle,
  times,
  turn,
} from "../../support/engine/given.ts";
import { fact } from "../../support/sessions/builders.ts";

const settings: Partial<Settings> = {
  ...{ observeAfterTokens: 1_000_000, reflectAfterTokens: 1_000_000, compactAfterTokens: 100_000 },
  idleCompaction: "auto",
};
/** Everything up to the entry is observed. */
const observedTo = (id: string) => append(fact.recorded("observer", `seen-${id}`, id, "0000000000aa:40"));
const given = (under: Partial<Settings>, ...past: Happening[]) =>
  givenNothing(under, remember, times(5, turn(10_000)), observedTo("e5"), settle, ...past);
const expired = (usdPerMillion = 5): Happening =>
  event({
    ...{ type: "cache.expired", reason: "lifetime", contextTokens: 60_000, keepTokens: 20_000 },
    usdPerMillion,
  });

describe("a prompt cache that has run out", () => {
  it("makes a compaction worth its while below the threshold", () => {
    given(settings)
      .when(expired())
      .then({ compaction: "requested", commands: [asksToCompact("compaction-1")] });
  });

  it.each<[string, Partial<Settings>]>([
    ["where that is not wanted", { idleCompaction: "off" }],
    ["where memory is passive", { passive: true }],
  ])("changes nothing %s", (_what, changes) => {
    given({ ...settings, ...changes })
      .when(expired())
      .then({ commands: [] });
  });

  it("changes nothing where little is saved, nor while the agent is at work", () => {
    given(settings).when(expired(1)).then({ compaction: "idle", commands: [] });
    given(settings, agentStarts).when(expired()).then({ compaction: "idle", commands: [] });
  });

  it("is forgotten when the agent goes on", () => {
    given(settings, expired(1), agentStarts)
      .when(turn(10), settle)
      .then({ compaction: "idle", commands: [] });
  });

  it("ends the waiting of a compaction that is due, too", () => {
    const due = { ...settings, compactAfterTokens: 50_000 };
    givenNothing(due, remember, times(5, turn(10_000)), observedTo("e5"))
      .when(expired())
      .then({ compaction: "requested", commands: [asksToCompact()] });
  });

  it("is tried once: after a failure, and when Pi was busy, the lane waits for more", () => {
    given(settings, expired())
      .when(compactionFails, settle)
      .then({ compaction: "idle" })
      .when(expired())
      .then({ commands: [] })
      .when(turn(10), settle, expired())
      .then({ commands: [asksToCompact()] });
    given(settings, expired()).when(agentIsBusy).then({ compaction: "idle", commands: [] });
  });

  it("does not compact the same tail twice", () => {
    given(settings, expired(), compact("e4"))
      .when(expired())
      .then({ compaction: "coolingDown", commands: [] });
  });
});
