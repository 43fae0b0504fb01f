import { type Effect, watching } from "../../effects/effect.ts";
import type { EngineEvent } from "../../reducers/engine/events.ts";
import { backlogOf } from "../../reducers/engine/observer-chunk.ts";
import { backlogWords, resultWords } from "../../reducers/words.ts";
import type { RunDemands } from "./run-demand.ts";

interface NoticesOptions {
  /** Whether routine results are told, too */
  tellsRecorded: boolean;
  /** The runs that the user asked for: their results are told whatever the settings say. */
  demands: RunDemands;
  /** Shows a notice in any of Pi's modes. */
  show: (notice: { message: string; level: "info" | "warning" }) => void;
}

/** Tells the user what the lanes want told, and once that the observer is far behind. */
export function notices({ tellsRecorded, demands, show }: NoticesOptions): Effect {
  let hasToldBacklog = false;
  return (steps$, session) =>
    watching((step) => {
      const backlog = isOfObserver(step.event) ? backlogOf(step.state) : 0;
      if (backlog > 0 && !hasToldBacklog) {
        hasToldBacklog = true;
        session.notify(`Memory: ${backlogWords(backlog)}`, "info");
      }
      const demanded = demands.resultOf(step);
      if (demanded) return show(demanded);
      for (const command of step.commands) {
        if (command.type !== "notify") continue;
        if (command.about === "failed") session.notify(failureWords(step.event), command.level);
        else if (tellsRecorded && step.event.type === "run.finished")
          session.notify(`Memory: ${resultWords(step.event)}`, command.level);
      }
    })(steps$, session);
}

function isOfObserver(event: EngineEvent): boolean {
  return event.type === "run.finished" && event.worker === "observer";
}

/** What became of a run or a compaction that failed, by the event that the lane heard of it. */
function failureWords(event: EngineEvent): string {
  if (event.type === "run.finished") {
    return `Memory: the ${event.worker} failed and will be tried again later: ${event.failure?.message ?? "no reason given"}`;
  }
  if (event.type === "compaction.failed") {
    return `Memory: compaction did not happen (${event.failure.message}); it will be tried again when there is more to compact`;
  }
  return "Memory: a compaction was asked for and never came back; it will be tried again when there is more to compact";
}
