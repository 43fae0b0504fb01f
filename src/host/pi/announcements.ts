import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { filter, firstValueFrom, map, type Observable } from "rxjs";
import { type Effect, watching } from "../../effects/effect.ts";
import type { Engine, Step } from "../../machines/engine.ts";
import { type LaneStates, laneInputs } from "../../machines/lanes/inputs.ts";
import { idAt } from "../../reducers/branch.ts";
import { LANES } from "../../reducers/engine/lane-names.ts";

/** What other extensions hear over `pi.events`: channels and payloads, of ids and counts alone. */
export interface Announcements {
  /** A compaction of ours is near: at the next settling of the agent (`due`), or Pi is asked for it now (`requested`). */
  "memory-lanes:compaction-pending": {
    sessionId: string;
    stage: "due" | "requested";
    /** Source tokens on the lane's clock, and where it becomes due */
    tokens: number;
    threshold: number;
  };
  /** A compaction was answered from memory. */
  "memory-lanes:folded": {
    sessionId: string;
    /** Ids of the compaction's entry and of the first one that was kept before it; null when none was. */
    compactionId: string;
    firstKeptEntryId: string | null;
  };
  /** A worker has appended something to the ledger. */
  "memory-lanes:recorded": {
    sessionId: string;
    worker: "observer" | "reflector" | "dropper";
    records: number;
    /** Last entry that the run read */
    coversUpToId: string | null;
  };
}

type Announcement = {
  [C in keyof Announcements]: readonly [channel: C, payload: Announcements[C]];
}[keyof Announcements];

/** Tells other extensions what memory does. What their listeners throw stays with Pi's event bus, or here. */
export function announcements(pi: Pick<ExtensionAPI, "events">): Effect {
  return watching((step) => {
    for (const [channel, payload] of announcementsOf(step)) pi.events.emit(channel, payload);
  });
}

/** What is to be told of a step. */
export function announcementsOf(step: Step): Announcement[] {
  const { event, state, transitions } = step;
  const { sessionId } = state;
  const told: Announcement[] = [];
  for (const { lane, to } of transitions) {
    if (lane !== "compaction" || (to !== "due" && to !== "requested")) continue;
    const { clock, threshold } = laneInputs(state, step.snapshot.states, Date.parse(event.at)).compaction;
    told.push(["memory-lanes:compaction-pending", { sessionId, stage: to, tokens: clock, threshold }]);
  }
  if (event.type === "compaction.finished" && event.folded && event.offered) {
    const { branch, ledger } = state.session;
    const { entry, cut } = ledger.latestFolded ?? { entry: -1, cut: -1 };
    const compactionId = idAt(branch, entry);
    const firstKeptEntryId = cut < entry ? (idAt(branch, cut) ?? null) : null;
    if (compactionId) told.push(["memory-lanes:folded", { sessionId, compactionId, firstKeptEntryId }]);
  }
  if (event.type === "run.finished" && event.outcome === "recorded") {
    const { worker, records, coversUpToId } = event;
    told.push(["memory-lanes:recorded", { sessionId, worker, records, coversUpToId }]);
  }
  return told;
}

/**
 * Settles once no worker runs, or the session has ended. A compaction is not waited for, so that those who are asked about
 * it may wait for the workers.
 */
export async function workersAreIdle(engine: Engine, steps$: Observable<Step>): Promise<void> {
  if (isIdle(engine.snapshot.states)) return;
  const idle$ = steps$.pipe(
    filter(({ snapshot }) => isIdle(snapshot.states)),
    map(() => undefined),
  );
  await firstValueFrom(idle$, { defaultValue: undefined });
}

function isIdle(states: LaneStates): boolean {
  return !LANES.some((lane) => states[lane].startsWith("running"));
}
