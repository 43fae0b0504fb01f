import { initialWorkContext, onTurn, workLane, workStates } from "./work-lane.ts";

const onFailure = [
  {
    guard: "isFirstFailure",
    target: "#reflectDrop.backingOff",
    actions: ["rememberFailure", "tellFailed"],
  },
  { guard: "failed", target: "#reflectDrop.backingOff", actions: "rememberFailure" },
] as const;

const recorded = {
  guard: "recorded",
  target: "#reflectDrop.idle",
  actions: ["rememberSuccess", "tellRecorded"],
} as const;

/**
 * Distils observations into reflections, then prunes what they preserve. The dropper has no clock of its own:
 * it follows a reflector that recorded something, while the pool is over its target.
 */
export const reflectDropLane = workLane.createMachine({
  id: "reflectDrop",
  context: () => initialWorkContext("reflectDrop"),
  initial: "idle",
  states: {
    ...workStates({ guard: "isWithinBudget", target: "running" }),
    due: {
      description:
        "Waiting for a turn to end or the agent to start, and, three times at most, for the observer to be neither due nor running.",
      exit: "forgetTrigger",
      on: {
        "input.changed": [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
          { guard: "isOverBudget", target: "overBudget" },
          { guard: "wasTriggeredAndIsFree", target: "running" },
        ],
        ...onTurn([
          { guard: "isOverBudget", target: "overBudget" },
          { guard: "isHeldBack", actions: "rememberTrigger" },
          { target: "running" },
        ] as const),
        "run.demanded": { guard: "isWithinBudget", target: "running" },
        // Opening the session again starts nothing.
        "session.closed": "idle",
      },
    },
    running: {
      description: "One run is in flight: the reflector's, then perhaps the dropper's.",
      initial: "reflecting",
      on: { "session.closed": { target: "idle", actions: "abortRun" } },
      states: {
        reflecting: {
          entry: ["nameRun", { type: "startRun", params: { worker: "reflector" } }],
          on: {
            "run.finished": [
              // No success yet: a dropper that fails every time must not warn every time.
              { guard: "recordedAndPoolOverTarget", target: "dropping", actions: "tellRecorded" },
              recorded,
              { guard: "foundNothing", target: "#reflectDrop.coolingDown", actions: "rememberEmptyRange" },
              ...onFailure,
              { guard: "isVoid", target: "#reflectDrop.idle" },
            ],
          },
        },
        dropping: {
          entry: ["nameRun", { type: "startRun", params: { worker: "dropper" } }],
          on: {
            "run.finished": [
              recorded,
              { guard: "foundNothing", target: "#reflectDrop.idle", actions: "rememberSuccess" },
              ...onFailure,
              { guard: "isVoid", target: "#reflectDrop.idle" },
            ],
          },
        },
      },
      exit: "endRun",
    },
  },
});
