import { Subject } from "rxjs";
import { planCompaction, renderSources } from "../../../src/index.ts";
import { NOWHERE } from "../../../src/reducers/branch.ts";
import { noUsage } from "../../../src/reducers/engine/engine-state.ts";
import type { Unstamped } from "../../../src/reducers/engine/events.ts";
import { observerChunk } from "../../../src/reducers/engine/observer-chunk.ts";
import { describeEntry } from "../../../src/reducers/entries/describe-entry.ts";
import type { EntryLike } from "../../../src/reducers/entries/entry.ts";
import { DEFAULT_SETTINGS, observerChunkBudget } from "../../../src/reducers/settings.ts";
import { type Command, createEngine, type EngineEvent, stepsOf } from "../../../src/replay.ts";
import { observationOf, stamped } from "./builders.ts";
import { proposedCut, sourcesInContext } from "./pi-oracle.ts";

export interface LongSession {
  /** Source tokens at which the session ends */
  tokens: number;
  /** Context window of the session's and the workers' model */
  contextWindow: number;
  /** How many turns end before a worker's run does; at most to the end of the next agent run. */
  latency: (random: () => number) => number;
  seed: number;
  /** Tokens of the largest tool result */
  largestResult?: number;
}

/** One compaction of the simulated session. */
export interface Compaction {
  /** `lane`: our lane asked for it. `window`: Pi compacted because the context had grown to the window. */
  by: "lane" | "window";
  unobserved: { entries: number; tokens: number };
  /** Source tokens of the branch by then */
  at: number;
}

type StartRun = Extract<Command, { type: "startRun" }>;

/** Pi's defaults */
const KEEP_RECENT = 20_000;
const RESERVE = 16_384;
/** What prompt and summary take of the window, roughly */
const OVERHEAD = 15_000;

/**
 * A session at default settings, simulated with our engine and Pi's own choice of cuts: agent runs of some turns with
 * tool calls whose sizes reach from nothing to 150,000 tokens, an observer that always records, and late.
 */
export function simulate({
  tokens,
  contextWindow,
  latency,
  seed,
  largestResult = 150_000,
}: LongSession): Compaction[] {
  const random = generator(seed);
  const engine = createEngine();
  const entries: (EntryLike & Record<string, unknown>)[] = [];
  const byId = new Map<string, EntryLike>();
  const compactions: Compaction[] = [];
  const running: { command: StartRun; turnsLeft: number; coversUpToId: string | undefined }[] = [];
  let seq = 0;
  let total = 0;

  const events$ = new Subject<EngineEvent>();
  events$.pipe(stepsOf(engine)).subscribe(({ commands }) => {
    for (const command of commands) {
      if (command.type === "startRun") start(command);
      else if (command.type === "requestCompaction") compact("lane");
    }
  });

  function tell(event: Unstamped): void {
    seq++;
    events$.next(stamped(event, seq, seq * 1000));
  }

  function append(fields: Record<string, unknown> & { type: string }): void {
    const id = `e${entries.length}`;
    const entry = {
      id,
      parentId: entries.at(-1)?.id ?? null,
      timestamp: "2026-01-15T12:00:00.000Z",
      ...fields,
    };
    entries.push(entry);
    byId.set(id, entry);
    const fact = describeEntry(entry, (other) => byId.get(other));
    total += fact.tokens;
    tell({ type: "branch.extended", entries: [fact] });
  }

  function say(role: string, size: number, blocks: object[] = [], more: object = {}): void {
    const text = "word ".repeat(Math.ceil((size * 4) / 5));
    append({
      type: "message",
      message: { role, content: [{ type: "text", text }, ...blocks], timestamp: 0, ...more },
    });
  }

  /** A run takes its chunk when it starts, as the job does. */
  function start(command: StartRun): void {
    const { settings } = engine.state;
    const budget = observerChunkBudget(settings, contextWindow);
    const { start: from, maxTokens } = observerChunk(engine.state, command, budget);
    const chunk = from === NOWHERE ? [] : renderSources(entries.slice(from), { maxTokens }).sourceEntryIds;
    running.push({ command, turnsLeft: latency(random), coversUpToId: chunk.at(-1) });
  }

  function finishRuns(everything = false): void {
    for (const run of [...running]) {
      if (run.turnsLeft-- > 0 && !everything) continue;
      running.splice(running.indexOf(run), 1);
      const { runId, worker } = run.command;
      const recorded = worker === "observer" && run.coversUpToId !== undefined;
      if (recorded) append(observed(run.coversUpToId ?? ""));
      tell({
        ...{
          type: "run.finished",
          runId,
          worker,
          coversUpToId: run.coversUpToId ?? null,
          durationMs: 1,
          rejected: 0,
        },
        ...{ requests: 1, sourceTokens: 0, usage: noUsage(), records: recorded ? 1 : 0 },
        outcome: recorded ? "recorded" : "empty",
      });
    }
  }

  function observed(coversUpToId: string) {
    const content = `Everything through ${coversUpToId} was noted.`;
    const noted = observationOf(content, { sourceEntryIds: [coversUpToId], tokenCount: 60 });
    const data = { observations: [noted], coversUpToId };
    return { type: "custom", customType: "om.observations.recorded", data };
  }

  function compact(by: Compaction["by"]): void {
    tell({ type: "compaction.started", reason: by === "lane" ? "extension" : "threshold" });
    const proposed = proposedCut(entries, KEEP_RECENT);
    const plan = proposed === undefined ? undefined : planCompaction(entries, proposed);
    if (!plan) {
      tell({ type: "compaction.failed", failure: { kind: "refused", message: "Nothing to compact" } });
      return;
    }
    compactions.push({ by, unobserved: plan.unobserved, at: total });
    const { firstKeptEntryId, summary, details } = plan;
    append({ type: "compaction", firstKeptEntryId, summary, details, tokensBefore: 1, fromHook: true });
    tell({ type: "compaction.finished", folded: true });
  }

  function compactAtWindow(): void {
    const context = sourcesInContext(entries).reduce((sum, source) => sum + source.tokens, OVERHEAD);
    if (context > contextWindow - RESERVE) compact("window");
  }

  function endTurn(): void {
    finishRuns();
    tell({ type: "turn.ended" });
    compactAtWindow();
  }

  tell({
    ...{ type: "session.opened", reason: "startup", sessionId: "long", settings: DEFAULT_SETTINGS },
    ...{ contextWindow, branch: [] },
  });
  while (total < tokens) {
    say("user", sizeUpTo(2000, random));
    tell({ type: "agent.started" });
    const turns = Math.floor(sizeUpTo(12, random));
    for (let turn = 0; turn < turns && total < tokens; turn++) {
      const calls = Array.from(
        { length: 1 + Math.floor(random() * 3) },
        (_, n) => `call${entries.length}.${n}`,
      );
      const call = (id: string) => ({ type: "toolCall", id, name: "read", arguments: { path: "a.ts" } });
      say("assistant", sizeUpTo(4000, random), calls.map(call));
      for (const toolCallId of calls) {
        say("toolResult", sizeUpTo(largestResult, random), [], {
          toolCallId,
          toolName: "read",
          isError: false,
        });
      }
      endTurn();
    }
    say("assistant", sizeUpTo(3000, random));
    endTurn();
    tell({ type: "agent.settled", aborted: false });
  }
  finishRuns(true);
  engine.stop();
  return compactions;
}

/** Anything up to the limit, small sizes as often as large ones. */
function sizeUpTo(limit: number, random: () => number): number {
  return limit ** random();
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
