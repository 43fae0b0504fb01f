import { noUsage } from "../../reducers/engine/engine-state.ts";
import { type EngineEvent, EVENT_VERSION, type Unstamped } from "../../reducers/engine/events.ts";
import type { Worker } from "../../reducers/engine/lane-names.ts";
import { describeEntry, recordsIn } from "../../reducers/entries/describe-entry.ts";
import {
  type EntryLike,
  type EntryLookup,
  fieldsOf,
  messageOf,
  textOf,
  timeOf,
} from "../../reducers/entries/entry.ts";
import type { EntryFact } from "../../reducers/entries/entry-fact.ts";
import type { Settings } from "../../reducers/settings.ts";
import type { TimelineItem } from "./simulation.ts";
import { workerOf } from "./workload.ts";

/** What a plain session file tells: the entries of one branch, root first. */
export interface SessionToTell {
  sessionId: string;
  entries: readonly EntryLike[];
  settings: Settings;
  /** Ledger entries are results of runs alone; they vanish with the runs. Otherwise they stand as they are. */
  ledgerIsResult: boolean;
}

/**
 * The events that must have led to a session file's branch, at its entries' times: a session that opens empty, its
 * entries one by one, and what the agent did in between as far as its messages tell.
 */
export function timelineOf(session: SessionToTell): TimelineItem[] {
  const items: TimelineItem[] = [];
  const messages = session.entries.filter(isAgentMessage);
  const byId = new Map(session.entries.map((entry) => [entry.id, entry]));
  const lookup: EntryLookup = (id) => byId.get(id);
  const turns = createTurns(messages);
  let now = 0;
  let seq = 0;

  const add = (event: Unstamped, resultOf?: string) => {
    const stamped = {
      ...event,
      v: EVENT_VERSION,
      seq: ++seq,
      at: new Date(now).toISOString(),
    } as EngineEvent;
    items.push({ event: stamped, ...(resultOf !== undefined && { resultOf }) });
  };

  now = session.entries.map(timeOf).find((at) => at > 0) ?? 0;
  add({
    type: "session.opened",
    reason: "startup",
    sessionId: session.sessionId,
    settings: session.settings,
    branch: [],
  });
  for (const entry of session.entries) {
    // A clock that was set back does not turn events round.
    now = Math.max(now, timeOf(entry));
    const fact = describeEntry(entry, lookup);
    for (const event of turns.beforeEntry(entry)) add(event);
    if (fact.compaction) addCompaction(fact, session.ledgerIsResult ? entry.id : undefined);
    else if (fact.ledger) addLedger(fact, session.ledgerIsResult ? entry.id : undefined);
    else add({ type: "branch.extended", entries: [fact] });
    for (const event of turns.afterEntry(entry)) add(event);
  }
  for (const event of turns.end()) add(event);
  return items;

  function addCompaction(fact: EntryFact, resultOf: string | undefined): void {
    // Only memory of ours can have been our lane's doing.
    const folded = fact.compaction?.folded ?? false;
    const name = folded ? resultOf : undefined;
    add({ type: "compaction.started", reason: "from the session file" }, name);
    add({ type: "branch.extended", entries: [fact] }, name);
    add({ type: "compaction.finished", folded }, name);
  }

  function addLedger(fact: EntryFact, resultOf: string | undefined): void {
    if (!fact.ledger) return;
    if (fact.ledger.type === "drops" && workerOf(fact.ledger) !== "dropper") {
      addReplaced(fact, workerOf(fact.ledger));
      return;
    }
    add({ type: "branch.extended", entries: [fact] }, resultOf);
    const { ledger } = fact;
    add(
      {
        type: "run.finished",
        // The run that the engine has in flight by then takes its name.
        runId: fact.id,
        worker: workerOf(ledger),
        outcome: "recorded",
        coversUpToId: ledger.coversUpToId,
        records: recordsIn(ledger),
        rejected: 0,
        requests: 0,
        sourceTokens: 0,
        durationMs: 0,
        usage: noUsage(),
      },
      fact.id,
    );
  }

  /** What a run's records supersede or replace is written right after them: it is part of the same result. */
  function addReplaced(fact: EntryFact, worker: Worker): void {
    const [recorded, finished] = items.slice(-2).map(({ event }) => event);
    const isOfRun = finished?.type === "run.finished" && finished.worker === worker;
    if (isOfRun && recorded?.type === "branch.extended") recorded.entries.push(fact);
    else add({ type: "branch.extended", entries: [fact] });
  }
}

function isAgentMessage(entry: EntryLike): boolean {
  return entry.type === "message" && ["user", "assistant", "toolResult"].includes(roleOf(entry));
}

function roleOf(entry: EntryLike): string {
  return textOf(messageOf(entry).role);
}

/** What the agent did around its messages. */
interface Turns {
  beforeEntry(entry: EntryLike): Unstamped[];
  afterEntry(entry: EntryLike): Unstamped[];
  end(): Unstamped[];
}

/**
 * Reads the agent's doings off the conversation: it starts with a user's message, a turn ends with an answer and the
 * results of the tools that it called, and the agent settles when nothing follows that answer but the user.
 */
function createTurns(messages: readonly EntryLike[]): Turns {
  /** Tool calls whose results are still to come */
  let awaited = new Set<string>();
  let inTurn = false;
  let working = false;
  let aborted = false;
  let position = -1;

  function endTurn(): Unstamped[] {
    inTurn = false;
    awaited = new Set();
    return [{ type: "turn.ended" }];
  }

  function settle(): Unstamped[] {
    working = false;
    return [{ type: "agent.settled", aborted }];
  }

  return {
    beforeEntry(entry) {
      if (!isAgentMessage(entry)) return [];
      position++;
      // Results that never came: the turn was broken off.
      const isResult = roleOf(entry) === "toolResult";
      return inTurn && !isResult ? [...endTurn(), ...(roleOf(entry) === "user" ? settle() : [])] : [];
    },
    afterEntry(entry) {
      if (!isAgentMessage(entry)) return [];
      const role = roleOf(entry);
      if (role === "user") {
        const wasWorking = working;
        working = true;
        // A message into a running turn steers the agent; it does not start it.
        return wasWorking && roleOf(messages[position - 1] ?? entry) === "toolResult"
          ? []
          : [{ type: "agent.started" }];
      }
      if (role === "assistant") {
        aborted = messageOf(entry).stopReason === "aborted";
        awaited = toolCallsOf(entry);
        inTurn = true;
      } else awaited.delete(textOf(messageOf(entry).toolCallId));
      if (!inTurn || awaited.size > 0) return [];
      const next = messages[position + 1];
      const goesOn = role === "toolResult" || (next !== undefined && roleOf(next) === "assistant");
      return [...endTurn(), ...(goesOn ? [] : settle())];
    },
    end: () => (inTurn ? endTurn() : []),
  };
}

function toolCallsOf(entry: EntryLike): Set<string> {
  const { content } = messageOf(entry);
  if (!Array.isArray(content)) return new Set();
  const calls = content.map(fieldsOf).filter(({ type }) => type === "toolCall");
  return new Set(calls.map(({ id }) => textOf(id)));
}
