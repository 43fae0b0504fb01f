import type { RunResult } from "../../reducers/engine/events.ts";
import { type Fields, fieldsOf } from "../../reducers/entries/entry.ts";
import type { Command } from "../commands.ts";
import type { WorkContext } from "../lanes/work-lane.ts";

/** What version 1 called what has another name since: nothing else has changed. */
type Renamed<T> = Readonly<Record<string, keyof T & string>>;
const RUN_RESULT: Renamed<RunResult> = { throughId: "coversUpToId" };
const START_RUN: Renamed<Extract<Command, { type: "startRun" }>> = { emptyThroughId: "emptyUpToId" };
const WORK_CONTEXT: Renamed<WorkContext> = {
  emptyThroughId: "emptyUpToId",
  coverageAtStart: "watermarkAtStart",
};

/**
 * A line of a recording of version 1 as version 2 has it; any other line as it is. It takes what JSON made of the line and
 * checks nothing: what it does not know it leaves to the schemas. Decisions and keyframes bear no version; the names in
 * them tell.
 */
export function upcast(line: Fields): Fields {
  switch (line.type) {
    case "header":
      return line.recording === 1 ? { ...line, recording: 2 } : line;
    case "decision":
      return Array.isArray(line.commands)
        ? { ...line, commands: line.commands.map((command) => rename(command, START_RUN)) }
        : line;
    case "keyframe":
      return upcastKeyframe(line);
    default:
      return upcastEvent(line);
  }
}

function upcastEvent(event: Fields): Fields {
  if (event.v !== 1) return event;
  const renamed = event.type === "run.finished" ? fieldsOf(rename(event, RUN_RESULT)) : event;
  return { ...renamed, v: 2 };
}

/** A keyframe holds what the lanes' machines remember, and each worker's last result, which is an event. */
function upcastKeyframe(keyframe: Fields): Fields {
  return {
    // Version 1 did not know it.
    emptyRange: null,
    ...keyframe,
    machines: each(keyframe.machines, (machine) =>
      within(machine, "context", (context) => counted(rename(context, WORK_CONTEXT))),
    ),
    workers: each(keyframe.workers, (worker) =>
      within(worker, "last", (last) => (isObject(last) ? upcastEvent(last) : last)),
    ),
  };
}

/** Lanes that are held back once remembered that they were, and now how often. */
function counted(context: unknown): unknown {
  if (!isObject(context) || !("triggered" in context)) return context;
  const { triggered, ...rest } = context;
  return { ...rest, waits: triggered === true ? 1 : 0 };
}

function rename(value: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!isObject(value) || !Object.keys(names).some((name) => name in value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [names[name] ?? name, field]));
}

function within(value: unknown, name: string, change: (field: unknown) => unknown): unknown {
  return isObject(value) && name in value ? { ...value, [name]: change(value[name]) } : value;
}

function each(value: unknown, change: (field: unknown) => unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, change(field)]));
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
