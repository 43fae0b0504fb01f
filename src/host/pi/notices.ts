import { type Effect, watching } from "../../effects/effect.ts";
import type { Step } from "../../machines/engine.ts";
import type { EngineEvent } from "../../reducers/engine/events.ts";
import { backlogOf } from "../../reducers/engine/observer-chunk.ts";
import {
  backlogWords,
  passedOverWords,
  REPLACED_ADVICE,
  replacedWords,
  resultWords,
} from "../../reducers/words.ts";
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
      const replaced = firstReplaced(step);
      if (replaced !== undefined) session.notify(replaced, "warning");
      const fallback = firstFallback(step);
      if (fallback !== undefined) session.notify(fallback, "warning");
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

/** One word a session: from then on `/om:status` tells. */
function firstReplaced({ event, state: { replacedFolds } }: Step): string | undefined {
  if (event.type !== "compaction.finished" || event.folded || !event.offered) return undefined;
  if (replacedFolds?.count !== 1) return undefined;
  return `Memory: the agent does not see its memory after this compaction: ${replacedWords(replacedFolds.by)}. Nothing is lost, but each compaction will go like this. ${REPLACED_ADVICE}`;
}

/** One word for each row of a model's failures: which one was asked in its place, so that no price comes as a surprise. */
function firstFallback({ event, state: { modelFailures } }: Step): string | undefined {
  if (event.type !== "run.finished" || event.failure) return undefined;
  const isFirst = event.passedOver?.some(({ model }) => modelFailures[model]?.failures === 1) ?? false;
  if (!isFirst) return undefined;
  return `Memory: the ${event.worker} asked ${event.model} instead: ${passedOverWords(event)}. It is asked first again after a while; /om:status tells`;
}

/** What became of a run or a compaction that failed, by the event that the lane heard of it. */
function failureWords(event: EngineEvent): string {
  if (event.type === "run.finished") {
    const passedOver = passedOverWords(event);
    const before = passedOver === "" ? "" : ` (before that, ${passedOver})`;
    return `Memory: the ${event.worker} failed and will be tried again later: ${event.failure?.message ?? "no reason given"}${before}`;
  }
  if (event.type === "compaction.failed") {
    return `Memory: compaction did not happen (${event.failure.message}); it will be tried again when there is more to compact`;
  }
  return "Memory: a compaction was asked for and never came back; it will be tried again when there is more to compact";
}
