import { describe, it } from "vitest";
import { DEFAULT_SETTINGS } from "../../../src/reducers/settings.ts";
import {
  aborts,
  close,
  event,
  given,
  type Happening,
  runEnds,
  starts,
  tells,
  times,
  turn,
  wait,
  warns,
} from "../../support/engine/given.ts";

const settings = {
  observeAfterTokens: 1000,
  reflectAfterTokens: 2000,
  compactAfterTokens: 1_000_000,
  observationsPoolTargetTokens: 150,
};

/** An observer run that records one observation of so many tokens. */
const observed = (tokens = 100): Happening => times(1, turn(1000), runEnds("recorded", { tokens }));

/** Two of them, after which the reflect clock is at its threshold. */
const observedTwice = (tokens = 100) => times(2, observed(tokens));

describe("reflect/drop lane", () => {
  it("waits for the observer to be neither due nor running", () => {
    given(settings, observed())
      .when(turn(1000))
      .then({ observer: "running", reflectDrop: "due", inFlight: ["observer"] });
  });

  it("starts as soon as the observer that held it back has finished", () => {
    given(settings, observed(), turn(1000))
      .when(runEnds("recorded"))
      .then({
        reflectDrop: "running.reflecting",
        commands: [tells("observer-2"), starts("reflector", { runId: "reflectDrop-1" })],
        inFlight: ["reflector"],
      });
  });

  it("does not run at the next opening because of a turn that ended before it", () => {
    given(settings, observed())
      .when(turn(1000))
      .then({ contexts: { reflectDrop: { waits: 1 } } })
      .when(close)
      .then({ reflectDrop: "idle", contexts: { reflectDrop: { waits: 0 } } });
  });

  it("starts no dropper for a reflector that records after its session was closed", () => {
    given(settings, observedTwice())
      .when(close)
      .then({ commands: [aborts("reflectDrop-1")] })
      .when(runEnds("recorded"))
      .then({ reflectDrop: "idle", commands: [] });
  });

  it("aborts what is in flight when another session is opened", () => {
    const opening = {
      type: "session.opened",
      reason: "new",
      sessionId: "another",
      settings: { ...DEFAULT_SETTINGS, ...settings },
      branch: [],
    } as const;
    given(settings, observedTwice())
      .when(event({ ...opening, branch: [] }))
      .then({ reflectDrop: "idle", commands: [aborts("reflectDrop-1")] });
  });

  it("is not due while no observation is newer than the last reflection", () => {
    given({ ...settings, observeAfterTokens: 1_000_000 })
      .when(turn(10_000))
      .then({ reflectDrop: "idle" });
  });

  it("lets three turns pass for an observer that never catches up, and runs beside it with the fourth", () => {
    given(settings, observed(), turn(1000))
      .when(turn(1000), turn(1000))
      .then({ reflectDrop: "due", contexts: { reflectDrop: { waits: 3 } } })
      .when(turn(1000))
      .then({ observer: "running", reflectDrop: "running.reflecting" });
  });

  it.each(["failed", "empty"] as const)("is not held back by an observer whose run %s", (outcome) => {
    given(settings, observed(), turn(1000), runEnds(outcome))
      .when(turn())
      .then({ reflectDrop: "running.reflecting" });
  });

  it("drops after a reflector that recorded, while the pool is over target", () => {
    given(settings, observedTwice())
      .when(runEnds("recorded", { watermark: "e4" }))
      .then({
        reflectDrop: "running.dropping",
        commands: [tells("reflectDrop-1"), starts("dropper", { runId: "reflectDrop-2" })],
        inFlight: ["dropper"],
      })
      .when(runEnds("empty"))
      .then({ reflectDrop: "idle" });
  });

  it("warns once of a dropper that fails after every reflection, until it has succeeded", () => {
    const nextRound = times(1, wait(600_000), observedTwice(), runEnds("recorded"));
    given(settings, observedTwice(), runEnds("recorded"))
      .when(runEnds("failed"))
      .then({ commands: [warns("reflectDrop-2")] })
      .when(nextRound)
      .then({ reflectDrop: "running.dropping" })
      .when(runEnds("failed"))
      .then({ commands: [] })
      .when(nextRound, runEnds("failed"))
      .then({ contexts: { reflectDrop: { failures: 3 } } })
      .when(nextRound, runEnds("recorded"), nextRound)
      .then({ contexts: { reflectDrop: { failures: 0 } } })
      .when(runEnds("failed"))
      .then({ commands: [warns("reflectDrop-10")] })
      .when(nextRound, runEnds("empty"), nextRound)
      .then({ contexts: { reflectDrop: { failures: 0 } } })
      .when(runEnds("failed"))
      .then({ commands: [warns("reflectDrop-14")] });
  });

  it("does not drop while the pool is within its target", () => {
    given(settings, observedTwice(10)).when(runEnds("recorded")).then({ reflectDrop: "idle", inFlight: [] });
  });

  it("asks a reflector with nothing to say again only after a further threshold", () => {
    given(settings, observedTwice())
      .when(runEnds("empty"))
      .then({ reflectDrop: "coolingDown" })
      .when(times(9, turn(100)))
      .then({ commands: [] })
      .when(turn(100), runEnds("empty"), times(6, turn(100)))
      .then({ commands: [starts("observer")], inFlight: [] });
  });
});
