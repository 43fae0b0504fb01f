import { describe, it } from "vitest";
import {
  aborts,
  agentStarts,
  close,
  demand,
  event,
  given,
  moveTo,
  runEnds,
  say,
  starts,
  tells,
  times,
  turn,
  wait,
  warns,
} from "../../support/engine/given.ts";
import { fact, finished } from "../../support/sessions/builders.ts";

const settings = { observeAfterTokens: 1000, reflectAfterTokens: 1_000_000, compactAfterTokens: 1_000_000 };
const HOUR = 3_600_000;

describe("observer lane", () => {
  it("is idle below its threshold, due at it, and runs when the agent starts or a turn ends", () => {
    given(settings)
      .when(turn(999))
      .then({ observer: "idle", commands: [] })
      .when(say(1))
      .then({ observer: "due", commands: [] })
      .when(agentStarts)
      .then({
        observer: "running",
        commands: [starts("observer", { runId: "observer-1", failures: 0, emptyUpToId: null })],
      });
    given(settings)
      .when(turn(1000))
      .then({ observer: "running", commands: [starts("observer")] });
  });

  it("has one run at a time, however many turns end", () => {
    given(settings, turn(1000))
      .when(times(5, turn(5000)))
      .then({ commands: [], inFlight: ["observer"] });
  });

  it("catches up: after a recorded run it reads on at once while what is left is due", () => {
    given(settings, turn(1000), turn(1500), turn(1500))
      .when(runEnds("recorded", { watermark: "e1" }))
      .then({
        observer: "running",
        commands: [tells("observer-1"), starts("observer", { runId: "observer-2" })],
      })
      .when(runEnds("recorded", { watermark: "e2" }))
      .then({ observer: "running" })
      .when(runEnds("recorded", { watermark: "e3" }))
      .then({ observer: "idle" });
  });

  it("lets an empty result stand for a further full threshold of tokens", () => {
    given(settings, turn(1000))
      .when(runEnds("empty"))
      .then({ observer: "coolingDown" })
      .when(turn(999))
      .then({ commands: [] })
      .when(turn(1))
      .then({ commands: [starts("observer", { emptyUpToId: "e1" })] });
  });

  it("lets it stand no longer than the watermark stays where it was", () => {
    given(settings, turn(1000), runEnds("recorded"), turn(1000))
      .when(runEnds("empty"))
      .then({ observer: "coolingDown" })
      .when(moveTo(fact.user("e1", 1500)))
      .then({ observer: "due" });
  });

  it("waits no more than a threshold on a branch with less to observe", () => {
    const leave = moveTo(fact.user("e1", 1100));
    const empty = runEnds("empty", { watermark: "e1" });
    given(settings, turn(1100), turn(4000), empty, turn(2000), empty)
      .when(leave)
      .then({ observer: "coolingDown" })
      .when(turn(999))
      .then({ commands: [] })
      .when(turn(1))
      .then({ commands: [starts("observer")] })
      .when(leave, empty, turn(999))
      .then({ commands: [] })
      .when(turn(1))
      .then({ commands: [starts("observer")] });
  });

  it("backs off after a failure: 30 s, doubling, and warns once", () => {
    given(settings, turn(1000))
      .when(runEnds("failed"))
      .then({ observer: "backingOff", commands: [warns("observer-1")] })
      .when(wait(29_999), turn())
      .then({ commands: [] })
      .when(wait(1), turn())
      .then({ commands: [starts("observer", { failures: 1 })] })
      .when(runEnds("failed"), wait(59_999), turn())
      .then({ commands: [] })
      .when(wait(1), turn())
      .then({ commands: [starts("observer", { failures: 2 })] })
      .when(runEnds("recorded"), turn(1000))
      .then({ commands: [tells("observer-3"), starts("observer", { failures: 0 })] });
  });

  it("keeps its delay when the branch goes below the threshold and comes back", () => {
    given(settings, say(400), turn(600), runEnds("failed"))
      .when(moveTo(fact.user("e1", 400)))
      .then({ observer: "idle" })
      .when(wait(29_999), turn(600))
      .then({ observer: "backingOff", commands: [] })
      .when(wait(1), turn())
      .then({ commands: [starts("observer", { failures: 1 })] });
  });

  it("does not wait longer than its delay when the computer's clock was set back", () => {
    given(settings, turn(1000), runEnds("failed"))
      .when(wait(-HOUR), turn())
      .then({ commands: [starts("observer", { failures: 1 })] });
  });

  it.each(["stale", "aborted"] as const)("goes on, silently, when a run is %s", (outcome) => {
    given(settings, turn(1000)).when(runEnds(outcome)).then({ observer: "due", commands: [] });
  });

  it("does nothing in passive mode, but runs when asked to", () => {
    given({ ...settings, passive: true })
      .when(turn(5000))
      .then({ observer: "passive", commands: [] })
      .when(demand("observer"))
      .then({ observer: "running", inFlight: ["observer"] })
      .when(runEnds("recorded"))
      .then({ observer: "passive" });
  });

  it("aborts its run when the session closes, and starts nothing after that", () => {
    given(settings, turn(1000))
      .when(close)
      .then({ observer: "idle", commands: [aborts("observer-1")] })
      .when(runEnds("recorded"), turn(5000))
      .then({ observer: "idle", commands: [] });
  });

  it("is deaf to a result that is not its own run's", () => {
    given(settings, turn(1000))
      .when(event(finished("observer-7", "observer", "empty", "e1")))
      .then({ observer: "running", commands: [] });
  });
});
