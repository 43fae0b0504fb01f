import { initialWorkContext, workLane } from "./work-lane.ts";

/** Reads source entries that no observation covers yet. States and rules: DESIGN 6. */
export const observerLane = workLane.createMachine({
  id: "observer",
  context: () => initialWorkContext("observer"),
  initial: "idle",
  states: {
    passive: {
      description: "Proactive work is off.",
      on: {
        reading: { guard: "isActive", target: "idle" },
        demand: { guard: "hasWork", target: "running" },
      },
    },
    idle: {
      description: "The clock is below its threshold.",
      on: {
        reading: [
          { guard: "isPassive", target: "passive" },
          // The branch was left while the lane backed off, and is back.
          { guard: "isDueTooEarly", target: "backingOff" },
          { guard: "isDue", target: "due" },
        ],
        demand: { guard: "hasWork", target: "running" },
      },
    },
    due: {
      description: "The clock is at its threshold; a trigger starts the run.",
      on: {
        reading: [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
        ],
        trigger: "running",
        demand: "running",
      },
    },
    running: {
      description: "One run is in flight.",
      entry: ["nameRun", { type: "startRun", params: { worker: "observer" } }],
      exit: "endRun",
      on: {
        closing: { target: "idle", actions: "abortRun" },
        result: [
          { guard: "recorded", target: "idle", actions: ["rememberSuccess", "tellRecorded"] },
          { guard: "foundNothing", target: "coolingDown", actions: "rememberEmptyRange" },
          { guard: "isFirstFailure", target: "backingOff", actions: ["rememberFailure", "tellFailed"] },
          { guard: "failed", target: "backingOff", actions: "rememberFailure" },
          { guard: "isVoid", target: "idle" },
        ],
      },
    },
    coolingDown: {
      description: "An empty result stands for this range.",
      on: {
        reading: [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
          { guard: "hasCooledDown", target: "due" },
          { guard: "hasShrunk", actions: "countFromHere" },
        ],
        demand: { guard: "hasWork", target: "running" },
      },
    },
    backingOff: {
      description: "The last run failed.",
      on: {
        reading: [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
        ],
        trigger: { guard: "mayRetry", target: "due", actions: "passTriggerOn" },
        demand: { guard: "hasWork", target: "running" },
      },
    },
  },
});
