import { emit, type SnapshotFrom, setup, transition } from "xstate";
import type { LaneName } from "../reducers/engine/lane-names.ts";

/** What the scheduler is told: one event for each kind of thing that can move a lane. */
export type SchedulerEvent =
  | { type: "opened" }
  | { type: "closed" }
  /** Clocks, settings or coverage may have moved. */
  | { type: "moved" }
  /** `turn_end` or `agent_start` */
  | { type: "workMayStart" }
  /** `agent_settled` */
  | { type: "settled" }
  | { type: "demanded"; lane: LaneName }
  | { type: "runFinished"; lane: LaneName }
  | { type: "compactionStarted" }
  | { type: "compactionFinished" }
  | { type: "compactionFailed" }
  | { type: "compactionPostponed" };

/** The lane events that the scheduler can send. */
export type WakeAs =
  | "reading"
  | "trigger"
  | "boundary"
  | "demand"
  | "result"
  | "closing"
  | "compactionStarted"
  | "compactionFinished"
  | "compactionFailed"
  | "compactionPostponed";

export interface Wake {
  type: "wake";
  lane: LaneName;
  as: WakeAs;
}

const schedulerSetup = setup({
  types: { context: {} as Record<string, never>, events: {} as SchedulerEvent, emitted: {} as Wake },
  actions: {
    wake: emit((_, { lane, as }: { lane: LaneName; as: WakeAs }) => ({ type: "wake", lane, as })),
    wakeDemanded: emit(({ event }) => ({
      type: "wake",
      lane: event.type === "demanded" ? event.lane : "observer",
      as: "demand",
    })),
    wakeFinished: emit(({ event }) => ({
      type: "wake",
      lane: event.type === "runFinished" ? event.lane : "observer",
      as: "result",
    })),
  },
});

const wake = (lane: LaneName, as: WakeAs) => ({ type: "wake", params: { lane, as } }) as const;

/** Lets every lane see the new readings, the observer first: the others look at what it does. */
const readAll = [wake("observer", "reading"), wake("reflectDrop", "reading"), wake("compaction", "reading")];

const closeAll = [wake("observer", "closing"), wake("reflectDrop", "closing"), wake("compaction", "closing")];

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
        opened: { target: "open", actions: readAll },
      },
    },
    open: {
      description: "A session is open.",
      on: {
        opened: { actions: [...closeAll, ...readAll] },
        closed: { target: "closed", actions: closeAll },
        moved: { actions: readAll },
        workMayStart: {
          actions: [
            wake("observer", "reading"),
            wake("observer", "trigger"),
            wake("reflectDrop", "reading"),
            wake("reflectDrop", "trigger"),
            wake("compaction", "boundary"),
            wake("compaction", "reading"),
          ],
        },
        settled: { actions: [...readAll, wake("compaction", "trigger")] },
        demanded: { actions: "wakeDemanded" },
        runFinished: { actions: ["wakeFinished", ...readAll] },
        compactionStarted: { actions: wake("compaction", "compactionStarted") },
        compactionFinished: { actions: [wake("compaction", "compactionFinished"), ...readAll] },
        compactionFailed: { actions: [wake("compaction", "compactionFailed"), ...readAll] },
        compactionPostponed: { actions: [wake("compaction", "compactionPostponed"), ...readAll] },
      },
    },
  },
});

/** What the scheduler does on an event. */
export interface Plan {
  wakes: readonly Wake[];
  /** The scheduler itself stays in its state. */
  staysPut: boolean;
}

const plans = { open: new Map<string, Plan>(), closed: new Map<string, Plan>() };

/**
 * What the scheduler would do if it were sent an event, without sending it. Its chart has neither context nor guards,
 * so this depends on its state and the event alone and is worked out once for each.
 */
export function planFor(snapshot: SnapshotFrom<typeof schedulerMachine>, event: SchedulerEvent): Plan {
  const key = "lane" in event ? `${event.type} ${event.lane}` : event.type;
  const known = plans[snapshot.value].get(key);
  if (known) return known;
  const [next, actions] = transition(schedulerMachine, snapshot, event);
  const wakes = actions.map((action) => (action.params as { event: Wake }).event);
  const plan = { wakes, staysPut: next.value === snapshot.value };
  plans[snapshot.value].set(key, plan);
  return plan;
}
