import { describe, expect, it } from "vitest";
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import type { Command } from "../../../src/machines/commands.ts";
import { type CompactionContext, compactionLane } from "../../../src/machines/lanes/compaction-lane.ts";
import type { CompactionInput, WorkInput } from "../../../src/machines/lanes/inputs.ts";
import { pathOf } from "../../../src/machines/lanes/lanes.ts";
import { observerLane } from "../../../src/machines/lanes/observer-lane.ts";
import { reflectDropLane } from "../../../src/machines/lanes/reflect-drop-lane.ts";
import type { WorkContext } from "../../../src/machines/lanes/work-lane.ts";
import { schedulerMachine } from "../../../src/machines/scheduler.ts";
import { AGENT_BUSY, OUTCOMES } from "../../../src/reducers/engine/events.ts";
import { chartedIn, replayWay, type Walk, walk } from "../../support/engine/machine-paths.ts";
import { once } from "../../support/once.ts";

interface LaneEvent {
  type: string;
  input?: WorkInput | CompactionInput;
  result?: { runId: string; outcome: string; coversUpToId: string | null };
  lane?: string;
  failure?: { kind: string };
}

const MINUTES = 60_000;
const due: WorkInput = {
  at: 0,
  passive: false,
  clock: 10,
  threshold: 10,
  watermark: -1,
  hasWork: true,
  heldBack: false,
  poolOverTarget: false,
  overBudget: false,
};
const workInputs: readonly WorkInput[] = [
  due,
  { ...due, clock: 0 },
  { ...due, hasWork: false },
  { ...due, passive: true },
  { ...due, heldBack: true },
  { ...due, poolOverTarget: true },
  { ...due, overBudget: true },
  { ...due, clock: 15 },
  { ...due, clock: 20 },
  { ...due, watermark: 5 },
  { ...due, at: 10 * MINUTES },
];

const cut: CompactionInput = {
  at: 0,
  passive: false,
  clock: 10,
  threshold: 10,
  sinceCompaction: 10,
  total: 10,
  agentIdle: true,
  hasMemory: true,
  observerBehind: false,
  coldPays: false,
};
const compactionInputs: readonly CompactionInput[] = [
  cut,
  { ...cut, clock: 0 },
  { ...cut, passive: true },
  { ...cut, sinceCompaction: 0 },
  { ...cut, total: 11 },
  { ...cut, total: 30 },
  { ...cut, agentIdle: false },
  { ...cut, observerBehind: true },
  { ...cut, hasMemory: false },
  { ...cut, coldPays: true },
  { ...cut, clock: 0, coldPays: true },
  { ...cut, sinceCompaction: 0, coldPays: true },
];

function workEvents({ context }: AnyMachineSnapshot): LaneEvent[] {
  const { runId, lane } = context as WorkContext;
  return workInputs.flatMap((input) => [
    ...["input.changed", "turn.ended", "agent.started", "run.demanded", "session.closed"].map((type) => ({
      type,
      input,
    })),
    ...OUTCOMES.map((outcome) => ({
      type: "run.finished",
      input,
      result: { runId: runId ?? `${lane}-none`, outcome, coversUpToId: "e1" },
    })),
    { type: "run.finished", input, result: { runId: "another", outcome: "recorded", coversUpToId: "e1" } },
  ]);
}

const COMPACTION_EVENTS = [
  "input.changed",
  "agent.settled",
  "agent.started",
  "session.closed",
  "compaction.started",
  "compaction.finished",
  "compaction.failed",
  "compaction.postponed",
];

const workEssence = (context: unknown) => {
  const { runs: _, runId, failures, retryAt, ...rest } = context as WorkContext;
  return { ...rest, isRunning: runId !== null, failures: Math.min(failures, 2), retries: retryAt > 0 };
};

