import { NOWHERE, positionOf } from "../../reducers/branch.ts";
import type { EntryLike } from "../../reducers/entries/entry.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../reducers/settings.ts";
import type { Step } from "../engine.ts";
import type { ReplayStep } from "../recording/replay-step.ts";
import { timelineOf } from "./session-timeline.ts";
import {
  type Answer,
  type AnswerCounts,
  createSimulation,
  type Request,
  type TimelineItem,
} from "./simulation.ts";
import { DEFAULT_MODEL, type Price, type Workload } from "./workload.ts";

export interface SessionReplayOptions {
  sessionId?: string;
  /** The settings to go by, since a session file does not tell which were in force. Unset: the defaults */
  settings?: Settings;
  /** A schedule that never was: with these in their place, its ledger entries are results of runs that may not be made. */
  patch?: Partial<Settings>;
  model?: Workload;
  price?: Price | undefined;
}

export interface SessionReplay {
  /** The events' steps, one timeline item after the other; the same input gives the same steps. */
  steps(): Generator<ReplayStep>;
  readonly counts: AnswerCounts;
  /** Runs that the file has a result of, and that nothing led to under these settings: they are shown as asked for. */
  readonly unexplained: number;
  /** The branch holds ledger entries, so that runs without a trace are taken to have found nothing. */
  readonly hasLedger: boolean;
}

/**
 * Replays a plain session file's branch (root first): the events are derived from its entries. A run's result is the
 * ledger entry that the file has for it. Where it has none, the run is taken to have found nothing if the session
 * keeps a ledger at all under these settings; else its result is modelled.
 */
export function createSessionReplay(
  entries: readonly EntryLike[],
  options: SessionReplayOptions = {},
): SessionReplay {
  const { sessionId = "", settings = DEFAULT_SETTINGS, patch = {}, model = DEFAULT_MODEL, price } = options;
  const isWhatIf = Object.keys(patch).length > 0;
  const items = timelineOf({ sessionId, entries, settings, ledgerIsResult: isWhatIf });
  const hasLedger = items.some(({ event }) => event.type === "run.finished");
  let position = 0;
  let unexplained = 0;
  const simulation = createSimulation({
    patch,
    model,
    price,
    answer(request, step) {
      const found = findResult(items, position, request, step);
      if (found !== undefined) return { type: "recorded", resultOf: found };
      return hasLedger && !isWhatIf ? NO_TRACE : MODELLED;
    },
  });
  return {
    counts: simulation.counts,
    hasLedger,
    get unexplained() {
      return unexplained;
    },
    *steps() {
      for (const [index, item] of items.entries()) {
        position = index;
        const lane = isWhatIf ? undefined : laneOfResult(items[index + 1]);
        if (lane && !simulation.awaits(items[index + 1]?.resultOf ?? "")) {
          const demanded = simulation.demand(lane, Date.parse(item.event.at));
          if (demanded.some(({ commands }) => commands.length > 0)) unexplained++;
          yield* demanded;
        }
        yield* simulation.take(item);
      }
      yield* simulation.finish();
    },
  };
}

/** The lane that must have been at work when the item is a result of its run. The dropper only ever follows the reflector. */
function laneOfResult(item: TimelineItem | undefined): "observer" | "reflectDrop" | undefined {
  if (item?.event.type !== "run.finished" || item.event.worker === "dropper") return undefined;
  return item.event.worker === "observer" ? "observer" : "reflectDrop";
}

const NO_TRACE: Answer = { type: "noTrace" };
const MODELLED: Answer = { type: "modelled" };

/** The result in the file that a request of now led to, by the name of the items that tell of it. */
function findResult(
  items: readonly TimelineItem[],
  position: number,
  request: Request,
  step: Step,
): string | undefined {
  return request.type === "startRun"
    ? findRun(items, position, request.worker, step)
    : findCompaction(items, position);
}

/** The worker's next entry, if it covers only what the run can have read, and came before the run's deadline. */
function findRun(
  items: readonly TimelineItem[],
  position: number,
  worker: string,
  { event, state }: Step,
): string | undefined {
  const deadline = Date.parse(event.at) + state.settings.workerTimeoutMs;
  for (let at = position; at < items.length; at++) {
    const item = items[at];
    if (!item || Date.parse(item.event.at) > deadline) return undefined;
    if (item.event.type !== "run.finished" || item.event.worker !== worker) continue;
    const covered = item.event.coversUpToId ?? "";
    return positionOf(state.session.branch, covered) === NOWHERE ? undefined : item.resultOf;
  }
  return undefined;
}

/** The next compaction, if the agent did nothing before it. */
function findCompaction(items: readonly TimelineItem[], position: number): string | undefined {
  for (let at = position + 1; at < items.length; at++) {
    const item = items[at];
    if (item?.event.type === "compaction.started") return item.resultOf ?? `item ${at}`;
    if (item?.event.type === "agent.started" || item?.event.type === "turn.ended") return undefined;
  }
  return undefined;
}
