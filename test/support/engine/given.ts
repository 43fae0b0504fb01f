import { expect } from "vitest";
import type { Command } from "../../../src/machines/commands.ts";
import type { LanesSnapshot } from "../../../src/machines/lanes/lanes.ts";
import type { RunResult } from "../../../src/reducers/engine/events.ts";
import { AGENT_BUSY, type Unstamped } from "../../../src/reducers/engine/events.ts";
import type { LaneName, Worker } from "../../../src/reducers/engine/lane-names.ts";
import type { EntryFact } from "../../../src/reducers/entries/entry-fact.ts";
import type { Settings } from "../../../src/reducers/settings.ts";
import { MEMORY } from "../sessions/builders.ts";
import { type Schedule, schedule } from "./schedule.ts";

/** One thing that happens in a session. */
export type Happening = (session: Schedule) => void;

/** What must hold after something has happened: the lanes' states, and whatever else is named. */
export interface Outcome extends Partial<Record<LaneName, string>> {
  /** All commands that it led to, in order; each may be told in part. */
  commands?: readonly Partial<Command>[];
  /** The workers whose runs are in flight */
  inFlight?: readonly Worker[];
  /** What the lanes' machines remember, in part */
  contexts?: { readonly [lane in LaneName]?: Partial<LanesSnapshot["contexts"][lane]> };
  /** Null when no compaction counts as failed */
  compactionFailure?: null;
}

/** A session up to now; whatever is asserted of it, it goes on from here. */
export interface Given {
  when(...happenings: readonly Happening[]): When;
}

export interface When {
  then(expected: Outcome): Given;
}

/** A session under these settings in which this has happened. */
export function given(settings: Partial<Settings>, ...past: readonly Happening[]): Given {
  return going(schedule(settings), past);
}

/** The same with a session model whose context window is known, in tokens. */
export function givenWindow(
  contextWindow: number,
  settings: Partial<Settings>,
  ...past: readonly Happening[]
): Given {
  return going(schedule(settings, contextWindow), past);
}

function going(session: Schedule, past: readonly Happening[]): Given {
  for (const happen of past) happen(session);
  const now: Given = {
    when: (...happenings) => {
      const before = session.steps.length;
      for (const happen of happenings) happen(session);
      return {
        // biome-ignore lint/suspicious/noThenProperty: nobody awaits it, and that is how a rule is told
        then: (expected) => {
          check(session, before, expected);
          return now;
        },
      };
    },
  };
  return now;
}

function check(session: Schedule, before: number, expected: Outcome): void {
  const { commands, inFlight, contexts, compactionFailure, ...states } = expected;
  const { snapshot, state } = session.engine;
  expect(snapshot.states).toMatchObject(states);
  if (commands) expect(session.steps.slice(before).flatMap((step) => step.commands)).toMatchObject(commands);
  if (inFlight) expect(session.inFlight.map(({ worker }) => worker)).toEqual(inFlight);
  if (contexts) expect(snapshot.contexts).toMatchObject(contexts);
  if (compactionFailure !== undefined) expect(state.compactionFailure).toBe(compactionFailure);
}

/** So many new source tokens, in one user message. */
export const say =
  (tokens: number): Happening =>
  (session) =>
    session.say(tokens);

/** A turn with so many new source tokens ends. */
export const turn =
  (tokens = 0): Happening =>
  (session) =>
    session.turn(tokens);

export const agentStarts: Happening = (session) => session.tell({ type: "agent.started" });

export const settle: Happening = (session) => session.settle();

/** The run in flight ends; a recorded one has read up to the tip, or up to the entry that is named. */
export const runEnds =
  (outcome: RunResult["outcome"], options: { tokens?: number; watermark?: string } = {}): Happening =>
  (session) =>
    session.finish(outcome, options);

/** Event time goes on, in milliseconds. */
export const wait =
  (ms: number): Happening =>
  (session) =>
    session.wait(ms);

/** A compaction that keeps the entries from this id on. */
export const compact =
  (firstKeptEntryId: string): Happening =>
  (session) =>
    session.compact(firstKeptEntryId);

export const compactionStarts: Happening = (session) =>
  session.tell({ type: "compaction.started", reason: "manual" });

export const compactionFails: Happening = (session) =>
  session.tell({ type: "compaction.failed", failure: { kind: "refused", message: "Nothing to compact" } });

/** Pi could not be asked to compact, since the agent was at work again. */
export const agentIsBusy: Happening = (session) =>
  session.tell({ type: "compaction.failed", failure: { kind: AGENT_BUSY, message: "" } });

/** The session moves to another branch. */
export const moveTo =
  (...branch: EntryFact[]): Happening =>
  (session) =>
    session.tell({ type: "branch.replaced", branch });

/** These entries come to the tip of the branch. */
export const append =
  (...entries: EntryFact[]): Happening =>
  (session) =>
    session.tell({ type: "branch.extended", entries });

export const close: Happening = (session) => session.tell({ type: "session.closed", reason: "reload" });

export const demand =
  (lane: LaneName): Happening =>
  (session) =>
    session.tell({ type: "run.demanded", lane });

/** Any other event. */
export const event =
  (unstamped: Unstamped): Happening =>
  (session) =>
    session.tell(unstamped);

/** Something is in memory from now on. */
export const remember: Happening = append(...MEMORY);

/** Several happenings, so many times. */
export const times =
  (count: number, ...happenings: readonly Happening[]): Happening =>
  (session) => {
    for (let i = 0; i < count; i++) for (const happen of happenings) happen(session);
  };

/** The command that starts a worker. */
export function starts(worker: Worker, more: Partial<Command & { type: "startRun" }> = {}): Partial<Command> {
  return { type: "startRun", worker, ...more };
}

/** The command that asks Pi to compact. */
export function asksToCompact(runId?: string): Partial<Command> {
  return { type: "requestCompaction", ...(runId !== undefined && { runId }) };
}

export function aborts(runId: string): Partial<Command> {
  return { type: "abortRun", runId };
}

/** The command that tells the user of a first failure. */
export function warns(runId: string): Partial<Command> {
  return { type: "notify", level: "warning", about: "failed", runId };
}

/** The command that tells the user what was recorded. */
export function tells(runId: string): Partial<Command> {
  return { type: "notify", level: "info", about: "recorded", runId };
}
