import { emit, setup } from "xstate";
import { AGENT_BUSY, type EngineEvent } from "../reducers/engine/events.ts";
import { LANES, type LaneName, laneOf } from "../reducers/engine/lane-names.ts";
import type { CompactionLaneEvent } from "./lanes/compaction-lane.ts";
import type { WorkLaneEvent } from "./lanes/work-lane.ts";

/** What a lane can be told. */
export type LaneEventType = WorkLaneEvent["type"] | CompactionLaneEvent["type"];

/** Which lanes hear of an event, in this order, and as what. */
export interface Delivery {
  type: "deliver";
  messages: readonly LaneMessage[];
}

export type LaneMessage = readonly [lane: LaneName, as: LaneEventType];

const schedulerSetup = setup({
  types: { context: {} as Record<string, never>, events: {} as EngineEvent, emitted: {} as Delivery },
  guards: {
    isAgentBusy: ({ event }) => event.type === "compaction.failed" && event.failure.kind === AGENT_BUSY,
  },
  actions: {
    tell: emit((_, { messages }: { messages: readonly LaneMessage[] }) => ({ type: "deliver", messages })),
    /** Tells the lane that was asked, or whose run it was, and then everybody that things have changed. */
    tellItsLane: emit(({ event }) => ({ type: "deliver", messages: messagesToItsLane(event) })),
  },
});

const tell = (...messages: readonly LaneMessage[]) => ({ type: "tell", params: { messages } }) as const;

/** The observer comes first: the others look at what it does. */
const toAll = (as: LaneEventType): LaneMessage[] => LANES.map((lane) => [lane, as]);
const inputsChanged = toAll("input.changed");

function messagesToItsLane(event: EngineEvent): LaneMessage[] {
  if (event.type === "run.demanded") return [[event.lane, "run.demanded"]];
  return event.type === "run.finished" ? [[laneOf(event.worker), "run.finished"], ...inputsChanged] : [];
}

/** Work that is due may start, once its lane has seen what the turn brought. */
const turn = (as: "turn.ended" | "agent.started"): LaneMessage[] => [
  ["observer", "input.changed"],
  ["observer", as],
  ["reflectDrop", "input.changed"],
  ["reflectDrop", as],
];

/**
 * Arbitrates the lanes: which lane hears of what, and in which order. While no session is open none hears anything:
 * closing has ended what was in progress, and nothing starts.
 */
export const schedulerMachine = schedulerSetup.createMachine({
  id: "scheduler",
  context: {},
  initial: "closed",
  states: {
    closed: {
      description: "No session is open: nothing starts.",
      on: {
        "session.opened": { target: "open", actions: tell(...inputsChanged) },
      },
    },
    open: {
      description: "A session is open.",
      on: {
        "session.opened": { actions: tell(...toAll("session.closed"), ...inputsChanged) },
        "session.closed": { target: "closed", actions: tell(...toAll("session.closed")) },
        "branch.extended": { actions: tell(...inputsChanged) },
        "branch.replaced": { actions: tell(...inputsChanged) },
        "model.selected": { actions: tell(...inputsChanged) },
        // The others have nothing to do with what the agent's next request costs.
        "cache.expired": { actions: tell(["compaction", "input.changed"]) },
        "agent.started": {
          actions: tell(
            ...turn("agent.started"),
            ["compaction", "agent.started"],
            ["compaction", "input.changed"],
          ),
        },
        "turn.ended": { actions: tell(...turn("turn.ended"), ["compaction", "input.changed"]) },
        "agent.settled": { actions: tell(...inputsChanged, ["compaction", "agent.settled"]) },
        "run.demanded": { actions: "tellItsLane" },
        "run.finished": { actions: "tellItsLane" },
        "compaction.started": { actions: tell(["compaction", "compaction.started"]) },
        "compaction.finished": { actions: tell(["compaction", "compaction.finished"], ...inputsChanged) },
        "compaction.failed": [
          {
            guard: "isAgentBusy",
            actions: tell(["compaction", "compaction.postponed"], ...inputsChanged),
          },
          { actions: tell(["compaction", "compaction.failed"], ...inputsChanged) },
        ],
      },
    },
  },
});
