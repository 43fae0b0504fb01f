import { NOWHERE, tokensAfter } from "../../reducers/branch.ts";
import type { EngineState } from "../../reducers/engine/engine-state.ts";
import { LANES, type LaneName } from "../../reducers/engine/lane-names.ts";
import type { Wake } from "../scheduler.ts";
import { isOpenTo } from "./gate.ts";
import { type LaneEvent, OPENINGS } from "./lane-openings.ts";
import type { LaneInputs, LanesSnapshot } from "./lanes.ts";

/**
 * Knowledge that no reading will move a lane until the branch has so many source tokens, as long as nothing but the
 * conversation goes on. Between two events at which something happens there are a hundred at which this says so.
 */
export interface Calm {
  readonly snapshot: LanesSnapshot;
  readonly state: EngineState;
  /** Source tokens of the branch at which a lane may react */
  readonly until: number;
  /** Whether a plan of wakes consists of readings alone, as far as the lanes would hear it; worked out once each. */
  readonly plans: Map<readonly Wake[], boolean>;
}

/** What is known once no lane has reacted to these readings; undefined when one is at its threshold. */
export function calmAfter(
  state: EngineState,
  snapshot: LanesSnapshot,
  readings: LaneInputs,
): Calm | undefined {
  const total = totalOf(state);
  let until = Number.POSITIVE_INFINITY;
  for (const lane of LANES) {
    if (!listensTo(snapshot, lane, "reading")) continue;
    const more = readings[lane].threshold - readings[lane].clock;
    if (more <= 0 || wouldReact(snapshot, lane, readings, more - 1)) return undefined;
    until = Math.min(until, total + more);
  }
  return { snapshot, state, until, plans: new Map() };
}

/** Whether these wakes would leave every lane as it is. False does not mean that one reacts. */
export function isCalm(
  { snapshot, state, until, plans }: Calm,
  now: EngineState,
  wakes: readonly Wake[],
): boolean {
  if (
    state.session.ledger !== now.session.ledger ||
    state.session.branch.log !== now.session.branch.log ||
    state.session.branch.edits !== now.session.branch.edits ||
    state.settings !== now.settings ||
    state.contextWindow !== now.contextWindow ||
    totalOf(now) >= until
  ) {
    return false;
  }
  let readingsAlone = plans.get(wakes);
  if (readingsAlone === undefined) {
    readingsAlone = wakes.every(({ lane, as }) => as === "reading" || !listensTo(snapshot, lane, as));
    plans.set(wakes, readingsAlone);
  }
  return readingsAlone;
}

function listensTo({ states }: LanesSnapshot, lane: LaneName, as: Wake["as"]): boolean {
  return OPENINGS[lane].get(states[lane])?.has(as) ?? false;
}

/**
 * Whether a lane would react after `more` source tokens. Below a threshold its guards care neither how many there are nor
 * whether the agent is at work, so what they say of the last number before it they say of all.
 */
function wouldReact(
  { states, contexts }: LanesSnapshot,
  lane: LaneName,
  readings: LaneInputs,
  more: number,
): boolean {
  const reading = readings[lane];
  const later = { ...reading, clock: reading.clock + more };
  if ("hasWork" in later && lane === "observer") later.hasWork ||= more > 0;
  if ("total" in later) {
    later.total += more;
    later.sinceCompaction += more;
  }
  const event = { type: "reading", reading: later } as LaneEvent;
  return isOpenTo(OPENINGS[lane].get(states[lane]), contexts[lane], event);
}

function totalOf({ session }: EngineState): number {
  return tokensAfter(session.branch, NOWHERE);
}
