import type { Command } from "../machines/commands.ts";
import type { EngineEvent } from "../reducers/engine/events.ts";

export interface Notice {
  message: string;
  level: "info" | "warning";
}

/**
 * The words for a lane's `notify` command, from the result event that caused it; of what was recorded nothing unless
 * `tellsRecorded`.
 */
export function noticeFor(
  command: Extract<Command, { type: "notify" }>,
  event: EngineEvent,
  tellsRecorded: boolean,
): Notice | undefined {
  if (command.about === "failed") return { level: command.level, message: failureWords(event) };
  if (!tellsRecorded || event.type !== "run.finished") return undefined;
  return { level: command.level, message: `Memory: ${recordedWords(event)}` };
}

function recordedWords({ worker, records }: Extract<EngineEvent, { type: "run.finished" }>): string {
  const count = (one: string) => `${records} ${one}${records === 1 ? "" : "s"}`;
  switch (worker) {
    case "observer":
      return `${count("observation")} recorded`;
    case "reflector":
      return `${count("reflection")} recorded`;
    case "dropper":
      return `${count("observation")} dropped from active memory`;
  }
}

function failureWords(event: EngineEvent): string {
  if (event.type === "run.finished") {
    return `Memory: the ${event.worker} failed and will be tried again later: ${event.failure?.message ?? "no reason given"}`;
  }
  if (event.type === "compaction.failed") {
    return `Memory: compaction did not happen (${event.failure.message}); it will be tried again when there is more to compact`;
  }
  return "Memory: a compaction was asked for and never came back; it will be tried again when there is more to compact";
}
