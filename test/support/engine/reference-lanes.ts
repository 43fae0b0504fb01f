import type { Command } from "../../../src/machines/commands.ts";
import { AGENT_BUSY, type EngineEvent } from "../../../src/reducers/engine/events.ts";
import type { LaneName, Worker } from "../../../src/reducers/engine/lane-names.ts";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../../src/reducers/settings.ts";
import { plainClocks } from "./plain-clocks.ts";

/** The rules of the lanes in plain words, beside the charts and independent of them: what each event should make of the lanes. */
export interface ReferenceLanes {
  /** `coldPays`: what the engine makes of the figures as they are after the event, if the prompt cache is cold. */
  take(event: EngineEvent, coldPays?: boolean): { lanes: Record<LaneName, string>; commands: Command[] };
}

interface WorkLane {
  name: "observer" | "reflectDrop";
  state: string;
  runs: number;
  runId: string;
  failures: number;
  failedAt: number;
  clockAtStart: number;
  watermarkAtStart: number;
  emptyUpToId: string | null;
  waits: number;
}

function workLane(name: WorkLane["name"]): WorkLane {
  return {
    name,
    state: "idle",
    runs: 0,
    runId: "",
    failures: 0,
    failedAt: 0,
    clockAtStart: 0,
    watermarkAtStart: -1,
    emptyUpToId: null,
    waits: 0,
  };
}

