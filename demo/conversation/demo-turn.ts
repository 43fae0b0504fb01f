import type { Answer, ToolCall } from "../model/chat-reply.ts";

/** Something worth remembering, and the words that the conversation must hold for it to be recorded. */
export interface DemoFact {
  key: string;
  text: string;
  relevance: "low" | "medium" | "high" | "critical";
  evidence: string;
  /** Safe to drop once a reflection or a later fact stands for it. */
  fleeting?: true;
}

export interface DemoTurn {
  title: string;
  asks: string;
  /** Messages with tool calls before the last message of the turn. */
  steps: Answer[];
  says: string;
  facts: DemoFact[];
}

/** Runs the invented project's tests, without stack traces. */
export const TEST = "node --test --test-reporter=spec 2>&1 | grep -v '^ *at '";
/** Prints what the invented project flags. */
export const LIST = "node scripts/list-faults.mjs";

/** A fact that stays. */
export function fact(
  key: string,
  relevance: DemoFact["relevance"],
  text: string,
  evidence: string,
): DemoFact {
  return { key, relevance, text, evidence };
}

/** A fact that has had its time soon. */
export function passing(
  key: string,
  relevance: DemoFact["relevance"],
  text: string,
  evidence: string,
): DemoFact {
  return { ...fact(key, relevance, text, evidence), fleeting: true };
}

/** A message with tool calls. */
export function call(text: string, ...toolCalls: ToolCall[]): Answer {
  return { text, toolCalls };
}

/** A message that runs a shell command. */
export function run(command: string): Answer {
  return { toolCalls: [{ name: "bash", arguments: { command } }] };
}

/** A call of Pi's `write` tool. */
export function write(path: string, content: string): ToolCall {
  return { name: "write", arguments: { path, content } };
}

/** A call of Pi's `edit` tool with one replacement. */
export function edit(path: string, oldText: string, newText: string): ToolCall {
  return { name: "edit", arguments: { path, edits: [{ oldText, newText }] } };
}
