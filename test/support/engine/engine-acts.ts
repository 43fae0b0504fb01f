import fc from "fast-check";
import type { Command } from "../../../src/machines/commands.ts";
import {
  AGENT_BUSY,
  type EngineEvent,
  OUTCOMES,
  type RunResult,
  type Unstamped,
} from "../../../src/reducers/engine/events.ts";
import { LANES, type LaneName } from "../../../src/reducers/engine/lane-names.ts";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import { DEFAULT_SETTINGS, type Settings } from "../../../src/reducers/settings.ts";
import { fact, finished, opened, stamped } from "../sessions/builders.ts";

/** One thing that happens in a made-up session. Shares (0 to 1) choose among what there is when it happens. */
export type Act =
  | { do: "say"; tokens: number; by: "user" | "assistant" | "toolResult" }
  | { do: "start" | "turn" | "settle" | "stray" | "close" }
  | { do: "wait"; seconds: number }
  | { do: "finish"; outcome: RunResult["outcome"]; tokens: number; share: number }
  | { do: "tree"; share: number }
  | { do: "compaction"; stage: "started" | "finished" | "failed" | "busy"; share: number }
  | { do: "settings"; passive: boolean; ratio: boolean; budget: Settings["budget"] }
  | { do: "day"; usd: number }
  | { do: "model"; window: number | undefined }
  | { do: "cold"; contextTokens: number; usdPerMillion: number | undefined }
  | { do: "demand"; lane: LaneName }
  | { do: "open"; isSame: boolean };

const share = fc.double({ min: 0, max: 1, noNaN: true });

/** Anything that may happen, weighted so that sessions get somewhere. */
export const anyAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant("say" as const),
      tokens: fc.constantFrom(0, 1, 30, 60, 99, 100, 250),
      by: fc.constantFrom("user" as const, "assistant", "toolResult"),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constantFrom("start" as const, "turn", "turn", "settle", "settle", "stray"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      seconds: fc.constantFrom(1, 29, 30, 60, 600, -3600),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant("finish" as const),
      outcome: fc.constantFrom("recorded" as const, ...OUTCOMES),
      tokens: fc.constantFrom(10, 60, 200),
      share,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("tree" as const), share }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("compaction" as const),
      stage: fc.constantFrom("started" as const, "finished", "finished", "failed", "busy"),
      share,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.record({
        do: fc.constant("settings" as const),
        passive: fc.boolean(),
        ratio: fc.boolean(),
        budget: fc.constantFrom(undefined, {}, { sessionUsd: 1 }, { sessionTokens: 500 }, { dayUsd: 1 }),
      }),
      fc.record({ do: fc.constant("day" as const), usd: fc.constantFrom(0, 0.5, 1, 2) }),
      fc.record({ do: fc.constant("model" as const), window: fc.constantFrom(undefined, 400, 100_000) }),
      fc.record({ do: fc.constant("demand" as const), lane: fc.constantFrom(...LANES) }),
      fc.record({ do: fc.constant("close" as const) }),
      fc.record({ do: fc.constant("open" as const), isSame: fc.boolean() }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("cold" as const),
      contextTokens: fc.constantFrom(100, 500, 2000),
      usdPerMillion: fc.constantFrom(undefined, 1, 1000),
    }),
  },
);

export const SETTINGS: Settings = {
  ...DEFAULT_SETTINGS,
  observeAfterTokens: 100,
  reflectAfterTokens: 200,
  compactAfterTokens: 300,
  idleCompaction: "auto",
  compactAfterTokensRatio: 0.5,
  compactionGapMaxTokens: 150,
  observationsPoolMaxTokens: 300,
};

type StartRun = Extract<Command, { type: "startRun" }>;

/** A made-up Pi session: turns acts into the events that a host would report, entries and results included. */
export interface ActedSession {
  /** The events of an act, in order; several when something is appended first. */
  eventsOf(act: Act): EngineEvent[];
  /** Lets the session know what the engine asked for. */
  hear(commands: readonly Command[]): void;
  /** Current branch, root first */
  readonly branch: readonly EntryFact[];
  readonly inFlight: readonly StartRun[];
}

const START = Date.parse("2026-01-15T09:00:00.000Z");

