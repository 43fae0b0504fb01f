import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { memoryView } from "../../pi/ui/memory-view.ts";
import { lastAtMost } from "../history/columns.ts";
import type { EventFilter } from "../history/event-list.ts";
import { momentAt } from "../history/moment.ts";
import { timelineOf } from "../history/timeline.ts";
import type { Growth, Memory, Overview } from "../history/viewer-data.ts";
import type { InspectSource } from "../sources/inspect-source.ts";

/** What the page asks for, by path; undefined for a path that there is not. Throws for a question that makes no sense. */
export async function answerData(source: InspectSource, { pathname, searchParams }: URL): Promise<unknown> {
  const { chronicle, store, list } = source;
  switch (pathname) {
    case "/data/overview":
      return overviewOf(source);
    case "/data/timeline":
      return timelineOf(chronicle, {
        axis: searchParams.get("axis") === "time" ? "time" : "event",
        from: optionalNumber(searchParams, "from"),
        to: optionalNumber(searchParams, "to"),
        width: Math.min(4000, Math.max(50, optionalNumber(searchParams, "width") ?? 1000)),
      });
    case "/data/events":
      return list.page(
        filterOf(searchParams),
        optionalNumber(searchParams, "from") ?? 0,
        optionalNumber(searchParams, "count") ?? 100,
      );
    case "/data/position":
      return list.positionOf(filterOf(searchParams), indexOf(source, searchParams));
    case "/data/jump":
      return {
        index: list.jump(
          laneOf(searchParams.get("lane")),
          indexOf(source, searchParams),
          searchParams.get("direction") === "back" ? -1 : 1,
        ),
      };
    case "/data/at":
      return { index: indexAtTime(source, optionalNumber(searchParams, "time") ?? 0) };
    case "/data/moment":
      return momentAt(chronicle, store, list, indexOf(source, searchParams));
    case "/data/memory":
      return memoryAt(source, indexOf(source, searchParams));
    default:
      return undefined;
  }
}

export function overviewOf(source: InspectSource): Overview {
  const { kind, name, chronicle, lookup } = source;
  return {
    source: { kind, name },
    firstAt: chronicle.at.at(0),
    hasMemory: lookup !== undefined,
    ...growthOf(source),
  };
}

export function growthOf({ chronicle, complete, reading, notes }: InspectSource): Growth {
  const { length, at, taken } = chronicle;
  return {
    complete,
    reading,
    notes: [...notes],
    count: length,
    lastAt: at.at(Math.max(0, length - 1)),
    taken: Object.fromEntries(
      LANES.map((lane) => [lane, Object.fromEntries(taken[lane])]),
    ) as Growth["taken"],
  };
}

/** The last event at or before a time. */
function indexAtTime({ chronicle }: InspectSource, time: number): number {
  return Math.max(
    0,
    lastAtMost(chronicle.length, (index) => chronicle.at.at(index), time),
  );
}

function memoryAt({ chronicle, lookup }: InspectSource, index: number): Memory | null {
  if (!lookup) return null;
  const { session } = chronicle.stateAt(index);
  return { visible: memoryView(session, lookup, "visible"), full: memoryView(session, lookup, "full") };
}

function filterOf(params: URLSearchParams): EventFilter {
  return {
    types: listOf(params.get("types")),
    lanes: listOf(params.get("lanes"))
      .map(laneOf)
      .filter((lane) => lane !== null),
    text: (params.get("text") ?? "").slice(0, 200),
  };
}

function listOf(value: string | null): string[] {
  return (value ?? "").split(",").filter((part) => part !== "");
}

function laneOf(value: string | null): LaneName | null {
  return LANES.find((lane) => lane === value) ?? null;
}

function indexOf({ chronicle }: InspectSource, params: URLSearchParams): number {
  const index = optionalNumber(params, "index");
  if (index === undefined || !Number.isInteger(index) || index < 0 || index >= chronicle.length) {
    throw new Error(`index must be from 0 to ${chronicle.length - 1}`);
  }
  return index;
}

function optionalNumber(params: URLSearchParams, name: string): number | undefined {
  const text = params.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error(`${name} must be a number`);
  return value;
}
