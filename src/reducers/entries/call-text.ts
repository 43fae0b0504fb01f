import { withoutControls } from "../harmless-text.ts";
import { type Fields, fieldsOf, textOf } from "./entry.ts";

/**
 * How the call of a tool is put into words: `compact` is one line of JSON, which costs an observer the fewest tokens,
 * `readable` has a line for each argument and real line breaks.
 */
export type CallStyle = "compact" | "readable";

/** A call that stands in a reply. */
export function callText({ name, arguments: args }: Fields, style: CallStyle): string {
  const written = json(args);
  if (style === "compact" || written === UNREADABLE)
    return `(calls ${label(name)} ${written || WITHOUT_ARGUMENTS})`;
  const fields = argumentLines(args, "");
  return fields === "" ? `(calls ${label(name)} ${WITHOUT_ARGUMENTS})` : `(calls ${label(name)})\n${fields}`;
}

/** What a tool result says of the calls that its tool made itself; `""` when it made none. */
export function nestedCallsText({ nestedCalls }: Fields, style: CallStyle): string {
  const { calls, complete } = fieldsOf(nestedCalls);
  if (!Array.isArray(calls) || calls.length === 0) return "";
  const lines = calls.map((call) => {
    const { name, status, error, arguments: args } = fieldsOf(call);
    const written = json(args);
    const end = `${label(status)}${typeof error === "string" ? ` (${error})` : ""}`;
    if (style === "compact" || written === UNREADABLE) {
      return `- ${[label(name), written].filter((part) => part !== "").join(" ")}: ${end}`;
    }
    return [`- ${label(name)}: ${end}`, argumentLines(args, INDENT)].filter((part) => part !== "").join("\n");
  });
  if (complete === false) lines.push("- more, which Pi did not record in full");
  return `(tools called inside this one)\n${lines.join("\n")}`;
}

const WITHOUT_ARGUMENTS = "without arguments";
const UNREADABLE = "(unreadable arguments)";
const INDENT = "  ";
/** Deeper than this an argument is shown as JSON. */
const DEEPEST = 4;

function argumentLines(args: unknown, indent: string): string {
  if (typeof args !== "object" || args === null)
    return indented(typeof args === "string" ? args : json(args), indent);
  return partLines(args, "argument", indent, 0);
}

function partLines(whole: object, name: string, indent: string, depth: number): string {
  return Object.entries(whole)
    .map(([key, part]: [string, unknown]) =>
      fieldLines(Array.isArray(whole) ? `${name} ${Number(key) + 1}` : label(key), part, indent, depth),
    )
    .join("\n");
}

/** `name: value`, or the name and under it what has lines of its own. */
function fieldLines(name: string, value: unknown, indent: string, depth: number): string {
  const inner = indent + INDENT;
  if (typeof value === "string" && value.includes("\n"))
    return `${indent}${name}:\n${indented(value, inner)}`;
  if (typeof value === "string") return `${indent}${name}: ${value}`;
  const isList = Array.isArray(value);
  if (
    typeof value === "object" &&
    value !== null &&
    depth < DEEPEST &&
    (isList ? hasLines(value) : !isEmpty(value))
  ) {
    return isList
      ? partLines(value, name, indent, depth + 1)
      : `${indent}${name}:\n${partLines(value, name, inner, depth + 1)}`;
  }
  return `${indent}${name}: ${json(value)}`;
}

/** Whether a list holds more than a line can show: objects, or texts of several lines. */
function hasLines(list: readonly unknown[]): boolean {
  return list.some(
    (part) =>
      (typeof part === "object" && part !== null) || (typeof part === "string" && part.includes("\n")),
  );
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}

function indented(text: string, indent: string): string {
  return indent === "" || text === "" ? text : indent + text.replaceAll("\n", `\n${indent}`);
}

const LABEL_LENGTH = 80;

/** A name from the session, fit to stand in a block's first line. */
export function label(name: unknown): string {
  const text = textOf(name)
    .slice(0, LABEL_LENGTH)
    .replace(/[\s[\]]+/g, " ");
  return withoutControls(text).trim() || "unnamed";
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return UNREADABLE;
  }
}
