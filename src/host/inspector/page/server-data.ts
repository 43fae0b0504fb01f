import type { LaneName } from "../../../reducers/engine/lane-names.ts";
import type {
  Axis,
  EventDetail,
  EventFilter,
  EventPage,
  EventPosition,
  EventRow,
  Memory,
  MemoryRecord,
  MemoryView,
  MomentsCompared,
  Overview,
  Progress,
  RecordedPart,
  RunsCompared,
  StretchTotals,
  Timeline,
} from "../history/viewer-data.ts";

const token = new URLSearchParams(location.search).get("token") ?? "";

/** Whoever served this page has gone: asking would only fill the console with errors. */
let gone = false;

type Query = Record<string, string | number | undefined>;

/** What the server said of events, for when it has gone: the answers to these questions never change. */
const kept = new Map<string, string>();
let keptSize = 0;
/** In UTF-16 units of JSON */
const MOST_KEPT = 20_000_000;

/** Asks for what stays as it is. */
async function askOnce<T>(path: string, query: Query): Promise<T> {
  const question = `${path} ${JSON.stringify(query)}`;
  const known = kept.get(question);
  if (known !== undefined) return JSON.parse(known);
  const answer = await askText(path, query);
  kept.set(question, answer);
  keptSize += answer.length;
  for (const [oldest, { length }] of kept) {
    if (keptSize <= MOST_KEPT) break;
    kept.delete(oldest);
    keptSize -= length;
  }
  return JSON.parse(answer);
}

async function ask<T>(path: string, query: Query = {}): Promise<T> {
  return JSON.parse(await askText(path, query));
}

async function askText(path: string, query: Query): Promise<string> {
  const params = new URLSearchParams({ token });
  for (const [name, value] of Object.entries(query)) if (value !== undefined) params.set(name, String(value));
  if (gone) throw new Error("What this page has not shown before cannot be shown any more.");
  const response = await fetch(`/data/${path}?${params}`).catch(() => {
    throw new Error("the inspector does not answer");
  });
  if (!response.ok) throw new Error((await response.text()) || `the server answered ${response.status}`);
  return response.text();
}

function filterQuery({ types, lanes, text }: EventFilter): Query {
  return {
    types: types.length > 0 ? types.join(",") : undefined,
    lanes: lanes.length > 0 ? lanes.join(",") : undefined,
    text: text.trim() || undefined,
  };
}

export const askOverview = () => ask<Overview>("overview");
export const askEventDetail = (index: number) => askOnce<EventDetail>("event", { index });
export const askMemory = (index: number, view: MemoryView) => askOnce<Memory>("memory", { index, view });
export const askMemoryRecord = (index: number, { kind, id }: { kind: string; id: string }) =>
  ask<MemoryRecord>("record", { index, kind, id });

export function askTimeline(
  axis: Axis,
  window: readonly [number, number] | null,
  width: number,
): Promise<Timeline> {
  return ask("timeline", { axis, from: window?.[0], to: window?.[1], width });
}

export const askMoments = (a: number, b: number) => ask<MomentsCompared>("moments", { a, b });
export const askRuns = () => ask<RunsCompared>("runs");
export const askStretch = (from: number, to: number) => ask<StretchTotals>("stretch", { from, to });

export function askEvents(filter: EventFilter, from: number, count: number): Promise<EventPage> {
  return ask("events", { ...filterQuery(filter), from, count });
}

/** A long list is searched piece by piece; this waits for it as long as somebody wants to know. */
export async function askPosition(
  filter: EventFilter,
  index: number,
  isWanted: () => boolean = () => true,
): Promise<number | null> {
  for (;;) {
    const query = { ...filterQuery(filter), index };
    const { position, pending } = await ask<EventPosition>("position", query);
    if (!pending || !isWanted()) return position;
  }
}

export async function askJump(
  lane: LaneName | null,
  index: number,
  direction: 1 | -1,
): Promise<number | null> {
  const query = { lane: lane ?? undefined, index, direction: direction < 0 ? "back" : undefined };
  return (await ask<{ index: number | null }>("jump", query)).index;
}

/** The last event at or before a time. */
export async function askIndexAt(time: number): Promise<number> {
  return (await ask<{ index: number }>("at", { time })).index;
}

/** The event at a point of the time line. */
export async function eventAt(axis: Axis, x: number): Promise<EventRow | undefined> {
  const index = axis === "event" ? Math.round(x) : await askIndexAt(x);
  return (await askEvents({ types: [], lanes: [], text: "" }, index, 1)).rows[0];
}

/** The event of a number, or the last one before it; `pending` while it may still be read. */
export const askNumbered = (number: number) =>
  ask<{ index: number; pending: boolean }>("numbered", { number });

export const askRecording = (from: number) => ask<RecordedPart>("recording", { from });

/** Follows the source. Calls back on every progress, and with null when who tells of it has gone. */
export function followSource(listener: (progress: Progress | null) => void): void {
  const socket = new WebSocket(`ws://${location.host}/live?token=${encodeURIComponent(token)}`);
  socket.onmessage = ({ data }) => listener(JSON.parse(data));
  socket.onclose = () => {
    gone = true;
    listener(null);
  };
}
