import { type Effect, watching } from "../../effects/effect.ts";
import type { Command } from "../../machines/commands.ts";
import type { Step } from "../../machines/engine.ts";
import type { EngineEvent } from "../../reducers/engine/events.ts";
import { REPLACED_ADVICE, replacedWords } from "../words.ts";
import type { RunDemands } from "./run-demand.ts";

export interface Notice {
  message: string;
  level: "info" | "warning";
}

export interface NoticesOptions {
  /** Whether routine results are told, too */
  tellsRecorded: boolean;
  /** The runs that the user asked for: their results are told whatever the settings say. */
  demands: RunDemands;
  /** Shows a notice in any of Pi's modes. */
  show: (notice: Notice) => void;
}

/** Tells the user what the lanes want told. */
export function notices({ tellsRecorded, demands, show }: NoticesOptions): Effect {
  return (steps$, session) =>
    watching((step) => {
      const demanded = demands.resultOf(step);
      if (demanded) {
        show(demanded);
        return;
      }
      const replaced = firstReplaced(step);
      if (replaced) session.notify(replaced.message, replaced.level);
      for (const command of step.commands) {
        const notice = command.type === "notify" && noticeFor(command, step.event, tellsRecorded);
        if (notice) session.notify(notice.message, notice.level);
      }
    })(steps$, session);
}

/**
 * The words for a lane's `notify` command, from the result event that caused it; of what was recorded nothing unless
 * `tellsRecorded`.
 */
function noticeFor(
  command: Extract<Command, { type: "notify" }>,
  event: EngineEvent,
  tellsRecorded: boolean,
): Notice | undefined {
  if (command.about === "failed") return { level: command.level, message: failureWords(event) };
  if (!tellsRecorded || event.type !== "run.finished") return undefined;
  return { level: command.level, message: `Memory: ${recordedWords(event)}` };
}

/** One word a session: from then on `/om:status` tells. */
function firstReplaced({ event, state: { replacedFolds } }: Step): Notice | undefined {
  if (event.type !== "compaction.finished" || event.folded || !event.offered) return undefined;
  if (replacedFolds?.count !== 1) return undefined;
  const message = `Memory: the agent does not see its memory after this compaction: ${replacedWords(replacedFolds.by)}. Nothing is lost, but each compaction will go like this. ${REPLACED_ADVICE}`;
  return { level: "warning", message };
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
