import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { memoryView } from "../../pi/ui/memory-view.ts";
import { lastAtMost } from "../history/columns.ts";
import { eventDetailAt } from "../history/event-detail.ts";
import type { EventFilter } from "../history/event-list.ts";
import { timelineOf } from "../history/timeline.ts";
import type { Memory, Overview, Progress } from "../history/viewer-data.ts";
import type { InspectSource } from "../sources/inspect-source.ts";

/** What the page asks for, by path; undefined for a path that there is not. Throws for a question that makes no sense. */
export async function answerData(source: InspectSource, { pathname, searchParams }: URL): Promise<unknown> {
  const { eventHistory, store, list } = source;
  switch (pathname) {
    case "/data/overview":
      return overviewOf(source);
    case "/data/timeline":
      return timelineOf(eventHistory, {
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
      return eventDetailAt(eventHistory, store, list, indexOf(source, searchParams));
    case "/data/memory":
      return memoryAt(source, indexOf(source, searchParams));
    default:
      return undefined;
  }
}

export function overviewOf(source: InspectSource): Overview {
  const { kind, name, eventHistory, lookup } = source;
  return {
    source: { kind, name },
    firstAt: eventHistory.at.at(0),
    hasMemory: lookup !== undefined,
    ...progressOf(source),
  };
}

export function progressOf({ eventHistory, complete, reading, notes }: InspectSource): Progress {
  const { length, at, taken } = eventHistory;
  return {
    complete,
    reading,
    notes: [...notes],
    count: length,
    lastAt: at.at(Math.max(0, length - 1)),
    taken: Object.fromEntries(
      LANES.map((lane) => [lane, Object.fromEntries(taken[lane])]),
    ) as Progress["taken"],
  };
}

/** The last event at or before a time. */
function indexAtTime({ eventHistory }: InspectSource, time: number): number {
  return Math.max(
    0,
    lastAtMost(eventHistory.length, (index) => eventHistory.at.at(index), time),
  );
}

function memoryAt({ eventHistory, lookup }: InspectSource, index: number): Memory | null {
  if (!lookup) return null;
  const { session } = eventHistory.stateAt(index);
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

function indexOf({ eventHistory }: InspectSource, params: URLSearchParams): number {
  const index = optionalNumber(params, "index");
  if (index === undefined || !Number.isInteger(index) || index < 0 || index >= eventHistory.length) {
    throw new Error(`index must be from 0 to ${eventHistory.length - 1}`);
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
