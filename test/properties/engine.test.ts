import { readFileSync, rmSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Step } from "../../src/machines/engine.ts";
import { createEngine, type Engine } from "../../src/machines/engine.ts";
import type { RecordingLine } from "../../src/machines/recording/recording.ts";
import { parseRecordingLine } from "../../src/machines/recording/recording-line.ts";
import { replay } from "../../src/machines/recording/replay.ts";
import { coldFigures, isWorthCompacting } from "../../src/reducers/engine/cold-cache.ts";
import {
  type Act,
  type ActedSession,
  actedSession,
  anyAct,
  SETTINGS,
} from "../support/engine/engine-acts.ts";
import { engineRules } from "../support/engine/engine-rules.ts";
import { plainClocks } from "../support/engine/plain-clocks.ts";
import { referenceLanes } from "../support/engine/reference-lanes.ts";
import { trySequences } from "../support/recordings/failing-recording.ts";

const OPEN: Act = { do: "open", isSame: true };

function coldPays({ state }: Step): boolean {
  const cold = coldFigures(state);
  return cold !== null && isWorthCompacting(cold);
}

/** An engine, the plain model beside it and the rules that hold for both; every step is compared and checked. */
function trial(taken: Step[]) {
  const session = actedSession();
  const engine = createEngine();
  const model = referenceLanes();
  const rules = engineRules();

  function act(...acts: Act[]): void {
    for (const event of acts.flatMap((one) => session.eventsOf(one))) {
      const made = engine.step(event);
      taken.push(made);
      const expected = model.take(event, coldPays(made));
      const actual = { lanes: made.snapshot.states, commands: made.commands };
      // Comparing text is cheap; the assertion only words the difference.
      if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual).toEqual(expected);
      rules.check(made);
      session.hear(made.commands);
    }
  }
  act(OPEN);
  return { session, engine, act };
}

describe("the engine, whatever happens to it", () => {
  it("does what a plain model of its rules does, and breaks none of them", { timeout: 180_000 }, () => {
    trySequences(
      "engine-rules",
      fc.array(anyAct, { maxLength: 20, size: "max" }),
      (acts, taken) => {
        const { engine, act } = trial(taken);
        for (const one of acts) act(one);
        engine.stop();
      },
      { numRuns: 10_000 },
    );
  });

  it("does so in long sessions too, and whatever is due is done once a model answers", {
    timeout: 180_000,
  }, () => {
    trySequences(
      "engine-liveness",
      fc.array(anyAct, { minLength: 30, maxLength: 120, size: "max" }),
      (acts, taken) => {
        const { session, engine, act } = trial(taken);
        for (const one of acts) act(one);
        act(
          OPEN,
          { do: "settings", passive: false, ratio: false, budget: undefined },
          { do: "turn" },
          { do: "settle" },
        );
        // What an empty result or a refused compaction stands for has an end.
        act(...[250, 250].map((tokens): Act => ({ do: "say", tokens, by: "user" })));
        const answer = () => {
          if (engine.snapshot.states.compaction === "requested")
            act({ do: "compaction", stage: "finished", share: 1 });
        };
        const done = { observing: false, reflecting: false, compacting: false };
        for (let round = 0; round < 12; round++) {
          act({ do: "say", tokens: 30, by: "user" }, { do: "wait", seconds: 600 }, { do: "turn" });
          while (session.inFlight.length > 0) {
            act({ do: "finish", outcome: "recorded", tokens: 10, share: 1 });
            answer();
          }
          act({ do: "settle" });
          answer();
          const { observe, reflect, observed, reflected, compact } = plainClocks(session.branch);
          done.observing ||= observe < SETTINGS.observeAfterTokens;
          done.reflecting ||= reflect < SETTINGS.reflectAfterTokens || observed === reflected;
          done.compacting ||= compact < SETTINGS.compactAfterTokens;
        }
        expect(done).toEqual({ observing: true, reflecting: true, compacting: true });
        engine.stop();
      },
      { numRuns: 300 },
    );
  });

  it("goes on from a keyframe as if nothing had happened, closed or open", { timeout: 60_000 }, () => {
    const half = fc.array(anyAct, { maxLength: 40, size: "max" });
    fc.assert(
      fc.property(half, half, (before, after) => {
        const session = actedSession();
        const first = createEngine();
        const live = [OPEN, ...before].flatMap((act) => take(session, act, first));
        const keyframe = JSON.parse(JSON.stringify(first.keyframe()));
        const isClosed = keyframe.machines.scheduler.value === "closed";
        const second = createEngine({ keyframe });
        const [reopened] = session.eventsOf(OPEN);
        if (!reopened || live.length === 0) throw new Error("expected an opening");
        if (isClosed) first.step(reopened);
        second.step({ ...reopened, ...factsOf(first) });
        expect(second.snapshot.states).toEqual(first.snapshot.states);
        for (const act of after) {
          for (const event of session.eventsOf(act)) {
            const made = second.step(event);
            expect(decided(made)).toEqual(decided(first.step(event)));
            session.hear(made.commands);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it("leaves a failing sequence as a short recording that replays to the same decisions", () => {
    const attempt = () =>
      trySequences(
        "engine-example",
        fc.array(anyAct, { maxLength: 40, size: "max" }),
        (acts, taken) => {
          const { act } = trial(taken);
          for (const one of acts) {
            act(one);
            if (taken.some(({ commands }) => commands.some(({ type }) => type === "startRun"))) {
              throw new Error("a run was started");
            }
          }
        },
        { numRuns: 1000, seed: 2 },
      );
    expect(attempt).toThrow(/a run was started[\s\S]+turn\.ended|agent\.started/);
    const [, file = ""] = /memory-lanes replay (.+)$/.exec(messageOf(attempt)) ?? [];
    const lines = readFileSync(file, "utf8").trimEnd().split("\n").map(parseRecordingLine);
    rmSync(file);
    // Opened, said enough, and a trigger, each with its decision.
    expect(lines.length).toBeLessThanOrEqual(7);
    expect(reportOf(lines)).toMatchObject({
      events: 3,
      missingEvents: 0,
      verification: { compared: 3, decisions: 2, unverified: 0 },
    });
  });
});

function take(session: ActedSession, act: Act, { step }: Engine): Step[] {
  return session.eventsOf(act).map((event) => {
    const made = step(event);
    session.hear(made.commands);
    return made;
  });
}

function decided({ snapshot: { states }, commands }: Step) {
  return { states, commands };
}

/** What an opening tells besides the branch and the settings; a session that was closed tells it anew. */
function factsOf({ state: { contextWindow, daySpent } }: Engine) {
  return { ...(contextWindow !== undefined && { contextWindow }), ...(daySpent && { daySpent }) };
}

function messageOf(attempt: () => void): string {
  try {
    attempt();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "";
}

function reportOf(lines: readonly RecordingLine[]) {
  const steps = replay(lines);
  for (;;) {
    const next = steps.next();
    if (next.done) return next.value;
  }
}