export function referenceLanes(): ReferenceLanes {
  let isOpen = false;
  let branch: EntryFact[] = [];
  let settings: Settings = DEFAULT_SETTINGS;
  let window: number | undefined;
  let agentIdle = true;
  let isCold = false;
  let pays = false;
  let spentToday = 0;
  let now = 0;
  let commands: Command[] = [];
  const observer = workLane("observer");
  const reflect = workLane("reflectDrop");
  const compaction = {
    state: "idle",
    requests: 0,
    runId: "",
    failures: 0,
    totalAtFailure: 0,
    waits: 0,
  };

  const busy = () => observer.state === "due" || observer.state === "running";

  function clockOf(lane: WorkLane) {
    const { observed, reflected, observe, reflect } = plainClocks(branch);
    return lane.name === "observer"
      ? { clock: observe, threshold: settings.observeAfterTokens, coverage: observed, hasWork: observe > 0 }
      : {
          clock: reflect,
          threshold: settings.reflectAfterTokens,
          coverage: reflected,
          hasWork: observed > reflected,
        };
  }

  function run(lane: WorkLane, worker: Worker): void {
    const { clock, coverage } = clockOf(lane);
    lane.runId = `${lane.name}-${++lane.runs}`;
    lane.clockAtStart = clock;
    lane.watermarkAtStart = coverage;
    lane.waits = 0;
    const inner = worker === "reflector" ? ".reflecting" : worker === "dropper" ? ".dropping" : "";
    lane.state = `running${inner}`;
    const { runId, failures, emptyUpToId } = lane;
    commands.push({ type: "startRun", runId, worker, failures, emptyUpToId });
  }

  /** What the branch's runs took, and all sessions' today, against the limits. */
  function isOver(): boolean {
    const {
      sessionUsd = Number.POSITIVE_INFINITY,
      sessionTokens = Number.POSITIVE_INFINITY,
      dayUsd = Number.POSITIVE_INFINITY,
    } = settings.budget ?? {};
    const costs = branch.flatMap(({ cost }) => cost ?? []);
    const usd = costs.reduce((sum, cost) => sum + (cost.usd ?? 0), 0);
    const tokens = costs.reduce((sum, { input, output }) => sum + input + output, 0);
    return usd >= sessionUsd || tokens >= sessionTokens || spentToday >= dayUsd;
  }

  function mainWorker(lane: WorkLane): Worker {
    return lane.name === "observer" ? "observer" : "reflector";
  }

  function mayRetry(lane: WorkLane): boolean {
    if (lane.failures === 0) return true;
    const delay = Math.min(600_000, 30_000 * 2 ** (lane.failures - 1));
    return now < lane.failedAt || now >= lane.failedAt + delay;
  }

  function look(lane: WorkLane): void {
    if (lane.state.startsWith("running")) return;
    const { clock, threshold, coverage, hasWork } = clockOf(lane);
    const isDue = clock >= threshold && hasWork;
    if (settings.passive) become(lane, "passive");
    else if (lane.state === "passive") become(lane, "idle");
    else if (lane.state === "overBudget") {
      if (!isOver()) become(lane, "idle");
    } else if (lane.state === "idle" && isOver()) become(lane, "overBudget");
    else if (!isDue) become(lane, "idle");
    else if (lane.state === "idle") become(lane, mayRetry(lane) ? "due" : "backingOff");
    else if (lane.state === "coolingDown") {
      const hasCooledDown = clock >= lane.clockAtStart + threshold || coverage !== lane.watermarkAtStart;
      if (hasCooledDown) become(lane, "due");
      lane.clockAtStart = Math.min(lane.clockAtStart, clock);
    } else if (lane.state === "due" && isOver()) become(lane, "overBudget");
    else if (lane.state === "due" && lane.waits > 0 && !busy()) run(lane, "reflector");
  }

  function become(lane: WorkLane, state: string): void {
    if (lane.state !== state) lane.waits = 0;
    lane.state = state;
  }

  function trigger(lane: WorkLane): void {
    if (lane.state === "backingOff" && mayRetry(lane)) become(lane, "due");
    if (lane.state !== "due") return;
    if (isOver()) become(lane, "overBudget");
    else if (lane.name === "reflectDrop" && busy() && lane.waits < 3) lane.waits++;
    else run(lane, mainWorker(lane));
  }

  function result(lane: WorkLane, event: Extract<EngineEvent, { type: "run.finished" }>): void {
    if (!lane.state.startsWith("running") || event.runId !== lane.runId) return;
    const wasDropping = lane.state === "running.dropping";
    const tell = (about: "recorded" | "failed") =>
      commands.push({
        type: "notify",
        level: about === "failed" ? "warning" : "info",
        lane: lane.name,
        about,
        runId: event.runId,
      });
    lane.state = "idle";
    switch (event.outcome) {
      case "recorded": {
        const { pool } = plainClocks(branch);
        const target = Math.floor(settings.observationsPoolMaxTokens / 2);
        tell("recorded");
        if (lane.name === "reflectDrop" && !wasDropping && pool > target && !isOver()) run(lane, "dropper");
        else {
          lane.failures = 0;
          lane.emptyUpToId = null;
          const { clock, threshold, hasWork } = clockOf(lane);
          const mayGoOn = !settings.passive && !isOver();
          if (lane === observer && clock >= threshold && hasWork && mayGoOn) run(lane, "observer");
        }
        break;
      }
      case "empty":
        lane.failures = 0;
        if (wasDropping) lane.emptyUpToId = null;
        else {
          lane.state = "coolingDown";
          lane.clockAtStart = Math.min(lane.clockAtStart, clockOf(lane).clock);
          lane.emptyUpToId = event.coversUpToId;
        }
        break;
      case "failed":
        lane.state = "backingOff";
        lane.failedAt = now;
        if (++lane.failures === 1) tell("failed");
        break;
      default:
    }
  }

  function demand(name: LaneName): void {
    const lane = name === "observer" ? observer : reflect;
    if (name === "compaction" || lane.state.startsWith("running") || isOver()) return;
    if (name === "reflectDrop" || clockOf(lane).hasWork) run(lane, mainWorker(lane));
  }

  function compactThreshold(): number {
    const usesRatio = settings.compactAfterTokensMode === "ratio" && window !== undefined;
    return usesRatio
      ? Math.floor((window ?? 0) * settings.compactAfterTokensRatio)
      : settings.compactAfterTokens;
  }

  function isCompactionDue(): boolean {
    const { compact, sinceCompaction } = plainClocks(branch);
    const threshold = compactThreshold();
    const kept = compact - sinceCompaction;
    return kept < threshold ? compact >= threshold : sinceCompaction >= threshold;
  }

  /** What is recorded and not dropped, or a reflection. */
  function hasMemory(): boolean {
    const { active, reflections } = plainClocks(branch);
    return active + reflections > 0;
  }

  function hasNewTokens(): boolean {
    const { failures, totalAtFailure } = compaction;
    if (failures === 0) return true;
    const threshold = compactThreshold();
    const needed =
      failures === 1 ? 1 : Math.min(threshold, Math.ceil((threshold / 16) * 2 ** (failures - 2)));
    return Math.abs(plainClocks(branch).total - totalAtFailure) >= needed;
  }

  /** More is unobserved than could be kept verbatim, or some of it has been cut away before. */
  function observerBehind(): boolean {
    const { observe, compact, unobservedTail } = plainClocks(branch);
    if ((compact < compactThreshold() && !paysWhenCold()) || !(busy() || observer.state === "idle"))
      return false;
    if (busy() && observe > compact) return true;
    return (busy() || unobservedTail.splitsBatch) && unobservedTail.tokens > settings.compactionGapMaxTokens;
  }

  function paysWhenCold(): boolean {
    return isCold && pays && settings.idleCompaction === "auto";
  }

  function paysWhileIdle(): boolean {
    const isNew = plainClocks(branch).sinceCompaction > 0;
    return paysWhenCold() && agentIdle && hasMemory() && isNew && !observerBehind() && hasNewTokens();
  }

  function request(): void {
    compaction.state = "requested";
    compaction.waits = 0;
    compaction.runId = `compaction-${++compaction.requests}`;
    commands.push({ type: "requestCompaction", runId: compaction.runId });
  }

  function lookAtCompaction(): void {
    const { state } = compaction;
    if (state === "requested" || state === "compacting") return;
    if (settings.passive || state === "passive") rest(settings.passive ? "passive" : "idle");
    else if (state === "due" && !(isCompactionDue() && hasMemory())) rest("idle");
    else if (state === "due") {
      if (paysWhileIdle() || (compaction.waits > 0 && agentIdle && !observerBehind())) request();
    } else if (state !== "backingOff" && paysWhileIdle()) request();
    else if (isCompactionDue() && hasMemory() && hasNewTokens()) rest("due");
    else if (state === "backingOff" && !(isCompactionDue() && hasMemory())) rest("idle");
  }

  function rest(state: string): void {
    if (compaction.state !== state) compaction.waits = 0;
    compaction.state = state;
  }

  function failCompaction(): void {
    compaction.failures++;
    compaction.totalAtFailure = plainClocks(branch).total;
    compaction.runId = "";
    rest("backingOff");
  }

  function hearOfCompaction(event: EngineEvent): void {
    const inProgress = compaction.state === "requested" || compaction.state === "compacting";
    if (event.type === "compaction.started") rest("compacting");
    else if (event.type === "compaction.finished") {
      compaction.failures = 0;
      compaction.runId = "";
      rest("coolingDown");
    } else if (event.type === "compaction.failed" && event.failure.kind === AGENT_BUSY) {
      if (compaction.state !== "requested") return;
      compaction.runId = "";
      rest("due");
    } else if (inProgress || compaction.state === "due") {
      if (compaction.runId !== "" && compaction.failures === 0) {
        const { runId } = compaction;
        commands.push({ type: "notify", level: "warning", lane: "compaction", about: "failed", runId });
      }
      failCompaction();
    } else if (compaction.state !== "backingOff" && isCompactionDue() && hasNewTokens()) {
      const { state } = compaction;
      failCompaction();
      compaction.state = state;
    }
  }

  function lookAll(): void {
    look(observer);
    look(reflect);
    lookAtCompaction();
  }

  function close(): void {
    for (const lane of [observer, reflect]) {
      if (!lane.state.startsWith("running")) continue;
      commands.push({ type: "abortRun", runId: lane.runId });
      lane.state = "idle";
    }
    if (reflect.state === "due") become(reflect, "idle");
    if (["due", "requested", "compacting"].includes(compaction.state)) {
      if (compaction.state !== "due") compaction.runId = "";
      rest("idle");
    }
    isOpen = false;
  }

  function decide(event: EngineEvent): void {
    if (event.type === "session.opened") {
      if (isOpen) close();
      isOpen = true;
    }
    if (!isOpen) return;
    switch (event.type) {
      case "run.finished":
        result(event.worker === "observer" ? observer : reflect, event);
        lookAll();
        break;
      case "session.closed":
        close();
        break;
      case "agent.started":
      case "turn.ended":
        for (const lane of [observer, reflect]) {
          look(lane);
          trigger(lane);
        }
        if (compaction.state === "compacting" && event.type === "agent.started") failCompaction();
        lookAtCompaction();
        break;
      case "agent.settled":
        lookAll();
        if (compaction.state === "requested" || compaction.state === "compacting") failCompaction();
        else if (compaction.state === "due") {
          if (observerBehind() && compaction.waits < 3) compaction.waits++;
          else request();
        }
        break;
      case "run.demanded":
        demand(event.lane);
        break;
      case "compaction.started":
        hearOfCompaction(event);
        break;
      case "compaction.finished":
      case "compaction.failed":
        hearOfCompaction(event);
        lookAll();
        break;
      case "cache.expired":
        lookAtCompaction();
        break;
      default:
        lookAll();
    }
  }

  return {
    take(event, coldPays = false) {
      commands = [];
      now = Date.parse(event.at);
      pays = coldPays;
      spentToday = event.daySpent?.usd ?? (event.type === "session.opened" ? 0 : spentToday);
      switch (event.type) {
        case "session.opened":
          branch = [...event.branch];
          settings = event.settings;
          window = event.contextWindow;
          agentIdle = true;
          isCold = false;
          break;
        case "branch.extended":
          branch = [...branch, ...event.entries];
          break;
        case "branch.replaced":
          branch = [...event.branch];
          isCold = false;
          break;
        case "model.selected":
          window = event.contextWindow;
          isCold = false;
          break;
        case "cache.expired":
          isCold = true;
          break;
        case "compaction.finished":
        case "compaction.failed":
          isCold = false;
          break;
        case "agent.started":
          agentIdle = false;
          isCold = false;
          break;
        case "agent.settled":
          agentIdle = true;
          break;
        default:
      }
      decide(event);
      return {
        lanes: { observer: observer.state, reflectDrop: reflect.state, compaction: compaction.state },
        commands,
      };
    },
  };
}
