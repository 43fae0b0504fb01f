import { type EntryLike, type Fields, fieldsOf, messageOf, textOf } from "./entry.ts";

/** What one call of a tool did, as far as the call and its result tell. */
export type ToolTrace =
  | { type: "read" | "edited" | "written"; path: string }
  | { type: "ran"; command: string; output: string; failed: boolean };

/**
 * Reads what tools did off the entries of a branch, taken from the newest to the oldest: a result stands after its call. Each
 * `tracesOf` gives the traces of one entry, its last call first. A call without a result may not have happened, so it is none, and
 * neither is whatever cannot be understood.
 */
export function createTraceReader(): (entry: EntryLike) => ToolTrace[] {
  const results = new Map<string, Fields>();
  return (entry) => {
    const message = messageOf(entry);
    if (message.role === "toolResult") {
      if (typeof message.toolCallId === "string") results.set(message.toolCallId, message);
      return nestedTraces(message);
    }
    if (message.role !== "assistant" || !Array.isArray(message.content)) return [];
    const traces: ToolTrace[] = [];
    for (let at = message.content.length - 1; at >= 0; at--) {
      const { type, id, name, arguments: args } = fieldsOf(message.content[at]);
      if (type !== "toolCall" || typeof id !== "string") continue;
      const result = results.get(id);
      // Some providers use the same ids again in every reply.
      results.delete(id);
      const trace = result && traceOf(name, args, result.isError === true, () => outputOf(result));
      if (trace) traces.push(trace);
    }
    return traces;
  };
}

/** The calls that a tool made itself */
function nestedTraces({ nestedCalls }: Fields): ToolTrace[] {
  const { calls } = fieldsOf(nestedCalls);
  if (!Array.isArray(calls)) return [];
  return calls
    .map((call) => {
      const { name, arguments: args, status } = fieldsOf(call);
      return traceOf(name, args, status !== "ok", () => "");
    })
    .filter((trace) => trace !== undefined)
    .reverse();
}

function traceOf(name: unknown, args: unknown, failed: boolean, output: () => string): ToolTrace | undefined {
  const { path, command } = fieldsOf(args);
  if (name === "bash" || name === "powershell") {
    if (typeof command !== "string" || command.trim() === "") return undefined;
    return { type: "ran", command, failed, output: failed || makesCommit(command) ? output() : "" };
  }
  const type =
    name === "read" ? "read" : name === "edit" ? "edited" : name === "write" ? "written" : undefined;
  if (!type || failed || typeof path !== "string" || path.trim() === "") return undefined;
  return { type, path: path.trim().replace(/^(?:\.\/)+/, "") };
}

/** How much of a command is looked at, in UTF-16 units */
const LOOKED_AT = 4000;

/** Whether a command is to make a commit */
export function makesCommit(command: string): boolean {
  return /\bgit\s+(?:-\S+\s+\S+\s+)*commit\b/.test(command.slice(0, LOOKED_AT));
}

function outputOf({ content }: Fields): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((block) => textOf(fieldsOf(block).text)).join("\n");
}
