import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createActor, createMachine } from "xstate";
import { createEngine } from "../../../src/machines/engine.ts";
import { compactionLane } from "../../../src/machines/lanes/compaction-lane.ts";
import { isOpenTo, openingsOf, pathOf } from "../../../src/machines/lanes/gate.ts";
import { observerLane } from "../../../src/machines/lanes/observer-lane.ts";
import { reflectDropLane } from "../../../src/machines/lanes/reflect-drop-lane.ts";
import type { EngineEvent } from "../../../src/reducers/engine/events.ts";
import { OUTCOMES } from "../../../src/reducers/engine/run-result.ts";
import { largeRecording } from "../../support/large-recording.ts";

const tokens = fc.integer({ min: 0, max: 40 });
const workReading = fc.record({
  at: fc.integer({ min: 0, max: 100_000 }),
  passive: fc.boolean(),
  clock: tokens,
  threshold: fc.constant(20),
  coverage: fc.integer({ min: -1, max: 3 }),
  hasWork: fc.boolean(),
  heldBack: fc.boolean(),
  poolOverTarget: fc.boolean(),
});
const compactionReading = fc.record({
  at: fc.constant(0),
  passive: fc.boolean(),
  clock: tokens,
  threshold: fc.constant(20),
  sinceCompaction: tokens,
  total: tokens,
  agentIdle: fc.boolean(),
  observerBehind: fc.boolean(),
});
const workEvent = (lane: string) =>
  fc.record({
    type: fc.constantFrom("reading", "trigger", "demand", "result", "closing"),
    reading: workReading,
    result: fc.record({
      runId: fc.constantFrom(`${lane}-1`, `${lane}-2`, `${lane}-3`, "another"),
      outcome: fc.constantFrom(...OUTCOMES),
      coversUpToId: fc.constant("e1"),
    }),
  });
const compactionEvent = fc.record({
  type: fc.constantFrom(
    "reading",
    "trigger",
    "boundary",
    "compactionStarted",
    "compactionFinished",
    "compactionFailed",
  ),
  reading: compactionReading,
});

describe("the gate", () => {
  it.each([
    ["observer", observerLane, workEvent("observer")],
    ["reflectDrop", reflectDropLane, workEvent("reflectDrop")],
    ["compaction", compactionLane, compactionEvent],
  ] as const)("says of the %s lane what XState says, in every state", (_name, machine, anyEvent) => {
    const openings = openingsOf(machine);
    fc.assert(
      fc.property(fc.array(anyEvent as fc.Arbitrary<{ type: string }>, { maxLength: 40 }), (events) => {
        const actor = createActor(machine).start();
        for (const event of events) {
          const snapshot = actor.getSnapshot();
          const open = isOpenTo(openings.get(pathOf(snapshot.value)), snapshot.context, event);
          expect(open).toBe(snapshot.can(event as never));
          actor.send(event as never);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("is not made for a chart with a guard that has no name", () => {
    const chart = createMachine({ id: "odd", on: { reading: { guard: () => true, actions: "any" } } });
    expect(() => openingsOf(chart)).toThrow("odd has a guard without a name of its own");
  });

  it("changes nothing that the engine decides", () => {
    const lines = [...largeRecording({ events: 3000, tokensPerEntry: 600 })];
    const events = lines.filter((line): line is EngineEvent => "seq" in line && line.type !== "decision");
    // An inspected engine sends every event to its actors.
    expect(decisions(events, {})).toEqual(decisions(events, { inspect: () => {} }));
  });
});

function decisions(events: readonly EngineEvent[], options: Parameters<typeof createEngine>[0]) {
  const engine = createEngine(options);
  return events.map((event) => {
    const { transitions, commands, snapshot } = engine.step(event);
    return { transitions, commands, snapshot };
  });
}
