import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createStepHistory } from "../../../src/host/pi/recording/step-history.ts";
import type { Step } from "../../../src/machines/engine.ts";
import { evolve } from "../../../src/reducers/engine/engine-state.ts";
import { schedule } from "../../support/engine/schedule.ts";
import { fact } from "../../support/sessions/builders.ts";

const branch = (length: number) => Array.from({ length }, (_, index) => fact.user(`e${index + 1}`, 10));

/** What a history of these limits holds after each step of a session that talks, and moves in its tree. */
function histories(moves: readonly number[], limits: { mostSteps?: number; mostEntries?: number }) {
  const s = schedule({});
  const history = createStepHistory(limits);
  return moves.map((move) => {
    const before = s.steps.length;
    if (move === 0) s.say(10);
    else s.tell({ type: "branch.replaced", branch: branch(move) });
    for (const step of s.steps.slice(before)) history.add(step);
    return [...history.steps];
  });
}

const entriesIn = ({ event }: Step) =>
  "branch" in event ? event.branch.length : event.type === "branch.extended" ? event.entries.length : 0;

describe("the history of a session's steps", () => {
  const moves = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 })), { maxLength: 40 });

  it("holds the newest steps, which lead from the first one's state to the last one's", () => {
    fc.assert(
      fc.property(moves, (all) => {
        for (const steps of histories(all, { mostSteps: 8, mostEntries: 100 })) {
          const [first, ...later] = steps;
          const last = steps.at(-1);
          if (!first || !last) expect.unreachable();
          expect(steps.length).toBeLessThanOrEqual(8);
          for (const [index, { event }] of later.entries())
            expect(event.seq).toBe(first.event.seq + index + 1);
          const state = later.reduce((reached, { event }) => evolve(reached, event), first.state);
          expect(state.session.branch.length).toBe(last.state.session.branch.length);
          expect(state.session.ledger).toEqual(last.state.session.ledger);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("holds no more entries than its limit, but for those of the newest branch and what came to it", () => {
    fc.assert(
      fc.property(moves, (all) => {
        for (const steps of histories(all, { mostEntries: 100 })) {
          const newest = steps.findLastIndex(({ event }) => "branch" in event);
          const entries = steps.slice(0, newest + 1).reduce((sum, step) => sum + entriesIn(step), 0);
          if (newest > 0) expect(entries).toBeLessThanOrEqual(100);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("forgets nothing below its limits", () => {
    const steps = histories([30, 0, 30, 0, 40, 0], { mostEntries: 200 });
    expect(steps.at(-1)?.length).toBe(steps.length);
    expect(histories([90, 0, 90, 0], { mostEntries: 181 }).map(({ length }) => length)).toEqual([1, 2, 3, 4]);
    expect(histories([90, 0, 90, 0], { mostEntries: 180 }).map(({ length }) => length)).toEqual([1, 2, 1, 2]);
  });
});
