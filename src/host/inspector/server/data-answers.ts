import { decisionOf, encodeLine, type RecordingLine } from "../../../machines/recording/recording.ts";
import { LANES, type LaneName } from "../../../reducers/engine/lane-names.ts";
import { type EventSource, progressOf } from "../event-sources/event-source.ts";
import { momentsCompared, runsCompared } from "../history/compare.ts";
import { eventDetailAt } from "../history/event-detail.ts";
import { lastAtMost } from "../history/event-history.ts";
import { nextMove } from "../history/event-search.ts";
import { memoryAt } from "../history/memory-lines.ts";
import { memoryRecordAt } from "../history/memory-record.ts";
import { stretchTotals } from "../history/stretch.ts";
import { timelineOf } from "../history/timeline.ts";
import type { EventFilter, MemoryView, Overview, RecordedPart } from "../history/viewer-data.ts";

/** What the page asks for, by path; undefined for a path that there is not. Throws for a question that makes no sense. */
export async function answerData(source: EventSource, { pathname, searchParams }: URL): Promise<unknown> {
  const { history, search } = source;
  switch (pathname) {
    case "/data/overview":
      return overviewOf(source);
    case "/data/timeline":
      return timelineOf(
        history,
        {
          axis: searchParams.get("axis") === "time" ? "time" : "event",
          from: optionalNumber(searchParams, "from"),
          to: optionalNumber(searchParams, "to"),
          width: Math.min(4000, Math.max(50, optionalNumber(searchParams, "width") ?? 1000)),
        },
        source.real,
      );
    case "/data/moments": {
      const [a, b] = [indexOf(source, searchParams, "a"), indexOf(source, searchParams, "b")];
      return momentsCompared(history, source.lookup, a, b);
    }
    case "/data/runs":
      return source.real && runsCompared(source.real, history);
    case "/data/events":
      return search.page(
        filterOf(searchParams),
        optionalNumber(searchParams, "from") ?? 0,
        optionalNumber(searchParams, "count") ?? 100,
      );
    case "/data/position":
      return search.positionOf(filterOf(searchParams), indexOf(source, searchParams));
    case "/data/jump":
      return {
        index: nextMove(
          history,
          laneOf(searchParams.get("lane")),
          indexOf(source, searchParams),
          searchParams.get("direction") === "back" ? -1 : 1,
        ),
      };
    case "/data/at":
      return { index: indexAtTime(source, optionalNumber(searchParams, "time") ?? 0) };
    case "/data/numbered":
      return indexNumbered(source, optionalNumber(searchParams, "number") ?? 0);
    case "/data/event":
      return eventDetailAt(history, indexOf(source, searchParams), source.lookup);
    case "/data/recording":
      return recordedFrom(source, optionalNumber(searchParams, "from") ?? 0);
    case "/data/stretch":
      return stretchTotals(
        history,
        indexOf(source, searchParams, "from"),
        indexOf(source, searchParams, "to"),
      );
    case "/data/memory":
      return memoryAt(history, source.lookup, indexOf(source, searchParams), viewOf(searchParams));
    case "/data/record":
      return memoryRecordAt(history, source.lookup, indexOf(source, searchParams), {
        id: searchParams.get("id") ?? "",
        kind: searchParams.get("kind") === "reflection" ? "reflection" : "observation",
      });
    default:
      return undefined;
  }
}

function overviewOf(source: EventSource): Overview {
  const { kind, name, command, history, lookup, saved } = source;
  return {
    source: { kind, name, command, saveAs: saved?.as ?? null },
    firstAt: history.steps[0]?.at ?? 0,
    firstDecision: history.firstDecision,
    hasReal: source.real !== undefined,
    hasTexts: lookup !== undefined,
    ...progressOf(source),
  };
}

/** The last event at or before a time. */
function indexAtTime({ history }: EventSource, time: number): number {
  return Math.max(
    0,
    lastAtMost(history.steps, ({ at }) => at, time),
  );
}

/** The event of this number, or the last one before it; `pending` while it may still be read. */
function indexNumbered(
  { history, reading }: EventSource,
  number: number,
): { index: number; pending: boolean } {
  const index = Math.max(
    0,
    lastAtMost(history.steps, (step) => step.number, number),
  );
  return { index, pending: reading && (history.steps.at(-1)?.number ?? 0) < number };
}

const RECORDED_AT_ONCE = 2000;

/** The next lines of the source's recording from an event on; those that it begins with come before the first. */
function recordedFrom({ history, saved }: EventSource, from: number): RecordedPart | undefined {
  if (!saved) return undefined;
  const first = Math.max(from, saved.from);
  const steps = history.steps.slice(first, first + RECORDED_AT_ONCE);
  const lines: RecordingLine[] = from === 0 ? [...saved.start] : [];
  for (const step of steps) {
    const decision = decisionOf(step);
    lines.push(step.event, ...(decision ? [decision] : []));
  }
  return { lines: lines.map((line) => encodeLine(line).trimEnd()), next: first + steps.length };
}

function viewOf(params: URLSearchParams): MemoryView {
  const view = params.get("view");
  return view === "full" || view === "dropped" ? view : "visible";
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

function indexOf({ history }: EventSource, params: URLSearchParams, name = "index"): number {
  const index = optionalNumber(params, name);
  if (index === undefined || !Number.isInteger(index) || index < 0 || index >= history.steps.length) {
    throw new Error(`${name} must be from 0 to ${history.steps.length - 1}`);
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
