import { describe, it } from "vitest";
import type { Settings } from "../../../src/reducers/settings.ts";
import {
  agentIsBusy,
  agentStarts,
  append,
  asksToCompact,
  close,
  compact,
  compactionFails,
  compactionStarts,
  event,
  given as givenNothing,
  givenWindow as givenNothingInWindow,
  type Happening,
  moveTo,
  remember,
  runEnds,
  say,
  settle,
  tells,
  times,
  turn,
  warns,
} from "../../support/engine/given.ts";
import { fact, MEMORY } from "../../support/sessions/builders.ts";

const settings = { observeAfterTokens: 1_000_000, reflectAfterTokens: 1_000_000, compactAfterTokens: 1000 };
/** The same with an observer that has something to read at 1,000 tokens. */
const observing = { ...settings, observeAfterTokens: 1000 };

/** Sessions that remember something, as all do but the first minutes of one. */
const given = (under: Partial<Settings>, ...past: Happening[]) => givenNothing(under, remember, ...past);
const givenWindow = (window: number, under: Partial<Settings>, ...past: Happening[]) =>
  givenNothingInWindow(window, under, remember, ...past);

describe("compaction lane", () => {
  it("asks Pi when it is due and the agent has settled, not before", () => {
    given(settings)
      .when(turn(1000))
      .then({ compaction: "due", commands: [] })
      .when(settle)
      .then({ compaction: "requested", commands: [asksToCompact("compaction-1")] });
  });

  it("never repeats on an unchanged tail, though the tail is above the threshold", () => {
    given(settings, turn(5000), settle)
      .when(compact("e1"))
      .then({ compaction: "coolingDown" })
      .when(times(9, turn(100), settle))
      .then({ commands: [] })
      .when(turn(100), settle)
      .then({ commands: [asksToCompact()] });
  });

  it("counts the retained tail: due after what is missing to the threshold", () => {
    given(settings, say(600), say(400), settle, compact("e2"))
      .when(turn(599))
      .then({ compaction: "coolingDown" })
      .when(turn(1))
      .then({ compaction: "due" });
  });

  it("waits for new source tokens after a failure, more of them after each further one", () => {
    given(settings, turn(1000), settle)
      .when(compactionFails)
      .then({ compaction: "backingOff", commands: [warns("compaction-1")] })
      .when(times(5, settle))
      .then({ commands: [] })
      .when(turn(1), settle)
      .then({ commands: [asksToCompact("compaction-2")] })
      .when(compactionFails)
      .then({ commands: [] })
      .when(turn(62), settle)
      .then({ commands: [] })
      .when(turn(1), settle)
      .then({ commands: [asksToCompact("compaction-3")] });
  });

  it("forgets earlier failures with a success: the next one is warned of again, and any new token ends it", () => {
    given(settings, turn(1000), settle, compactionFails, turn(1), settle, compact("e2"), turn(1000), settle)
      .when(compactionFails)
      .then({ commands: [warns("compaction-3")] })
      .when(turn(1), settle)
      .then({ commands: [asksToCompact("compaction-4")] });
  });

  it("counts a failure of the user's own attempt, without a warning", () => {
    given(settings, turn(1000))
      .when(compactionFails, settle)
      .then({ compaction: "backingOff", commands: [] })
      .when(turn(1), settle)
      .then({ commands: [asksToCompact()] });
  });

  it("waits for new source tokens also when the branch was left and is back", () => {
    given(settings, turn(1000), settle, compactionFails)
      .when(moveTo())
      .then({ compaction: "idle" })
      .when(moveTo(...MEMORY, fact.user("e1", 1000)), settle)
      .then({ commands: [] })
      .when(turn(1), settle)
      .then({ commands: [asksToCompact("compaction-2")] });
  });

  it("asks again at the next settling, and calls it no failure, when the agent was at work again", () => {
    given(settings, turn(1000), settle)
      .when(agentIsBusy)
      .then({ compaction: "due", commands: [], compactionFailure: null })
      .when(agentStarts, turn())
      .then({ commands: [] })
      .when(settle)
      .then({ commands: [asksToCompact("compaction-2")] });
  });

  it.each([
    ["requested", []],
    ["compacting", [compactionStarts]],
  ] as const)(
    "has nothing in progress, and no failure, after its session was closed in %s",
    (state, more) => {
      given(settings)
        .when(turn(1000), settle, ...more)
        .then({ compaction: state })
        .when(close)
        .then({ compaction: "idle", contexts: { compaction: { failures: 0, runId: null } } });
    },
  );

  it("does not ask at the next opening because the agent settled before it", () => {
    given({ ...observing, compactionGapMaxTokens: 500 }, turn(2000))
      .when(settle)
      .then({ contexts: { compaction: { waits: 1 } } })
      .when(close)
      .then({ compaction: "idle" })
      .when(runEnds("aborted"))
      .then({ contexts: { compaction: { waits: 0 } } });
  });

  it("counts a compaction that Pi or the user started", () => {
    given(settings, turn(1000))
      .when(compact("e1"))
      .then({ compaction: "coolingDown" })
      .when(settle)
      .then({ commands: [] });
  });

  it.each([
    ["requested", []],
    ["compacting", [compactionStarts]],
  ] as const)("does not wait for ever in %s", (state, more) => {
    given(settings)
      .when(turn(1000), settle, ...more)
      .then({ compaction: state, commands: [asksToCompact("compaction-1")] })
      .when(agentStarts, turn(500), settle, turn(1), settle)
      .then({ contexts: { compaction: { requests: 2 } } });
  });

  it("uses the share of the window in ratio mode, and the plain number when the window is unknown", () => {
    const ratio = { ...settings, compactAfterTokensMode: "ratio", compactAfterTokensRatio: 0.5 } as const;
    givenWindow(4000, ratio)
      .when(turn(1999))
      .then({ compaction: "idle" })
      .when(turn(1))
      .then({ compaction: "due" });
    givenWindow(4000, ratio, turn(1500))
      .when(event({ type: "model.selected", contextWindow: 3000 }))
      .then({ compaction: "due" });
    given(ratio).when(turn(1000)).then({ compaction: "due" });
  });

  it("waits for an observer that is about to observe more than could be kept verbatim", () => {
    given({ ...observing, compactionGapMaxTokens: 500 }, turn(2000))
      .when(settle)
      .then({ observer: "running", commands: [] })
      .when(runEnds("recorded"))
      .then({ commands: [asksToCompact(), tells("observer-1")] });
  });

  it("waits for it too when an earlier cut took what it has not read: the run can still bring that back", () => {
    given({ ...observing, compactionGapMaxTokens: 2000 }, turn(2000), say(500), compact("e2"))
      .when(turn(700))
      .then({ observer: "running", compaction: "due" })
      .when(settle)
      .then({ commands: [] })
      .when(runEnds("recorded"))
      .then({ commands: [asksToCompact(), tells("observer-1")] });
  });

  it("does not wait for an observer while a cut could keep all that it is about to read", () => {
    given({ ...observing, compactionGapMaxTokens: 1000 }, turn(1000))
      .when(settle)
      .then({ observer: "running", commands: [asksToCompact()] });
  });

  it.each([
    ["waits for an idle observer that left off in", "recorded", 699, []],
    ["can keep", "recorded", 700, [asksToCompact()]],
    ["waits for no failed observer that left off in", "failed", 699, [asksToCompact()]],
  ] as const)("%s a tool batch (%s, gap %i)", (_rule, outcome, compactionGapMaxTokens, commands) => {
    const failed = outcome === "failed";
    const started = append(
      fact.user("user", 500),
      { ...fact.user("call", 300), kind: "assistant" },
      { ...fact.user("first", 300), kind: "toolResult" },
    );
    const goesOn = append({ ...fact.user("second", failed ? 1000 : 100), kind: "toolResult" });
    given({ ...observing, compactAfterTokens: 1200, compactionGapMaxTokens })
      .when(started, turn(), runEnds("recorded", { watermark: "first" }), goesOn, turn())
      .then({})
      .when(...(failed ? [runEnds("failed")] : []))
      .then({ observer: failed ? "backingOff" : "idle" })
      .when(settle)
      .then({ commands });
  });

  it("leaves it to Pi while there is nothing to fold, and is due once there is", () => {
    givenNothing(settings)
      .when(times(5, turn(1000), settle))
      .then({ compaction: "idle", commands: [] })
      .when(remember)
      .then({ compaction: "due", commands: [] })
      .when(settle)
      .then({ commands: [asksToCompact("compaction-1")] });
  });

  it("remembers a failure of somebody's attempt though there was nothing to fold", () => {
    for (const before of [[], [compact("e1")]]) {
      givenNothing(settings, turn(1000), ...before, turn(1000))
        .when(compactionFails, remember, settle)
        .then({ commands: [] })
        .when(turn(1), settle)
        .then({ commands: [asksToCompact()] });
    }
  });

  it("has nothing to fold any more when all that was remembered is dropped or left behind", () => {
    const dropped = fact.dropped("d", "m", "0123456789ab");
    for (const forget of [append(dropped), moveTo(fact.user("e1", 1000))]) {
      given(settings, turn(1000)).when(forget, settle).then({ compaction: "idle", commands: [] });
    }
    given(settings, turn(1000), append(dropped))
      .when(append(fact.reflected("r", "m", "abcdef012345:5")))
      .then({ compaction: "due" });
  });

  it("asks for nothing after a compaction or a failure either, with nothing to fold", () => {
    givenNothing(settings, turn(1000), compact("e1"))
      .when(times(3, turn(1000), settle))
      .then({ compaction: "coolingDown", commands: [] })
      .when(remember)
      .then({ compaction: "due" });
    given(settings, turn(1000), settle, compactionFails)
      .when(moveTo(fact.user("e1", 3000)), settle)
      .then({ compaction: "idle", commands: [] });
  });
});