const WALKS: Readonly<Record<string, Walk<LaneEvent>>> = {
  observer: { machine: observerLane, eventsIn: workEvents, essence: workEssence },
  "reflect/drop": { machine: reflectDropLane, eventsIn: workEvents, essence: workEssence },
  compaction: {
    machine: compactionLane,
    eventsIn: () => compactionInputs.flatMap((input) => COMPACTION_EVENTS.map((type) => ({ type, input }))),
    essence: (context) => {
      const { requests: _, runId, failures, ...rest } = context as CompactionContext;
      return { ...rest, isOurs: runId !== null, failures: Math.min(failures, 2) };
    },
  },
  scheduler: {
    machine: schedulerMachine as unknown as AnyStateMachine,
    eventsIn: () => [
      ...schedulerMachine.events.map((type) => ({ type, lane: "observer", failure: { kind: "failed" } })),
      { type: "compaction.failed", failure: { kind: AGENT_BUSY } },
    ],
    essence: () => null,
  },
};

describe.each(Object.entries(WALKS))("the %s machine", (name, plan) => {
  const { machine } = plan;
  const charted = chartedIn(machine);
  const reached = once(() => walk(plan));

  it("is walked through every state, by every transition and each of its alternatives", () => {
    expect([...reached().states].sort()).toEqual([...charted.states].sort());
    expect([...reached().transitions].sort()).toEqual([...charted.transitions].sort());
  });

  it("is seen to stay where it is, wherever its guards allow that", () => {
    expect([...reached().refusals].sort()).toEqual([...charted.refusals].sort());
  });

  it("comes to the same state when the events of a way are sent to an actor", () => {
    for (const way of reached().ways) expect(replayWay(machine, way).value).toEqual(way.end.value);
  });

  if (name === "scheduler") return;

  it("begins nothing over budget, whoever asks for it", () => {
    for (const way of reached().ways) {
      for (const { event, emitted } of replayWay(machine, way).steps) {
        if (emitted.some(({ type }) => type === "startRun"))
          expect(event.input).toMatchObject({ overBudget: false });
      }
    }
  });

  it("asks for no compaction with nothing to fold, unless it is known to be due", () => {
    for (const way of reached().ways) {
      let wasDue = false;
      for (const { event, emitted, state } of replayWay(machine, way).steps) {
        const asks = emitted.some(({ type }) => type === "requestCompaction");
        if (asks && event.type === "input.changed") expect(event.input).toMatchObject({ hasMemory: true });
        else if (asks) expect(wasDue).toBe(true);
        wasDue = state === "due";
      }
    }
  });

  it("has work in progress from its command to its end, and never twice at once", () => {
    for (const way of reached().ways) {
      let inProgress: string | undefined;
      for (const { event, emitted, state } of replayWay(machine, way).steps) {
        if (event.result?.runId === inProgress) inProgress = undefined;
        if (name === "compaction" && state !== "requested") inProgress = undefined;
        for (const command of emitted as Command[]) {
          if (command.type === "abortRun") {
            expect(command.runId).toBe(inProgress);
            inProgress = undefined;
          }
          if (command.type !== "startRun" && command.type !== "requestCompaction") continue;
          expect(inProgress).toBeUndefined();
          inProgress = command.runId;
        }
        expect(inProgress !== undefined).toBe(/^(running|requested)/.test(state));
      }
    }
  });

  it("names a run of its own while it has one, and only then", () => {
    for (const { end } of reached().ways) {
      const isOurs = (end.context as WorkContext | CompactionContext).runId !== null;
      if (name === "compaction" && end.value === "compacting") continue;
      expect(isOurs).toBe(/^(running|requested)/.test(pathOf(end.value)));
    }
  });

  it("starts nothing by itself while it is passive or below its threshold", () => {
    for (const way of reached().ways) {
      for (const { event, emitted } of replayWay(machine, way).steps) {
        const starts = emitted.some(({ type }) => type === "startRun" || type === "requestCompaction");
        if (!starts || event.type === "run.demanded" || event.type === "run.finished") continue;
        const { input } = event;
        const isTrigger = ["turn.ended", "agent.started", "agent.settled"].includes(event.type);
        expect(input?.passive === false || isTrigger).toBe(true);
        if (!isTrigger && !(input && "coldPays" in input && input.coldPays))
          expect(input?.clock).toBeGreaterThanOrEqual(input?.threshold ?? 0);
      }
    }
  });
});
