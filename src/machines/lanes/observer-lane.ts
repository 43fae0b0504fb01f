import { initialWorkContext, onTurn, workLane, workStates } from "./work-lane.ts";

/** Reads source entries that no observation covers yet. */
export const observerLane = workLane.createMachine({
  id: "observer",
  context: () => initialWorkContext("observer"),
  initial: "idle",
  states: {
    ...workStates({ guard: "hasAffordableWork", target: "running" }),
    due: {
      description: "The clock is at its threshold; the next turn's end or start of the agent starts the run.",
      on: {
        "input.changed": [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
          { guard: "isOverBudget", target: "overBudget" },
        ],
        ...onTurn([{ guard: "isOverBudget", target: "overBudget" }, { target: "running" }] as const),
        "run.demanded": { guard: "isWithinBudget", target: "running" },
      },
    },
    running: {
      description: "One run is in flight.",
      entry: ["nameRun", { type: "startRun", params: { worker: "observer" } }],
      exit: "endRun",
      on: {
        "session.closed": { target: "idle", actions: "abortRun" },
        "run.finished": [
          {
            guard: "recordedAndStillDue",
            target: "running",
            reenter: true,
            actions: ["rememberSuccess", "tellRecorded"],
          },
          { guard: "recorded", target: "idle", actions: ["rememberSuccess", "tellRecorded"] },
          { guard: "foundNothing", target: "coolingDown", actions: "rememberEmptyRange" },
          { guard: "isFirstFailure", target: "backingOff", actions: ["rememberFailure", "tellFailed"] },
          { guard: "failed", target: "backingOff", actions: "rememberFailure" },
          { guard: "isVoid", target: "idle" },
        ],
      },
    },
  },
});
