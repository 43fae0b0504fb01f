import type { Engine, Step } from "../../machines/engine.ts";
import { overBudget } from "../../reducers/engine/budget.ts";
import { type LaneName, laneOf } from "../../reducers/engine/lane-names.ts";
import { budgetAdvice, budgetUseWords, STILL_WORKS } from "../../reducers/spend-words.ts";
import { resultWords, spendWords } from "../../reducers/words.ts";

/** What `/om:run` can be asked for, and the lane that it concerns. */
const TARGETS: Readonly<Record<string, LaneName>> = { observer: "observer", reflector: "reflectDrop" };

/** The lane that `/om:run ARGS` means (the observer when nothing is said), or what is wrong with the words. */
export function demandedLane(args: string): { lane: LaneName } | { problem: string } {
  const word = args.trim() || "observer";
  const lane = Object.hasOwn(TARGETS, word) ? TARGETS[word] : undefined;
  return lane
    ? { lane }
    : { problem: `/om:run does not know "${word}". Use /om:run observer or /om:run reflector.` };
}

export interface RunDemands {
  /** Asks for a run of a lane now; says at once what becomes of it, and resolves when it has come to rest. */
  demand(lane: LaneName): Promise<void>;
  /** Words for the result that this step brings, if the user has asked for the run. */
  resultOf(step: Step): { message: string; level: "info" | "warning" } | undefined;
  /** Lets everybody who waits go on. */
  close(): void;
}

interface RunDemandsOptions {
  engine: Engine;
  /** Puts the demand into the event stream. */
  report: (lane: LaneName) => void;
  say: (message: string) => void;
}

/** Carries out `/om:run` and tells how it went. */
export function createRunDemands({ engine, report, say }: RunDemandsOptions): RunDemands {
  const waiting = new Map<LaneName, (() => void)[]>();

  function end(lane: LaneName): void {
    for (const resolve of waiting.get(lane) ?? []) resolve();
    waiting.delete(lane);
  }

  return {
    demand(lane) {
      const name = lane === "observer" ? "observer" : "reflector";
      const isRunning = () => engine.snapshot.states[lane].startsWith("running");
      if (isRunning()) {
        say(`Memory: the ${name} is running already; its result will be shown here.`);
      } else {
        report(lane);
        if (!isRunning()) {
          const use = overBudget(engine.state);
          if (use) {
            say(
              `Memory: over budget: ${budgetUseWords(use)}. The ${name} does not run; it will ${budgetAdvice(use)}. ${STILL_WORKS}.`,
            );
            return Promise.resolve();
          }
          say("Memory: nothing to observe; observations cover every source entry of this branch.");
          return Promise.resolve();
        }
        say(`Memory: the ${name} runs now.`);
      }
      return new Promise((resolve) => waiting.set(lane, [...(waiting.get(lane) ?? []), resolve]));
    },
    resultOf({ event, snapshot: { states } }) {
      if (event.type !== "run.finished") return undefined;
      const lane = laneOf(event.worker);
      if (!waiting.has(lane)) return undefined;
      // A dropper may follow its reflector: that is the same run to the user.
      if (!states[lane].startsWith("running")) queueMicrotask(() => end(lane));
      return {
        message: `Memory: the ${event.worker} ${withVerb(resultWords(event))} (${spendWords(event)})`,
        level: event.outcome === "failed" ? "warning" : "info",
      };
    },
    close() {
      for (const lane of waiting.keys()) end(lane);
    },
  };
}

function withVerb(result: string): string {
  if (result.startsWith("nothing")) return `found ${result}`;
  return /^(aborted|stale)/.test(result) ? `was ${result}` : result;
}