export function actedSession(): ActedSession {
  const parents = new Map<string, readonly EntryFact[]>();
  const sessions = { current: 0 };
  let branch: readonly EntryFact[] = [];
  let inFlight: { command: StartRun; branch: readonly EntryFact[] }[] = [];
  let settings = SETTINGS;
  let at = START;
  let seq = 0;
  let entries = 0;

  const stamp = (event: Unstamped) => stamped(event, ++seq, at);

  function append(next: (id: string) => EntryFact): EngineEvent {
    const entry = next(`e${++entries}`);
    branch = [...branch, entry];
    parents.set(entry.id, branch);
    return stamp({ type: "branch.extended", entries: [entry] });
  }

  function finish({ outcome, tokens, share }: Extract<Act, { do: "finish" }>): EngineEvent[] {
    const run = pick(inFlight, share);
    if (!run) return [];
    inFlight = inFlight.filter((other) => other !== run);
    const { runId, worker } = run.command;
    const sources = run.branch.filter(({ source }) => source);
    const coversUpToId = pick(sources, share)?.id ?? null;
    const paid = () => append((id) => fact.cost(id, worker));
    if (outcome === "empty") return [paid(), stamp(finished(runId, worker, outcome, coversUpToId))];
    if (outcome !== "recorded") return [stamp(finished(runId, worker, outcome, coversUpToId))];
    // As the effect does: nothing is appended when the branch that was read has been left.
    const watermark = worker === "observer" ? coversUpToId : (branch.at(-1)?.id ?? null);
    if (watermark === null || !branch.some(({ id }) => id === watermark)) {
      return [stamp(finished(runId, worker, "stale", coversUpToId))];
    }
    const observed = branch.flatMap(({ ledger }) => (ledger?.type === "observations" ? ledger.records : []));
    const records =
      worker === "dropper"
        ? observed.slice(0, 1).map(({ id }) => id)
        : [`${(entries + 1).toString(16).padStart(12, "0")}:${tokens}`];
    return [
      append((id) => fact.recorded(worker, id, watermark, ...records)),
      paid(),
      stamp(finished(runId, worker, "recorded", coversUpToId)),
    ];
  }

  function compaction({ stage, share }: Extract<Act, { do: "compaction" }>): EngineEvent[] {
    switch (stage) {
      case "started":
        return [stamp({ type: "compaction.started", reason: "manual" })];
      case "finished": {
        const firstKeptEntryId = pick(branch, share)?.id ?? "";
        // Now and then another extension's answer comes instead of ours.
        const folded = share < 0.1 || share > 0.2;
        return [
          append((id) => fact.compaction(id, firstKeptEntryId, folded, folded && share > 0.5)),
          stamp({ type: "compaction.finished", folded, offered: true, fromExtension: folded }),
        ];
      }
      default: {
        const kind = stage === "busy" ? AGENT_BUSY : "failed";
        return [stamp({ type: "compaction.failed", failure: { kind, message: "" } })];
      }
    }
  }

  const self: ActedSession = {
    get branch() {
      return branch;
    },
    get inFlight() {
      return inFlight.map(({ command }) => command);
    },
    hear(commands) {
      for (const command of commands) {
        if (command.type === "startRun") inFlight.push({ command, branch });
      }
    },
    eventsOf(act) {
      switch (act.do) {
        case "say":
          return [append((id) => ({ ...fact.user(id, act.tokens), kind: act.by }))];
        case "start":
          return [stamp({ type: "agent.started" })];
        case "turn":
          return [stamp({ type: "turn.ended" })];
        case "settle":
          return [stamp({ type: "agent.settled", aborted: false })];
        case "stray":
          return [stamp(finished("observer-999", "observer", "failed", null))];
        case "wait":
          at += act.seconds * 1000;
          return [];
        case "finish":
          return finish(act);
        case "tree":
          branch = pick([...parents.values()], act.share) ?? [];
          return [stamp({ type: "branch.replaced", branch: [...branch] })];
        case "compaction":
          return compaction(act);
        case "settings":
          settings = {
            ...SETTINGS,
            passive: act.passive,
            ...(act.budget && { budget: act.budget }),
            compactAfterTokensMode: act.ratio ? "ratio" : "calibrated",
          };
          return self.eventsOf({ do: "open", isSame: true });
        case "day":
          return [stamp({ type: "turn.ended", daySpent: { date: "2026-01-15", usd: act.usd } })];
        case "model":
          return [
            stamp({ type: "model.selected", ...(act.window !== undefined && { contextWindow: act.window }) }),
          ];
        case "cold": {
          const { contextTokens, usdPerMillion } = act;
          const price = usdPerMillion === undefined ? {} : { usdPerMillion };
          return [
            stamp({ type: "cache.expired", reason: "lifetime", contextTokens, keepTokens: 100, ...price }),
          ];
        }
        case "demand":
          return [stamp({ type: "run.demanded", lane: act.lane })];
        case "close":
          return [stamp({ type: "session.closed", reason: "reload" })];
        case "open":
          if (!act.isSame) {
            sessions.current++;
            branch = [];
            parents.clear();
          }
          return [stamp(opened(branch, settings, { sessionId: `s${sessions.current}` }))];
      }
    },
  };
  return self;
}

function pick<T>(list: readonly T[], share: number): T | undefined {
  return list[Math.min(list.length - 1, Math.floor(share * list.length))];
}
