import { initialWorkContext, workLane } from "./work-lane.ts";

/**
 * Distils observations into reflections, then prunes what they preserve. The dropper has no clock of its own:
 * it follows a reflector that recorded something, while the pool is over its target. States and rules: DESIGN 6.
 */
export const reflectDropLane = workLane.createMachine({
  id: "reflectDrop",
  context: () => initialWorkContext("reflectDrop"),
  initial: "idle",
  states: {
    passive: {
      description: "Proactive work is off.",
      on: {
        reading: { guard: "isActive", target: "idle" },
        demand: "running",
      },
    },
    idle: {
      description: "The clock is below its threshold, or no observation is newer than the last reflection.",
      on: {
        reading: [
          { guard: "isPassive", target: "passive" },
          // The branch was left while the lane backed off, and is back.
          { guard: "isDueTooEarly", target: "backingOff" },
          { guard: "isDue", target: "due" },
        ],
        demand: "running",
      },
    },
    due: {
      description: "Waiting for a trigger, and for the observer to be neither due nor running.",
      exit: "forgetTrigger",
      on: {
        reading: [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
          { guard: "wasTriggeredAndIsFree", target: "running" },
        ],
        trigger: [{ guard: "isHeldBack", actions: "rememberTrigger" }, { target: "running" }],
        demand: "running",
        // The next opening is no trigger.
        closing: "idle",
      },
    },
    running: {
      description: "One run is in flight: the reflector's, then perhaps the dropper's.",
      initial: "reflecting",
      on: { closing: { target: "idle", actions: "abortRun" } },
      states: {
        reflecting: {
          entry: ["nameRun", { type: "startRun", params: { worker: "reflector" } }],
          on: {
            result: [
              // No success yet: a dropper that fails every time must not warn every time.
              { guard: "recordedAndPoolOverTarget", target: "dropping", actions: "tellRecorded" },
              {
                guard: "recorded",
                target: "#reflectDrop.idle",
                actions: ["rememberSuccess", "tellRecorded"],
              },
              { guard: "foundNothing", target: "#reflectDrop.coolingDown", actions: "rememberEmptyRange" },
              {
                guard: "isFirstFailure",
                target: "#reflectDrop.backingOff",
                actions: ["rememberFailure", "tellFailed"],
              },
              { guard: "failed", target: "#reflectDrop.backingOff", actions: "rememberFailure" },
              { guard: "isVoid", target: "#reflectDrop.idle" },
            ],
          },
        },
        dropping: {
          entry: ["nameRun", { type: "startRun", params: { worker: "dropper" } }],
          on: {
            result: [
              {
                guard: "recorded",
                target: "#reflectDrop.idle",
                actions: ["rememberSuccess", "tellRecorded"],
              },
              { guard: "foundNothing", target: "#reflectDrop.idle", actions: "rememberSuccess" },
              {
                guard: "isFirstFailure",
                target: "#reflectDrop.backingOff",
                actions: ["rememberFailure", "tellFailed"],
              },
              { guard: "failed", target: "#reflectDrop.backingOff", actions: "rememberFailure" },
              { guard: "isVoid", target: "#reflectDrop.idle" },
            ],
          },
        },
      },
      exit: "endRun",
    },
    coolingDown: {
      description: "The reflector had nothing to say about this range.",
      on: {
        reading: [
          { guard: "isPassive", target: "passive" },
          { guard: "isNotDue", target: "idle" },
          { guard: "hasCooledDown", target: "due" },
          { guard: "hasShrunk", actions: "countFromHere" },
        ],
        demand: "running",
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
        demand: "running",
      },
    },
  },
});
