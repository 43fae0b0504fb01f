import type { Step } from "../../../src/machines/engine.ts";
import { overBudget } from "../../../src/reducers/engine/budget.ts";
import { coldFigures, isWorthCompacting } from "../../../src/reducers/engine/cold-cache.ts";
import { AGENT_BUSY } from "../../../src/reducers/engine/events.ts";
import type { LaneName } from "../../../src/reducers/engine/lane-names.ts";
import { laneOf } from "../../../src/reducers/engine/lane-names.ts";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import { clocksOfSession } from "../../../src/reducers/session.ts";
import { compactionThreshold } from "../../../src/reducers/settings.ts";
import { plainClocks } from "./plain-clocks.ts";

/** What must hold of any sequence of steps, whatever the charts say. */
export interface EngineRules {
  /** Throws, in words, when a step breaks a rule. */
  check(step: Step): void;
}

interface LaneBook {
  /** The run in flight */
  runId: string | undefined;
  /** Event time of the last failure, with how many there were in a row */
  failedAt: number;
  failures: number;
  /** What an empty result stands for, while it does */
  empty: { clock: number; coverage: number } | undefined;
  /** The readings when the current run started; undefined when it was not due, or the branch was left since */
  started: { clock: number; coverage: number } | undefined;
}

export function engineRules(): EngineRules {
  let branch: readonly EntryFact[] = [];
  let isOpen = false;
  let marks = [-1, -1, -1];
  /** The branch at the last compaction that failed, until one succeeds */
  let branchAtFailure: readonly EntryFact[] | undefined;
  const runIds = new Set<string>();
  const books: Record<"observer" | "reflectDrop", LaneBook> = { observer: book(), reflectDrop: book() };

  function fail(rule: string): never {
    throw new Error(`broken rule: ${rule}`);
  }

  function follow({ event, state }: Step): void {
    switch (event.type) {
      case "session.opened":
        isOpen = true;
        branch = event.branch;
        break;
      case "session.closed":
        isOpen = false;
        break;
      case "branch.extended": {
        branch = [...branch, ...event.entries];
        const { observe, reflect, drop } = state.session.ledger.watermarks;
        if ([observe, reflect, drop].some((mark, n) => mark < (marks[n] ?? -1))) {
          fail("a watermark never moves back on a branch");
        }
        break;
      }
      case "branch.replaced":
        branch = event.branch;
        break;
      default:
    }
    const { observe, reflect, drop } = state.session.ledger.watermarks;
    marks = [observe, reflect, drop];
    // Leaving a branch or changing the settings may end what an empty result stands for.
    if (["branch.replaced", "session.opened", "session.closed"].includes(event.type)) {
      for (const of of Object.values(books)) {
        of.empty = undefined;
        of.started = undefined;
      }
    }
  }

  function endRun({ event, commands }: Step): void {
    if (event.type !== "run.finished") return;
    const of = books[laneOf(event.worker) as "observer" | "reflectDrop"];
    if (of.runId !== event.runId) return;
    of.runId = undefined;
    // A reflector's run is no success yet when the dropper follows: that may still fail.
    const isFollowedByDropper =
      commands.some(({ type }) => type === "startRun") && event.worker === "reflector";
    if (event.outcome === "failed") {
      of.failures++;
      of.failedAt = Date.parse(event.at);
    } else if (event.outcome === "empty" || (event.outcome === "recorded" && !isFollowedByDropper)) {
      of.failures = 0;
    }
    of.empty = event.outcome === "empty" && event.worker !== "dropper" ? of.started : undefined;
  }

  function checkStart(step: Step, lane: "observer" | "reflectDrop", worker: string, runId: string): void {
    const { event, state } = step;
    const of = books[lane];
    if (!isOpen) fail(`nothing starts while no session is open (${runId})`);
    if (of.runId !== undefined) fail(`one run of a lane at a time (${runId} while ${of.runId})`);
    if (runIds.has(runId)) fail(`each run has its own id (${runId})`);
    runIds.add(runId);
    // Whoever asked for it, and whichever worker it is
    if (overBudget(state)) fail(`no run begins over budget (${runId})`);
    of.runId = runId;
    const clocks = plainClocks(branch);
    const started =
      lane === "observer"
        ? { clock: clocks.observe, coverage: clocks.observed }
        : { clock: clocks.reflect, coverage: clocks.reflected };
    const { settings } = state;
    const threshold = lane === "observer" ? settings.observeAfterTokens : settings.reflectAfterTokens;
    const hasWork = lane === "observer" || clocks.observed > clocks.reflected;
    of.started = started.clock >= threshold && hasWork ? started : undefined;
    if (event.type === "run.demanded" || worker === "dropper") return;
    if (settings.passive) fail(`nothing starts in passive mode (${runId})`);
    if (started.clock < threshold) fail(`nothing starts below its threshold (${runId})`);
    if (!hasWork) fail(`no reflection without newer observations (${runId})`);
    const now = Date.parse(event.at);
    const delay = Math.min(600_000, 30_000 * 2 ** Math.max(0, of.failures - 1));
    if (of.failures > 0 && now >= of.failedAt && now < of.failedAt + delay) {
      fail(`a lane keeps its delay after a failure (${runId})`);
    }
    const { empty } = of;
    if (empty && empty.coverage === started.coverage && started.clock < empty.clock + threshold) {
      fail(`an empty result stands for a full threshold (${runId})`);
    }
  }

  /** A session's end, be it that another one is opened, ends every run for its lane; nothing else does. */
  function checkAborts({ event, commands }: Step): void {
    const aborted = commands.flatMap((command) => (command.type === "abortRun" ? command.runId : []));
    const inFlight = Object.values(books).flatMap(({ runId }) => runId ?? []);
    const ends = event.type === "session.closed" || event.type === "session.opened";
    if (aborted.join() !== (ends ? inFlight : []).join())
      fail("closing, and only that, aborts what is in flight");
    if (ends) for (const of of Object.values(books)) of.runId = undefined;
  }

  function checkRequest({ state }: Step): void {
    if (!isOpen) fail("no compaction is asked for while no session is open");
    if (state.settings.passive) fail("no compaction is asked for in passive mode");
    const { compact, sinceCompaction, compactedAt, active, reflections } = plainClocks(branch);
    if (active + reflections === 0) fail("no compaction is asked for with nothing to fold");
    const { settings, agentIdle } = state;
    const cold = coldFigures(state);
    const isForTheCache = settings.idleCompaction === "auto" && cold && isWorthCompacting(cold);
    if (compact < compactionThreshold(settings, state.contextWindow)) {
      if (!isForTheCache) fail("no compaction below its threshold");
      if (!agentIdle) fail("no compaction for the cache's sake while the agent is at work");
    }
    if (compactedAt >= 0 && sinceCompaction === 0) fail("no compaction without new source tokens");
    const said = (entries: readonly EntryFact[]) =>
      entries.flatMap(({ id, tokens }) => (tokens > 0 ? id : []));
    // Somebody's attempt on tokens that were not due says nothing of one for the cache's sake; ours is remembered by the lane.
    if (!isForTheCache && branchAtFailure && said(branch).join() === said(branchAtFailure).join()) {
      fail("no compaction without new source tokens since it failed");
    }
  }

  function checkWarning(lane: LaneName): void {
    if (lane !== "compaction" && books[lane].failures !== 1) fail("one warning for failures in a row");
  }

  return {
    check(step) {
      const { event, state, commands } = step;
      follow(step);
      endRun(step);
      checkAborts(step);
      if (event.type === "compaction.finished") branchAtFailure = undefined;
      const { observe, reflect, compact, sinceCompaction } = plainClocks(branch);
      expectSame(clocksOfSession(state.session), { observe, reflect, compact, sinceCompaction });
      for (const command of commands) {
        if (command.type === "startRun") {
          checkStart(
            step,
            laneOf(command.worker) as "observer" | "reflectDrop",
            command.worker,
            command.runId,
          );
        } else if (command.type === "requestCompaction") checkRequest(step);
        else if (command.type === "notify" && command.about === "failed") checkWarning(command.lane);
      }
      const failed = event.type === "compaction.failed" && event.failure.kind !== AGENT_BUSY;
      const threshold = compactionThreshold(state.settings, state.contextWindow);
      if (isOpen && failed && compact >= threshold) branchAtFailure = branch;
    },
  };
}

function book(): LaneBook {
  return {
    runId: undefined,
    failedAt: 0,
    failures: 0,
    empty: undefined,
    started: undefined,
  };
}

function expectSame(clocks: object, plain: Record<string, number>): void {
  for (const [name, value] of Object.entries(plain)) {
    const read: unknown = Reflect.get(clocks, name);
    if (read !== value) throw new Error(`broken rule: the ${name} clock is ${value}, and reads ${read}`);
  }
}
