import { type CompactionLaneEvent, compactionLane } from "./compaction-lane.ts";
import { openingsOf } from "./gate.ts";
import { observerLane } from "./observer-lane.ts";
import { reflectDropLane } from "./reflect-drop-lane.ts";
import type { WorkLaneEvent } from "./work-lane.ts";

export type LaneEvent = WorkLaneEvent | CompactionLaneEvent;

/** What each lane reacts to in each of its states. */
export const OPENINGS = {
  observer: openingsOf<LaneEvent>(observerLane),
  reflectDrop: openingsOf<LaneEvent>(reflectDropLane),
  compaction: openingsOf<LaneEvent>(compactionLane),
} as const;
