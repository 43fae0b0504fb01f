import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

/** Whether a message is what a compaction left of the conversation before it. */
export function isSummary({ role }: { role: string }): boolean {
  return role === "compactionSummary";
}

/** Whether the user has made memory forget anything in this session; reads its entries, so that no engine is needed. */
export function hasForgotten(ctx: ExtensionContext): boolean {
  return ctx.sessionManager
    .getEntries()
    .some((entry) => entry.type === "custom" && entry.customType === "om.memory.forgotten");
}

/** A message to the agent as it is; a summary without the lines of these ids. */
export function withoutForgotten<M extends { role: string }>(
  message: M,
  ids: ReadonlyMap<string, unknown>,
): M {
  if (!isSummary(message) || !("summary" in message) || typeof message.summary !== "string") return message;
  const lines = message.summary.split("\n");
  const summary = lines.filter((line) => !ids.has(LINE_ID.exec(line)?.[1] ?? "")).join("\n");
  return { ...message, summary };
}

/** What a line of memory begins with */
const LINE_ID = /^\[([0-9a-f]{12})\] /;
